import { headerKey, knownHeaderKey } from './header-names.ts';
import { parseCSeq, type RawHeaders, type SipMessage, SipRequest, SipResponse } from './message.ts';
import { parseNameAddr, parseNameAddrList } from './name-addr.ts';
import { CR, isToken, parseDecimal, SPACE, skipSpace, TAB, trimEnd } from './scan.ts';
import { reasonPhrase } from './status.ts';
import { parseUri } from './uri.ts';

/** Why bytes are no SIP message, and what is left of them to answer with. */
export type ParseFailure = {
  /** A few words for the log; they hold nothing of the message. */
  readonly problem: string;
  /** What a request of this kind is answered with: 400, 505 or 513. */
  readonly status: number;
  /** The method, when it is a request and its first line could be read as far as that. */
  readonly method?: string | undefined;
  /** The headers a response copies, as they came; undefined when it is a response or one of them is missing. */
  readonly answerable?: CopiedHeaders | undefined;
};

/** Header values that every response repeats, RFC 3261 8.2.6.2. */
export type CopiedHeaders = {
  readonly vias: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly callId: string;
  readonly cseq: string;
};

export type ParseResult =
  | { readonly ok: true; readonly message: SipMessage }
  | { readonly ok: false; readonly failure: ParseFailure };

/** No message may be longer than this, in bytes, nor have more header lines than that. */
export const MAX_MESSAGE_BYTES = 65_536;
export const MAX_HEADER_LINES = 256;

type StartLine =
  | {
      readonly kind: 'request';
      readonly method: string;
      readonly uri: string;
      readonly problem?: string;
      status?: number;
    }
  | { readonly kind: 'response'; readonly status: number; readonly reason: string }
  | { readonly kind: 'neither'; readonly problem: string };

/**
 * Parses one whole message: a datagram, or what the stream framer cut out. Never throws.
 *
 * Refused, as RFC 3261 asks and RFC 4475 shows: bad first line, header lines without a name, missing, repeated or
 * unreadable Via, From, To, Call-ID, CSeq; a CSeq method that is not the request's; unreadable or repeated Max-Forwards
 * or Content-Length, a Content-Length larger than the body; in requests an unreadable Contact, Route or Record-Route.
 * Bytes after the body that Content-Length announces are cut off (18.3). Lines may end in a bare LF.
 */
export function parseMessage(bytes: Buffer): ParseResult {
  if (bytes.length > MAX_MESSAGE_BYTES) return failed('the message is too large', 513);
  const headEnd = findHeadEnd(bytes);
  const text = bytes.toString('utf8', 0, headEnd < 0 ? bytes.length : headEnd);
  const firstEnd = lineEnd(text, 0);
  const start = parseStartLine(text.slice(0, firstEnd));
  if (start.kind === 'neither') return failed(start.problem, 400);
  const raw: RawHeaders = { names: [], keys: [], values: [] };
  const problem = readHeaders(text, text.indexOf('\n') < 0 ? text.length : text.indexOf('\n') + 1, raw);
  const body = headEnd < 0 ? bytes.subarray(bytes.length) : bytes.subarray(headEnd);
  return start.kind === 'request'
    ? finishRequest(start, raw, body, problem ?? (headEnd < 0 ? 'the headers do not end' : undefined))
    : finishResponse(start, raw, body, problem ?? (headEnd < 0 ? 'the headers do not end' : undefined));
}

function finishRequest(
  start: StartLine & { kind: 'request' },
  raw: RawHeaders,
  body: Buffer,
  headerProblem: string | undefined,
): ParseResult {
  const message = new SipRequest(start.method, start.uri, raw, body);
  const problem = start.problem ?? headerProblem ?? checkRequest(message, raw);
  if (problem === undefined) return { ok: true, message };
  return failed(problem, start.status ?? 400, start.method, copiedHeaders(raw));
}

function finishResponse(
  start: StartLine & { kind: 'response' },
  raw: RawHeaders,
  body: Buffer,
  headerProblem: string | undefined,
): ParseResult {
  const message = new SipResponse(start.status, start.reason, raw, body);
  const problem = headerProblem ?? checkHeaders(message, raw);
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

/** The position of the line end after `at`: of CR in CRLF, of a bare LF, or of the end of the text. */
function lineEnd(text: string, at: number): number {
  const lf = text.indexOf('\n', at);
  if (lf < 0) return text.length;
  return lf > at && text.charCodeAt(lf - 1) === CR ? lf - 1 : lf;
}

function parseStartLine(line: string): StartLine {
  if (/^SIP\//i.test(line)) return parseStatusLine(line);
  const first = line.indexOf(' ');
  const last = line.lastIndexOf(' ');
  if (first < 1 || !isToken(line, 0, first)) return { kind: 'neither', problem: 'the first line is no SIP line' };
  const method = line.slice(0, first);
  const uri = last > first ? line.slice(first + 1, last) : '';
  const version = line.slice(last + 1).toUpperCase();
  const request = { kind: 'request', method, uri } as const;
  if (version === 'SIP/2.0') {
    return parseUri(uri) ? request : { ...request, problem: 'the Request-URI is malformed' };
  }
  // RFC 3261 8.2 leaves it open; RFC 4475 3.1.2.16 asks for 505 when only the version is not ours.
  if (/^SIP\/\d+\.\d+$/.test(version)) return { ...request, problem: 'the SIP version is not 2.0', status: 505 };
  return { ...request, problem: 'the request line is malformed' };
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
  let position = at;
  while (position < text.length) {
    const end = lineEnd(text, position);
    if (end === position) break;
    const next = text.indexOf('\n', end) < 0 ? text.length : text.indexOf('\n', end) + 1;
    if (raw.keys.length >= MAX_HEADER_LINES) return problem ?? 'there are too many headers';
    if (!readHeader(text, position, end, raw)) problem ??= 'a header line is malformed';
    position = next;
  }
  return problem;
}

/** Reads one line: a header, or the continuation of the one before (RFC 3261 7.3.1). */
function readHeader(text: string, start: number, end: number, raw: RawHeaders): boolean {
  const first = text.charCodeAt(start);
  const last = raw.values.length - 1;
  if (first === SPACE || first === TAB) {
    if (last < 0) return false;
    const more = text.slice(skipSpace(text, start, end), trimEnd(text, start, end));
    raw.values[last] = raw.values[last] === '' ? more : `${raw.values[last]} ${more}`.trim();
    return true;
  }
  const colon = text.indexOf(':', start);
  if (colon < 0 || colon >= end) return false;
  const name = text.slice(start, trimEnd(text, start, colon));
  const known = knownHeaderKey(name);
  if (known === undefined && !isToken(name)) return false;
  const valueStart = skipSpace(text, colon + 1, end);
  raw.names.push(name);
  raw.keys.push(known ?? headerKey(name));
  raw.values.push(text.slice(valueStart, trimEnd(text, valueStart, end)));
  return true;
}

const onlyOnce = ['from', 'to', 'call-id', 'cseq', 'max-forwards', 'content-length', 'content-type'];

/** What is wrong with the headers every message must have; cuts the body to its Content-Length. */
function checkHeaders(message: SipMessage, raw: RawHeaders): string | undefined {
  for (const key of onlyOnce) {
    const at = raw.keys.indexOf(key);
    if (at >= 0 && raw.keys.indexOf(key, at + 1) >= 0) return `there is more than one ${key}`;
  }
  if (!message.topVia) return 'Via is missing or malformed';
  if (!parseNameAddr(message.header('from') ?? '')) return 'From is missing or malformed';
  if (!parseNameAddr(message.header('to') ?? '')) return 'To is missing or malformed';
  if (!message.header('call-id')) return 'Call-ID is missing';
  if (!parseCSeq(message.header('cseq') ?? '')) return 'CSeq is missing or malformed';
  if (message.header('max-forwards') !== undefined && message.maxForwards === undefined)
    return 'Max-Forwards is malformed';
  const announced = message.header('content-length');
  if (announced === undefined) return undefined;
  const length = message.contentLength;
  if (length === undefined) return 'Content-Length is malformed';
  if (length > message.body.length) return 'the body is shorter than Content-Length';
  if (length < message.body.length) message.body = message.body.subarray(0, length);
  return undefined;
}

function checkRequest(message: SipRequest, raw: RawHeaders): string | undefined {
  const problem = checkHeaders(message, raw);
  if (problem !== undefined) return problem;
  if (message.cseq.method !== message.method) return 'the method of CSeq is not the method of the request';
  for (let i = 0; i < raw.keys.length; i++) {
    const key = raw.keys[i]!;
    if (key !== 'contact' && key !== 'route' && key !== 'record-route') continue;
    if (raw.values[i] === '*' && key === 'contact') continue;
    if (!parseNameAddrList(raw.values[i]!)) return `${key} is malformed`;
  }
  return undefined;
}

function copiedHeaders(raw: RawHeaders): CopiedHeaders | undefined {
  const value = (key: string) => raw.values[raw.keys.indexOf(key)];
  const vias = raw.values.filter((_, i) => raw.keys[i] === 'via');
  const from = value('from');
  const to = value('to');
  const callId = value('call-id');
  const cseq = value('cseq');
  if (vias.length === 0 || from === undefined || to === undefined || !callId || cseq === undefined) return undefined;
  return { vias, from, to, callId, cseq };
}

/**
 * The answer to a malformed request, ready to send; undefined when silence is due: a response, an ACK, or too little
 * left of the message to address an answer to its transaction.
 * @param toTag added when To has no tag.
 */
export function formatRejection(failure: ParseFailure, toTag: string): Buffer | undefined {
  const { answerable, method, status } = failure;
  if (!answerable || method === undefined || method === 'ACK') return undefined;
  const to = /;\s*tag\s*=/i.test(answerable.to) ? answerable.to : `${answerable.to};tag=${toTag}`;
  const lines = [
    `SIP/2.0 ${status} ${reasonPhrase(status)}`,
    ...answerable.vias.map((via) => `Via: ${via}`),
    `From: ${answerable.from}`,
    `To: ${to}`,
    `Call-ID: ${answerable.callId}`,
    `CSeq: ${answerable.cseq}`,
    'Content-Length: 0',
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}
