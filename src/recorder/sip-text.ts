/** What the recorder reads of SIP messages, without understanding them: they may be anything. */

const bodyAfter = Buffer.from('\r\n\r\n');

/** The first line and the headers with the empty line behind them, octets as latin1; all of it when there is none. */
export function headOf(bytes: Buffer): string {
  const end = bytes.indexOf(bodyAfter);
  return bytes.toString('latin1', 0, end < 0 ? bytes.length : end + bodyAfter.length);
}

/** Headers whose values authenticate somebody. */
const secretHeaders = [
  'authorization',
  'proxy-authorization',
  'www-authenticate',
  'proxy-authenticate',
  'authentication-info',
];

/** Takes out what authenticates anybody: of those headers only the scheme is left. Folded lines go with their header. */
export function redactHead(head: string): string {
  const at = head.search(/\r\n(?:proxy-|www-)?(?:authorization|authenticat)/i);
  if (at < 0) return head;
  const lines = head.split('\r\n');
  let secret = false;
  const kept: string[] = [];
  for (const line of lines) {
    const folded = line.startsWith(' ') || line.startsWith('\t');
    if (!folded) secret = secretHeaders.includes(line.slice(0, line.indexOf(':')).trim().toLowerCase());
    if (!secret) kept.push(line);
    else if (!folded) kept.push(`${line.split(' ', 2).join(' ')} ***`);
  }
  return kept.join('\r\n');
}

/** The Call-ID, in its long or its compact form (RFC 3261 7.3.3); '' when there is none. */
export function callIdOf(head: string): string {
  const long = head.indexOf('\r\nCall-ID: ');
  if (long >= 0) return head.slice(long + 11, head.indexOf('\r\n', long + 11)).trim();
  const match = /\r\n(?:call-id|i)[ \t]*:([^\r\n]*)/i.exec(head);
  return match?.[1]?.trim() ?? '';
}

/** Whether a message can belong to a call: what registers or asks for options cannot. */
export function isAboutCall(head: string): boolean {
  const cseq = /\r\ncseq[ \t]*:[ \t]*\d+[ \t]+([A-Z]+)/i.exec(head);
  return cseq?.[1] !== undefined && callMethods.has(cseq[1]);
}

const callMethods: ReadonlySet<string> = new Set(['INVITE', 'ACK', 'BYE', 'CANCEL', 'PRACK', 'UPDATE', 'INFO']);

/** Takes the keys of media streams out of a session description (RFC 4566, 4567, 4568 and 8839). */
export const redactBody = (body: string): string =>
  body.replace(/^(k=|a=(?:crypto|ice-pwd|key-mgmt):)[^\r\n]*/gim, '$1***');
