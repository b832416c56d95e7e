import type { IceCredentials, RemoteCandidate } from '../../lib/webrtc.ts';
import { candidatesIn } from './webrtc.ts';

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

/** Its foundation, component, transport, priority, address and port (RFC 8839 5.1). */
const candidateLine = /^a=candidate:(\S+) (\d+) (\S+) (\d+) (\S+) (\d+) typ (\S+)/;

/** The candidates of a fragment, as of a description. */
export const candidatesOf = (text: string): readonly RemoteCandidate[] =>
  candidatesIn({
    candidates: linesOf(text).flatMap((line) => {
      const [, foundation = '', component, transport = '', priority, ip = '', port, type = ''] =
        candidateLine.exec(line) ?? [];
      const numbers = { component: Number(component), priority: Number(priority), port: Number(port) };
      return type === '' ? [] : [{ foundation, ...numbers, transport, ip, type }];
    }),
  });

/** Whether a fragment says that there are no more candidates (RFC 8840 section 4.4). */
export const endsCandidates = (text: string): boolean => linesOf(text).includes('a=end-of-candidates');

/** The same description with other credentials in all of its sections. */
export const withCredentials = (sdp: string, { ufrag, password }: IceCredentials): string =>
  sdp.replaceAll(/^a=ice-ufrag:.*$/gm, `a=ice-ufrag:${ufrag}`).replaceAll(/^a=ice-pwd:.*$/gm, `a=ice-pwd:${password}`);

/** What a description says of ICE, as a fragment of SDP. */
export const fragmentOf = (sdp: string): string =>
  linesOf(sdp)
    .filter((line) => kept.test(line))
    .map((line) => `${line}\r\n`)
    .join('');
