import type { BaseMessage } from './message.ts';
import { noParams, type Params, parseParams } from './params.ts';
import { CR, LF, unquote } from './scan.ts';

/** The session part of a message's body. */
type SessionBody =
  /** Nothing: there is no body, none with a Content-Type (RFC 3261 20.15), or only an optional one (20.11). */
  | { readonly kind: 'none' }
  | { readonly kind: 'description'; readonly text: string }
  /** A body that has to be understood, of a type that we do not know: 415. */
  | { readonly kind: 'foreign'; readonly type: string }
  /** A body in an encoding that we do not know: 415 (RFC 3261 8.2.3). */
  | { readonly kind: 'encoded' }
  /** Unreadable parts: 400. */
  | { readonly kind: 'malformed'; readonly problem: string };

/** Value of Accept: the bodies that may describe a session. */
export const sessionBodies = 'application/sdp, multipart/mixed';

const DESCRIPTION = 'application/sdp';
/** Parts of one body, those of nested ones included. */
const MOST_PARTS = 32;
/** Bodies of several parts within each other. */
const MOST_NESTED = 3;
/** RFC 2046 5.1.1. */
const LONGEST_BOUNDARY = 70;

const none: SessionBody = { kind: 'none' };

/** A body, or one part of it, with what its headers say. */
type Part = {
  readonly type: string;
  readonly typeParams: Params;
  readonly disposition: string;
  readonly handling: string;
  readonly encoding: string;
  readonly content: Buffer;
};

/** Whether a message has a body. One without Content-Type counts as none, as in Asterisk. */
export const hasBody = (message: Pick<BaseMessage, 'body' | 'contentType'>): boolean =>
  message.body.length > 0 && message.contentType !== undefined;

/**
 * Reads the SDP of a message: its body, or the first part of that type in a multipart body (RFC 5621). Other parts are
 * skipped, unless their Content-Disposition requires them. Never throws.
 */
export function sessionBodyOf(message: Pick<BaseMessage, 'body' | 'contentType' | 'header'>): SessionBody {
  if (!hasBody(message)) return none;
  const encoding = message.header('Content-Encoding');
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    return partOf(message.body, (name) => message.header(name)).handling === 'optional' ? none : { kind: 'encoded' };
  if (message.contentType === DESCRIPTION) return { kind: 'description', text: message.body.toString('utf8') };
  const part = partOf(message.body, (name) => message.header(name));
  const found = part.type.startsWith('multipart/')
    ? readParts(part, { parts: MOST_PARTS, nested: MOST_NESTED })
    : foreign(part);
  return found.kind === 'foreign' && part.handling === 'optional' ? none : found;
}

/** The text of the session description that a message carries; undefined without one. */
export function descriptionIn(message: Pick<BaseMessage, 'body' | 'contentType' | 'header'>): string | undefined {
  const body = sessionBodyOf(message);
  return body.kind === 'description' ? body.text : undefined;
}

const foreign = ({ type }: Part): SessionBody => ({ kind: 'foreign', type });
const malformed = (problem: string): SessionBody => ({ kind: 'malformed', problem });

/** Remaining parts, and remaining nesting. */
type Budget = { parts: number; readonly nested: number };

function readParts(whole: Part, budget: Budget): SessionBody {
  const contents = split(whole, budget);
  if (typeof contents === 'string') return malformed(contents);
  const parts = contents.map(readPart);
  // Of alternatives the last one that is understood counts (RFC 2046 5.1.4).
  if (whole.type === 'multipart/alternative') parts.reverse();
  let description: SessionBody | undefined;
  let unknown: Part | undefined;
  for (const part of parts) {
    const found = readOne(part, budget);
    if (found.kind === 'malformed') return found;
    if (found.kind === 'description') description ??= found;
    if (found.kind !== 'foreign') continue;
    if (part.handling === 'required') return found;
    if (part.handling !== 'optional') unknown ??= part;
  }
  return description ?? (unknown ? foreign(unknown) : none);
}

function readOne(part: Part, budget: Budget): SessionBody {
  if (part.type.startsWith('multipart/'))
    return budget.nested > 1 ? readNested(part, budget) : malformed('its body has parts within parts within parts');
  const isSession = part.disposition === '' || part.disposition === 'session';
  const content = part.type === DESCRIPTION && isSession ? decoded(part) : undefined;
  return content ? { kind: 'description', text: content.toString('utf8') } : foreign(part);
}

/** Its decoded octets (RFC 2045 6); undefined for an unknown encoding. */
function decoded({ content, encoding }: Part): Buffer | undefined {
  if (/^(?:|7bit|8bit|binary)$/.test(encoding)) return content;
  // Line ends and other signs are not of the alphabet, and left out (RFC 2045 6.8).
  return encoding === 'base64' ? Buffer.from(content.toString('latin1'), 'base64') : undefined;
}

function readNested(part: Part, budget: Budget): SessionBody {
  const inner: Budget = { parts: budget.parts, nested: budget.nested - 1 };
  const found = readParts(part, inner);
  budget.parts = inner.parts;
  return found;
}

/** The octets of each part, headers included; an error text if they cannot be separated. */
function split({ content, typeParams }: Part, budget: Budget): Buffer[] | string {
  const boundary = unquote(typeParams['boundary'] ?? '') || firstBoundary(content);
  if (boundary === '' || boundary.length > LONGEST_BOUNDARY) return 'its body has parts without a boundary';
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  const parts: Buffer[] = [];
  let start = -1;
  for (let at = content.indexOf(delimiter); at >= 0; at = content.indexOf(delimiter, at + delimiter.length)) {
    const line = delimiterAt(content, at, delimiter.length);
    if (!line) continue;
    if (start >= 0) parts.push(content.subarray(start, Math.max(start, line.before)));
    if (parts.length > budget.parts) return 'its body has too many parts';
    start = line.isLast ? -1 : line.after;
    if (line.isLast) break;
  }
  // The end may be missing: the message ends there.
  if (start >= 0) parts.push(content.subarray(start));
  if (parts.length > budget.parts) return 'its body has too many parts';
  budget.parts -= parts.length;
  return parts.length > 0 ? parts : 'its body has no parts';
}

/** A boundary missing in Content-Type: the first line has it. */
function firstBoundary(content: Buffer): string {
  const [line = ''] = content.toString('latin1', 0, LONGEST_BOUNDARY + 4).split(/[\r\n]/);
  return line.startsWith('--') ? line.slice(2).trim() : '';
}

/** A delimiter on a line of its own: the preceding line end belongs to it (RFC 2046 5.1.1). */
function delimiterAt(
  content: Buffer,
  at: number,
  length: number,
): { before: number; after: number; isLast: boolean } | undefined {
  if (at > 0 && content[at - 1] !== LF) return undefined;
  const before = content[at - 2] === CR ? at - 2 : at - 1;
  const lf = content.indexOf(LF, at + length);
  const after = lf < 0 ? content.length : lf + 1;
  const rest = content.toString('latin1', at + length, Math.min(after, at + length + LONGEST_BOUNDARY)).trim();
  // Text behind the last delimiter is ignored.
  if (rest.startsWith('--')) return { before, after, isLast: true };
  return rest === '' ? { before, after, isLast: false } : undefined;
}

/** Reads the headers of a part; without any it is plain text. */
function readPart(octets: Buffer): Part {
  const text = octets.toString('latin1');
  const empty = /^\r?\n/.exec(text);
  const end = empty ?? /\r?\n\r?\n/.exec(text);
  const head = end ? text.slice(0, end.index) : '';
  const headers = new Map<string, string>();
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name !== '' && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  const content = end ? octets.subarray(end.index + end[0].length) : octets;
  return partOf(
    content,
    (name) => headers.get(name.toLowerCase()) ?? (name === 'Content-Type' ? headers.get('c') : undefined),
  );
}

function partOf(content: Buffer, header: (name: string) => string | undefined): Part {
  const [type, typeParams] = headerValue(header('Content-Type'));
  const [disposition, dispositionParams] = headerValue(header('Content-Disposition'));
  return {
    content,
    type: type === '' ? 'text/plain' : type,
    typeParams,
    disposition,
    handling: unquote(dispositionParams['handling'] ?? '').toLowerCase(),
    encoding: (header('Content-Transfer-Encoding') ?? '').trim().toLowerCase(),
  };
}

/** A value in lower case and its parameters; none where they cannot be read. */
function headerValue(text = ''): [value: string, params: Params] {
  const semicolon = text.indexOf(';');
  if (semicolon < 0) return [text.trim().toLowerCase(), noParams];
  return [text.slice(0, semicolon).trim().toLowerCase(), parseParams(text, semicolon) ?? noParams];
}
