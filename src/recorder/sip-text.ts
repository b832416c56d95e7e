/** Reads SIP messages for the recorder without a full parse: they may be malformed. */

const bodyAfter = Buffer.from('\r\n\r\n');

/** Headers with credentials. */
const secretHeaders = [
  'authorization',
  'proxy-authorization',
  'www-authenticate',
  'proxy-authenticate',
  'authentication-info',
];

/** Octets of the first line and the headers with the empty line behind them. */
export function headLength(bytes: Buffer): number {
  const end = bytes.indexOf(bodyAfter);
  return end < 0 ? bytes.length : end + bodyAfter.length;
}

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

/**
 * Whether a message may belong to a call, by its first octets: REGISTER, PUBLISH, SUBSCRIBE and OPTIONS do not. If in
 * doubt, it may.
 * @param length of its head, in octets
 */
export function isAboutCallOctets(bytes: Buffer, length: number): boolean {
  // Requests: almost all by their first octet. No text is made of them.
  if (!bytes.subarray(0, 4).equals(responseBegin)) return !beginsWithOther(bytes, 0);
  const cseq = bytes.indexOf(cseqBegin);
  if (cseq < 0 || cseq > length) return true;
  let at = cseq + cseqBegin.length;
  while (bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
  return bytes[at] !== space || !beginsWithOther(bytes, at + 1);
}

const space = 0x20;
const responseBegin = Buffer.from('SIP/');
const cseqBegin = Buffer.from('\r\nCSeq: ');
const methodsOfNoCall = ['REGISTER', 'OPTIONS', 'PUBLISH', 'SUBSCRIBE'].map((method) => Buffer.from(method));

/** Whether a method of no call stands there. */
function beginsWithOther(bytes: Buffer, at: number): boolean {
  const first = bytes[at];
  for (const method of methodsOfNoCall) {
    if (first !== method[0]) continue;
    const end = at + method.length;
    if (method.equals(bytes.subarray(at, end)) && (bytes[end] === space || bytes[end] === 0x0d)) return true;
  }
  return false;
}

const callMethods: ReadonlySet<string> = new Set(['INVITE', 'ACK', 'BYE', 'CANCEL', 'PRACK', 'UPDATE', 'INFO']);

/** Takes the keys of media streams out of a session description (RFC 4566, 4567, 4568 and 8839). */
export const redactBody = (body: string): string =>
  body.replace(/^(k=|a=(?:crypto|ice-pwd|key-mgmt):)[^\r\n]*/gim, '$1***');
