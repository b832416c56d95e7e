import { anyHeader, type KnownHeader, knownHeader } from './header-names.ts';
import { type RawHeaders, type SipMessage, SipRequest, SipResponse } from './message.ts';
import { COLON, CR, isToken, parseDecimal, printable, SPACE, skipSpace, TAB, trimEnd } from './scan.ts';
import { reasonPhrase } from './status.ts';
import { parseUri, type Uri } from './uri.ts';

/** Why bytes are no SIP message, and what is left of them to answer with. */
export type ParseFailure = {
  /** A few words for the log; they hold nothing of the message. */
  readonly problem: string;
  /** The response to such a request: 400, 505 or 513. */
  readonly status: number;
  /** The method, when it is a request and its first line could be read as far as that. */
  readonly method?: string | undefined;
  /** The headers a response copies, as they came; undefined when it is a response, or nothing tells whose answer it is. */
  readonly answerable?: CopiedHeaders | undefined;
};

/** Header values that every response repeats, RFC 3261 8.2.6.2. */
type CopiedHeaders = {
  readonly vias: readonly string[];
  /** Undefined when it is missing: an answer is found by Via and CSeq alone (17.1.3). */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly callId: string | undefined;
  readonly cseq: string;
};

type ParseResult =
  | { readonly ok: true; readonly message: SipMessage }
  | { readonly ok: false; readonly failure: ParseFailure };

/** Limit of a message's length in bytes, and of its header lines. */
export const MAX_MESSAGE_BYTES = 65_536;
const MAX_HEADER_LINES = 256;

type RequestLine = {
  readonly kind: 'request';
  readonly method: string;
  /** The Request-URI as it stands, and read. */
  readonly text: string;
  readonly uri: Uri | undefined;
  readonly problem: string | undefined;
  readonly status: number;
};
type StatusLine = { readonly kind: 'response'; readonly status: number; readonly reason: string };
type StartLine = RequestLine | StatusLine | { readonly kind: 'neither'; readonly problem: string };

/**
 * Parses one whole message: a datagram, or one of the stream framer. Never throws.
 *
 * It refuses what RFC 3261 and RFC 4475 require: a bad first line, header lines without a name, and missing, repeated
 * or unreadable Via, From, To, Call-ID or CSeq. Also a CSeq method unlike the request's, unreadable or repeated
 * Max-Forwards or Content-Length, and a Content-Length beyond the body. In requests also an unreadable Contact, Route
 * or Record-Route. Bytes after Content-Length are cut off (18.3). Lines may end in a bare LF.
 */
export function parseMessage(bytes: Buffer): ParseResult {
  if (bytes.length > MAX_MESSAGE_BYTES) return failed('the message is too large', 513);
  const headEnd = findHeadEnd(bytes);
  const text = bytes.toString('utf8', 0, headEnd < 0 ? bytes.length : headEnd);
  const lf = text.indexOf('\n');
  const start = parseStartLine(text.slice(0, lf < 0 ? text.length : text.charCodeAt(lf - 1) === CR ? lf - 1 : lf));
  if (start.kind === 'neither') return failed(start.problem, 400);
  const raw: RawHeaders = { names: [], keys: [], values: [] };
  const malformed = readHeaders(text, lf < 0 ? text.length : lf + 1, raw);
  const problem = malformed ?? (headEnd < 0 ? 'the headers do not end' : undefined);
  const body = headEnd < 0 || headEnd === bytes.length ? undefined : bytes.subarray(headEnd);
  const result =
    start.kind === 'request' ? finishRequest(start, raw, body, problem) : finishResponse(start, raw, body, problem);
  if (result.ok) result.message.octets = bytes.length;
  return result;
}

function finishRequest(
  start: RequestLine,
  raw: RawHeaders,
  body: Buffer | undefined,
  headerProblem: string | undefined,
): ParseResult {
  const message = new SipRequest(start, raw, body);
  const problem = start.problem ?? headerProblem ?? checkRequest(message);
  if (problem === undefined) return { ok: true, message };
  return failed(problem, start.status, start.method, copiedHeaders(raw));
}

function finishResponse(
  start: StatusLine,
  raw: RawHeaders,
  body: Buffer | undefined,
  headerProblem: string | undefined,
): ParseResult {
  const message = new SipResponse(start.status, start.reason, raw, body);
  const problem = headerProblem ?? message.check();
  return problem === undefined ? { ok: true, message } : failed(problem, 400);
}

function failed(problem: string, status: number, method?: string, answerable?: CopiedHeaders): ParseResult {
  return { ok: false, failure: { problem, status, method, answerable } };
}

/** The position after the empty line that ends the headers; -1 without one. */
function findHeadEnd(bytes: Buffer): number {
  const crlf = bytes.indexOf('\r\n\r\n');
  if (crlf >= 0) return crlf + 4;
  const lf = bytes.indexOf('\n\n');
  return lf < 0 ? -1 : lf + 2;
}

function parseStartLine(line: string): StartLine {
  if (line.startsWith('SIP/') || /^sip\//i.test(line)) return parseStatusLine(line);
  const first = line.indexOf(' ');
  const last = line.lastIndexOf(' ');
  if (first < 1 || !isToken(line, 0, first)) return { kind: 'neither', problem: 'the first line is no SIP line' };
  const method = line.slice(0, first);
  const text = last > first ? line.slice(first + 1, last) : '';
  const uri = parseUri(text);
  if ((last === line.length - 8 && line.endsWith('SIP/2.0')) || /^sip\/2\.0$/i.test(line.slice(last + 1))) {
    const problem = uri ? undefined : 'the Request-URI is malformed';
    return { kind: 'request', method, text, uri, problem, status: 400 };
  }
  // RFC 4475 3.1.2.16: when only the version is not ours, the answer is 505.
  const isOtherVersion = /^sip\/\d+\.\d+$/i.test(line.slice(last + 1));
  const problem = isOtherVersion ? 'the SIP version is not 2.0' : 'the request line is malformed';
  return { kind: 'request', method, text, uri, problem, status: isOtherVersion ? 505 : 400 };
}

function parseStatusLine(line: string): StartLine {
  if (!/^SIP\/2\.0 /i.test(line)) return { kind: 'neither', problem: 'the SIP version of a response is not 2.0' };
  const end = line.indexOf(' ', 8);
  const status = parseDecimal(line, 699, 8, end < 0 ? line.length : end);
  if (status < 100 || (end < 0 ? line.length : end) !== 11)
    return { kind: 'neither', problem: 'the status is malformed' };
  return { kind: 'response', status, reason: end < 0 ? '' : line.slice(end + 1) };
}

/** Reads header lines from `at` on into `raw`; tells what is wrong with the first that is malformed, but reads on. */
function readHeaders(text: string, at: number, raw: RawHeaders): string | undefined {
  let problem: string | undefined;
  let seen = 0;
  let position = at;
  while (position < text.length) {
    const lf = text.indexOf('\n', position);
    const end = endOfLine(text, position, lf);
    if (end === position) break;
    if (raw.keys.length >= MAX_HEADER_LINES) return problem ?? 'there are too many headers';
    const first = text.charCodeAt(position);
    if (first === SPACE || first === TAB) {
      if (!continueHeader(text, position, end, raw)) problem ??= 'a header line is malformed';
    } else {
      const header = readHeader(text, position, end, raw);
      if (!header) problem ??= 'a header line is malformed';
      else if ((seen & header.onceBit) !== 0) problem ??= `there is more than one ${header.key}`;
      else seen |= header.onceBit;
    }
    position = lf < 0 ? text.length : lf + 1;
  }
  return problem;
}

/** Where the line from `start` ends, without its CR. @param lf position of its LF, -1 without. */
function endOfLine(text: string, start: number, lf: number): number {
  if (lf < 0) return text.length;
  return lf > start && text.charCodeAt(lf - 1) === CR ? lf - 1 : lf;
}

/** Joins a line that begins with a space to the header before it (RFC 3261 7.3.1). */
function continueHeader(text: string, start: number, end: number, raw: RawHeaders): boolean {
  const last = raw.values.length - 1;
  if (last < 0) return false;
  const more = text.slice(skipSpace(text, start, end), trimEnd(text, start, end));
  const value = raw.values[last]!;
  // Does not trim the whole text: that would scan it again for each of thousands of lines.
  if (more !== '') raw.values[last] = value === '' ? more : `${value} ${more}`;
  return true;
}

function readHeader(text: string, start: number, end: number, raw: RawHeaders): KnownHeader | undefined {
  let colon = start;
  while (colon < end && text.charCodeAt(colon) !== COLON) colon++;
  if (colon === end) return undefined;
  const name = text.slice(start, trimEnd(text, start, colon));
  const known = knownHeader(name);
  if (known === undefined && !isToken(name)) return undefined;
  const header = known ?? anyHeader(name);
  const valueStart = skipSpace(text, colon + 1, end);
  raw.names.push(name);
  raw.keys.push(header.key);
  raw.values.push(text.slice(valueStart, trimEnd(text, valueStart, end)));
  return header;
}

function checkRequest(message: SipRequest): string | undefined {
  const problem = message.check();
  if (problem !== undefined) return problem;
  if (message.cseq.method !== message.method) return 'the method of CSeq is not the method of the request';
  return message.hasReadableAddresses ? undefined : 'Contact, Route or Record-Route is malformed';
}

function copiedHeaders(raw: RawHeaders): CopiedHeaders | undefined {
  const value = (key: string) => raw.values[raw.keys.indexOf(key)];
  const vias = raw.values.filter((_, i) => raw.keys[i] === 'via');
  const from = value('from');
  const to = value('to');
  const callId = value('call-id');
  const cseq = value('cseq');
  if (vias.length === 0 || cseq === undefined) return undefined;
  return { vias, from, to, callId: callId || undefined, cseq };
}

/** The refusal of a readable request for another reason (no Content-Length on a stream). */
export function refuseMessage(message: SipMessage, problem: string, status: number): ParseFailure {
  if (message.kind === 'response') return { problem, status };
  const values = { from: message.header('from')!, to: message.header('to')!, cseq: message.header('cseq')! };
  const answerable = { vias: message.headerLines('via'), callId: message.callId, ...values };
  return { problem, status, method: message.method, answerable };
}

/**
 * The response to a malformed request, ready to send. Undefined if none is allowed or possible: for a response, an ACK,
 * or too few readable headers.
 * @param toTag added if To has no tag.
 * @param topVia replaces the first Via line (with `received` and `rport`).
 */
export function formatRejection(failure: ParseFailure, toTag: string, topVia?: string): Buffer | undefined {
  const { answerable, method, status } = failure;
  if (!answerable || method === undefined || method === 'ACK') return undefined;
  const { from, to, callId } = answerable;
  const tagged = to === undefined || /;\s*tag\s*=/i.test(to) ? to : `${to};tag=${toTag}`;
  const lines = [
    `SIP/2.0 ${status} ${reasonPhrase(status)}`,
    ...answerable.vias.map((via, i) => `Via: ${i === 0 && topVia !== undefined ? topVia : via}`),
    ...(from === undefined ? [] : [`From: ${from}`]),
    ...(tagged === undefined ? [] : [`To: ${tagged}`]),
    ...(callId === undefined ? [] : [`Call-ID: ${callId}`]),
    `CSeq: ${answerable.cseq}`,
    'Content-Length: 0',
    // The copied text was not understood: it must not end a line or confuse the reader of the answer.
  ].map(printable);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}
