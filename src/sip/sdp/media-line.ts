import type { parse } from 'sdp-transform';

/** A description as `sdp-transform` reads it, and one of its media sections. */
export type RawSession = ReturnType<typeof parse>;
export type RawMedia = RawSession['media'][number];
export type RtpMap = RawMedia['rtp'][number];

/** Which way a stream goes, seen from the side that wrote the description (RFC 8866 6.7). */
export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** One `m=` line as it stands, enough to refuse it by repeating it with port 0 (RFC 3264 6). */
export type MediaLine = { type: string; port: number; protocol: string; formats: readonly string[] };

const directions: readonly string[] = ['sendrecv', 'sendonly', 'recvonly', 'inactive'];

/** RTP profiles without encryption, and with it; of audio feedback messages (AVPF) may be ignored by us. */
export const plainProfiles: readonly string[] = ['RTP/AVP', 'RTP/AVPF'];
export const secretProfiles: readonly string[] = ['RTP/SAVP', 'RTP/SAVPF'];

/** Its payload types, each once, in the order listed: there are no more than 128. */
export const payloadTypes = (line: MediaLine): number[] => [
  ...new Set(line.formats.map(Number).filter((type) => Number.isInteger(type) && type >= 0 && type <= 127)),
];

/** What its payload types stand for; the first of several maps of one type counts. */
export function rtpmapsOf(media: RawMedia): ReadonlyMap<number, RtpMap> {
  const maps = new Map<number, RtpMap>();
  for (const map of media.rtp) if (!maps.has(map.payload)) maps.set(map.payload, map);
  return maps;
}

/** What `fmtp` says of a payload type. */
export function parametersOf(media: RawMedia, payloadType: number): string | undefined {
  const parameters = media.fmtp?.find(({ payload }) => payload === payloadType)?.config;
  return parameters === undefined ? undefined : String(parameters);
}

/** Where its packets are to go; undefined where no address of the type that is said stands there (RFC 8866 5.7). */
export function addressOf(media: RawMedia, session: RawSession): string | undefined {
  const { version, ip } = connectionOf(media, session) ?? {};
  const address = String(ip ?? '');
  return version !== undefined && version === versionOf(address) ? address : undefined;
}

/** What is wrong with where its packets are to go, where {@link addressOf} finds nothing. */
export function addressProblem(media: RawMedia, session: RawSession): string {
  const { version, ip } = connectionOf(media, session) ?? {};
  if (ip === undefined) return 'its audio has no address';
  const address = String(ip).slice(0, LONGEST_SHOWN);
  if (version !== 4 && version !== 6) return `IP${version} is no type of address`;
  if (versionOf(address) !== undefined) return `${address} is no address of type IP${version}`;
  return `${address} is no address; names are not resolved`;
}

const connectionOf = (media: RawMedia, session: RawSession) => media.connection ?? session.connection;

/** Characters of a stranger's words that a problem repeats. */
const LONGEST_SHOWN = 60;

/** Its direction, or else that of the session; `sendrecv` where nothing is said that can be read. */
export function directionSaid(media: RawMedia, session: RawSession): Direction {
  const said = media.direction ?? session.direction ?? 'sendrecv';
  return directions.includes(said) ? (said as Direction) : 'sendrecv';
}

/** Whether a text is an address, and of which version of IP. */
function versionOf(text: string): 4 | 6 | undefined {
  if (/^(\d{1,3}\.){3}\d{1,3}$/.test(text)) return text.split('.').every((part) => Number(part) <= 255) ? 4 : undefined;
  return text.includes(':') && /^[0-9a-f:.]+$/i.test(text) ? 6 : undefined;
}
