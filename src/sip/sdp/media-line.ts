import type { parse } from 'sdp-transform';
import { isHostName } from '../transport/address.ts';

/** A description as `sdp-transform` reads it, and one of its media sections. */
export type RawSession = ReturnType<typeof parse>;
export type RawMedia = RawSession['media'][number];
export type RtpMap = RawMedia['rtp'][number];

/** Which way a stream goes, seen from the side that wrote the description (RFC 8866 6.7). */
export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** One `m=` line as it stands, enough to refuse it by repeating it with port 0 (RFC 3264 6). */
export type MediaLine = {
  type: string;
  port: number;
  protocol: string;
  formats: readonly string[];
  /** Its name in groups of lines (RFC 5888), where it has one. */
  mid?: string;
};

/** A refused stream keeps its place, with port 0 and a format so that the line stays well-formed. */
export const refusedMedia = ({ type, protocol, formats, mid }: MediaLine, isNamed: boolean) => ({
  ...{ type, port: 0, protocol, payloads: formats[0] ?? '0', rtp: [], fmtp: [] },
  ...(isNamed && mid !== undefined && { mid }),
});

const directions: readonly string[] = ['sendrecv', 'sendonly', 'recvonly', 'inactive'];

/** RTP profiles without encryption, and with it; of audio feedback messages (AVPF) may be ignored by us. */
export const plainProfiles: readonly string[] = ['RTP/AVP', 'RTP/AVPF'];
export const secretProfiles: readonly string[] = ['RTP/SAVP', 'RTP/SAVPF'];

/** Its payload types, each once, in order: at most 128. */
export const payloadTypes = (line: MediaLine): number[] => [
  ...new Set(line.formats.map(Number).filter((type) => Number.isInteger(type) && type >= 0 && type <= 127)),
];

/** Its rtpmaps by payload type; the first of several counts. */
export function rtpmapsOf(media: RawMedia): ReadonlyMap<number, RtpMap> {
  const maps = new Map<number, RtpMap>();
  for (const map of media.rtp) if (!maps.has(map.payload)) maps.set(map.payload, map);
  return maps;
}

/** `fmtp` of a payload type. */
export function parametersOf(media: RawMedia, payloadType: number): string | undefined {
  const parameters = media.fmtp?.find(({ payload }) => payload === payloadType)?.config;
  return parameters === undefined ? undefined : String(parameters);
}

/** Destination of packets: an address, or the name of a host with an address of that IP version. */
export type Place = { readonly address: string; readonly named?: 4 | 6 };

/** Where packets of a browser go is for ICE to say: its `c=` line says nothing. */
export const atBrowser: Place = { address: '0.0.0.0' };

/** A place with its port. */
export type RemotePlace = Place & { readonly port: number };

/** The place of a stream alone. */
export const remotePlace = ({ address, named, port }: RemotePlace): RemotePlace => ({
  address,
  port,
  ...(named && { named }),
});

/**
 * Destination of its packets: an address of the given type, or a host name (RFC 8866 5.7); undefined for anything else.
 */
export function placeOf(media: RawMedia, session: RawSession): Place | undefined {
  const { version, ip } = connectionOf(media, session);
  const address = String(ip ?? '');
  if (version !== 4 && version !== 6) return undefined;
  if (version === versionOf(address)) return { address };
  return isName(address) ? { address, named: version } : undefined;
}

/** The last label of a host name is no number (RFC 1123 2.1), so an invalid address is no name. */
const isName = (text: string): boolean => isHostName(text) && !/(?:^|\.)\d+\.?$/.test(text);

/** Error text if {@link placeOf} finds nothing. */
export function addressProblem(media: RawMedia, session: RawSession): string {
  const { version, ip } = connectionOf(media, session);
  if (ip === undefined) return 'its audio has no address';
  const address = String(ip).slice(0, LONGEST_SHOWN);
  if (version !== 4 && version !== 6) return `IP${version} is no type of address`;
  if (versionOf(address) !== undefined) return `${address} is no address of type IP${version}`;
  return `${address} is neither an address nor a host name`;
}

/** Its `c=` line. Some devices state a time to live, which only multicast has (RFC 8866 5.7): it is passed over. */
function connectionOf(media: RawMedia, session: RawSession) {
  const { version, ip } = media.connection ?? session.connection ?? {};
  return { version, ip: version === 4 && ip !== undefined ? String(ip).replace(/\/\d{1,3}$/, '') : ip };
}

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
