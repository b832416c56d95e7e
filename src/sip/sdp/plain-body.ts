import type { Direction, MediaLine } from './media-line.ts';
import { type SdesLine, writeSdes } from './sdes.ts';

/** Audio of ours as its lines say it. */
type PlainAudio = {
  readonly line: MediaLine;
  readonly address: string;
  readonly port: number;
  readonly formats: readonly {
    payloadType: number;
    name: string;
    rate: number;
    channels?: number;
    parameters?: string;
  }[];
  readonly events: readonly { payloadType: number; rate: number }[];
  readonly sdes: readonly SdesLine[];
  readonly ptimeMs: number;
  readonly direction: Direction;
};

/**
 * Writes a description whose only stream is audio without ICE: what almost every call says. The octets are those of
 * `sdp-transform`, at a tenth of its cost.
 */
export function plainBody({ sessionId, version }: { sessionId: string; version: number }, audio: PlainAudio): string {
  const { address } = audio;
  const ip = address.includes(':') ? 'IP6' : 'IP4';
  const types = [...audio.formats, ...audio.events].map(({ payloadType }) => payloadType).join(' ');
  let text = `v=0\r\no=- ${sessionId} ${version} IN ${ip} ${address}\r\ns=Hookswitch\r\nc=IN ${ip} ${address}\r\nt=0 0\r\n`;
  text += `m=audio ${audio.port} ${audio.line.protocol} ${types}\r\n`;
  for (const { payloadType, name, rate, channels } of audio.formats)
    text += `a=rtpmap:${payloadType} ${name}/${rate}${channels === undefined ? '' : `/${channels}`}\r\n`;
  for (const { payloadType, rate } of audio.events) text += `a=rtpmap:${payloadType} telephone-event/${rate}\r\n`;
  for (const { payloadType, parameters } of audio.formats)
    if (parameters !== undefined) text += `a=fmtp:${payloadType} ${parameters}\r\n`;
  for (const { payloadType } of audio.events) text += `a=fmtp:${payloadType} 0-16\r\n`;
  for (const { id, suite, config } of audio.sdes.map(writeSdes)) text += `a=crypto:${id} ${suite} ${config}\r\n`;
  return `${text}a=ptime:${audio.ptimeMs}\r\na=${audio.direction}\r\n`;
}
