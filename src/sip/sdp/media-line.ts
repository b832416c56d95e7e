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

/** Where its packets are to go; undefined for a name: a media plane must not wait for its resolution. */
export function addressOf(media: RawMedia, session: RawSession): string | undefined {
  const connection = media.connection ?? session.connection;
  const address = String(connection?.ip ?? '');
  const isKnown = connection?.version === 4 || connection?.version === 6;
  return isKnown && isAddress(address) ? address : undefined;
}

/** Its direction, or else that of the session; `sendrecv` where nothing is said that can be read. */
export function directionSaid(media: RawMedia, session: RawSession): Direction {
  const said = media.direction ?? session.direction ?? 'sendrecv';
  return directions.includes(said) ? (said as Direction) : 'sendrecv';
}

const isAddress = (text: string): boolean =>
  /^(\d{1,3}\.){3}\d{1,3}$/.test(text)
    ? text.split('.').every((part) => Number(part) <= 255)
    : text.includes(':') && /^[0-9a-f:.]+$/i.test(text);
