import { addressOctets } from '../../lib/addresses.ts';
import type { IceCredentials } from '../../lib/webrtc.ts';

/** Lines of a description that say something of ICE (RFC 8840 section 9). */
const kept = /^(?:a=(?:ice-lite|group:BUNDLE|mid:|ice-ufrag:|ice-pwd:|candidate:|end-of-candidates)|m=)/;

const linesOf = (text: string): string[] => text.split(/\r\n|\n|\r/);

/** The first value of an attribute. */
const firstOf = (text: string, attribute: string): string | undefined =>
  linesOf(text)
    .find((line) => line.startsWith(`a=${attribute}:`))
    ?.slice(attribute.length + 3);

/** Whether a text is a whole description, and no fragment. */
export const isDescription = (text: string): boolean => text.startsWith('v=0');

/** The ICE credentials of a fragment or description; undefined where one is missing or cannot be. */
export function credentialsIn(text: string): IceCredentials | undefined {
  const [ufrag = '', password = ''] = [firstOf(text, 'ice-ufrag'), firstOf(text, 'ice-pwd')];
  return /^[A-Za-z0-9+/]{4,256}$/.test(ufrag) && /^[A-Za-z0-9+/]{22,256}$/.test(password)
    ? { ufrag, password }
    : undefined;
}

/** Candidates that are read of one fragment. */
const mostCandidates = 16;

/** Addresses of the candidates of a fragment. Names, also those of mDNS, are none. */
export const placesIn = (text: string): string[] =>
  linesOf(text)
    .flatMap((line) => /^a=candidate:\S+ 1 \S+ \d+ (\S+) \d+ typ /.exec(line)?.[1] ?? [])
    .filter((address) => addressOctets(address) !== undefined)
    .slice(0, mostCandidates);

/** The same description with other credentials in all of its sections. */
export const withCredentials = (sdp: string, { ufrag, password }: IceCredentials): string =>
  sdp.replaceAll(/^a=ice-ufrag:.*$/gm, `a=ice-ufrag:${ufrag}`).replaceAll(/^a=ice-pwd:.*$/gm, `a=ice-pwd:${password}`);

/** What a description says of ICE, as a fragment of SDP. */
export const fragmentOf = (sdp: string): string =>
  linesOf(sdp)
    .filter((line) => kept.test(line))
    .map((line) => `${line}\r\n`)
    .join('');
