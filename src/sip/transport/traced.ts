import type { Logger } from '../../lib/log.ts';
import type { MessageCounts } from './message-counts.ts';
import type { Source, Target, Transports } from './transport.ts';

/** Longest message that is shown whole, in characters. */
const longestShown = 8_192;

/**
 * The same transports with logging at `trace`, without secrets (see {@link shownMessage}), and counts. Otherwise it
 * costs one level check per message.
 * @param leave sends a message when what has led to it is written
 */
export function tracedTransports(
  transports: Transports,
  log: Logger,
  counts: Pick<MessageCounts, 'received' | 'sent'>,
  leave: (output: () => void) => void = (output) => output(),
): Transports {
  const tell = (bytes: Buffer, { protocol, address, port }: Target | Source, sentence: string): void =>
    log.trace({ protocol, peer: `${address}:${port}`, message: shownMessage(bytes.toString('utf8')) }, sentence);
  return {
    bind: (listens) => transports.bind(listens),
    get listeners() {
      return transports.listeners;
    },
    onMessage: (handler) =>
      transports.onMessage((message, source) => {
        counts.received(message);
        if (log.enabled('trace')) tell(message.toBuffer(), source, 'a SIP message comes in');
        handler(message, source);
      }),
    onMalformed: (handler) => transports.onMalformed(handler),
    onConnectionClosed: (handler) => transports.onConnectionClosed(handler),
    send(bytes, target, onFailure) {
      counts.sent(bytes);
      if (log.enabled('trace')) tell(bytes, target, 'a SIP message goes out');
      leave(() => transports.send(bytes, target, onFailure));
    },
    localAddress: (target) => transports.localAddress(target),
    isConnected: (target) => transports.isConnected(target),
    get waitedMs() {
      return transports.waitedMs;
    },
    counts: () => transports.counts(),
    close: () => transports.close(),
  };
}

/** Headers with credentials: only the user and the realm are shown. */
const credentials = new Set([
  'authorization',
  'proxy-authorization',
  'www-authenticate',
  'proxy-authenticate',
  'authentication-info',
]);

/**
 * A SIP message for logs: without challenges and credentials, passwords in URIs, and SRTP keys. Of bodies other than
 * SDP (texts, digits) only the size is shown.
 */
export function shownMessage(text: string): string {
  const end = text.indexOf('\r\n\r\n');
  const head = end < 0 ? text : text.slice(0, end);
  const body = end < 0 ? '' : text.slice(end + 4);
  const lines = head.split('\r\n').map(shownHeader);
  const type = lines.find((line) => /^(content-type|c)\s?:/i.test(line)) ?? '';
  const shown = [...lines, '', ...(body === '' ? [] : shownBody(body, type))].join('\n');
  return shown.length > longestShown ? `${shown.slice(0, longestShown)} …` : shown;
}

function shownHeader(line: string): string {
  const colon = line.indexOf(':');
  if (!credentials.has(line.slice(0, colon).trim().toLowerCase())) return withoutPasswords(line);
  const user = /(?:username|realm)="[^"]*"/.exec(line)?.[0] ?? '';
  return `${line.slice(0, colon)}: Digest ${user}, …`;
}

/** `sip:alice:secret@host` becomes `sip:alice:…@host`. */
function withoutPasswords(line: string): string {
  const parts = line.split('@');
  const last = parts.length - 1;
  return parts.map((part, index) => (index === last ? part : withoutPassword(part))).join('@');
}

function withoutPassword(part: string): string {
  const lower = part.toLowerCase();
  const scheme = Math.max(lower.lastIndexOf('sip:'), lower.lastIndexOf('sips:'));
  const colon = scheme < 0 ? -1 : part.indexOf(':', part.indexOf(':', scheme) + 1);
  return colon < 0 ? part : `${part.slice(0, colon)}:…`;
}

function shownBody(body: string, contentType: string): string[] {
  if (!contentType.toLowerCase().includes('application/sdp')) return [`[${body.length} characters]`];
  return body.split(/\r\n|\r|\n/).map((line) => line.replace(/^(k=|a=(?:crypto|ice-pwd|key-mgmt):).*/i, '$1…'));
}
