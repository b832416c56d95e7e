/** Character tests and small scanners shared by the SIP parsers; they work on positions to avoid copies. */

export const TAB = 9;
export const LF = 10;
export const CR = 13;
export const SPACE = 32;
export const QUOTE = 34;
const COMMA = 44;
export const COLON = 58;
export const SEMICOLON = 59;
const LESS = 60;
export const EQUALS = 61;
export const BACKSLASH = 92;

const tokenTable = charTable("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.!%*_+`'~");

/** A 128-entry table with 1 for each character of `characters`. */
export function charTable(characters: string): Uint8Array {
  const table = new Uint8Array(128);
  for (let i = 0; i < characters.length; i++) table[characters.charCodeAt(i)] = 1;
  return table;
}

/** True when every character of text[start, end) is in `table`; false for an empty span. */
export function consistsOf(table: Uint8Array, text: string, start = 0, end = text.length): boolean {
  if (start >= end) return false;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code >= 128 || table[code] === 0) return false;
  }
  return true;
}

/** RFC 3261 25.1 `token`. */
export function isToken(text: string, start = 0, end = text.length): boolean {
  return consistsOf(tokenTable, text, start, end);
}

/** text[start, end) in lower case; costs nothing more than the slice when it is so already. */
export function lowerSlice(text: string, start: number, end: number): string {
  const slice = text.slice(start, end);
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if ((code >= 65 && code <= 90) || code >= 128) return slice.toLowerCase();
  }
  return slice;
}

/** The first position from `at` on that is no space or tab. */
export function skipSpace(text: string, at: number, end = text.length): number {
  let i = at;
  while (i < end) {
    const code = text.charCodeAt(i);
    if (code !== SPACE && code !== TAB) break;
    i++;
  }
  return i;
}

/** The end of text[start, end) without its trailing spaces and tabs. */
export function trimEnd(text: string, start: number, end: number): number {
  let i = end;
  while (i > start) {
    const code = text.charCodeAt(i - 1);
    if (code !== SPACE && code !== TAB) break;
    i--;
  }
  return i;
}

/** The position after the closing quote of the quoted string that opens at `at`; -1 when it never closes. */
export function skipQuoted(text: string, at: number, end = text.length): number {
  for (let i = at + 1; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === QUOTE) return i + 1;
  }
  return -1;
}

/**
 * A decimal number of digits only, at most `max`.
 * @returns -1 for anything else (empty, signs, other characters, too large).
 */
export function parseDecimal(text: string, max: number, start = 0, end = text.length): number {
  if (start >= end) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
    if (value > max) return -1;
  }
  return value;
}

/**
 * Splits a comma-separated header value (RFC 3261 7.3.1), leaving commas in quotes and in `<>` alone.
 * @returns the trimmed elements; undefined when a quote or a bracket never closes or an element is empty.
 */
export function splitList(value: string): string[] | undefined {
  if (value.indexOf(',') < 0) return value === '' ? undefined : [value];
  const elements: string[] = [];
  let start = 0;
  for (let i = 0; i <= value.length; i++) {
    const code = i === value.length ? COMMA : value.charCodeAt(i);
    if (code === QUOTE) {
      const after = skipQuoted(value, i);
      if (after < 0) return undefined;
      i = after - 1;
    } else if (code === LESS) {
      i = value.indexOf('>', i);
      if (i < 0) return undefined;
    } else if (code === COMMA) {
      const element = value.slice(start, i).trim();
      if (element === '') return undefined;
      elements.push(element);
      start = i + 1;
    }
  }
  return elements;
}

/** A quoted string without its quotes and backslashes; anything else unchanged (RFC 3261 25.1 `quoted-string`). */
export function unquote(text: string): string {
  if (text.length < 2 || text.charCodeAt(0) !== QUOTE || text.charCodeAt(text.length - 1) !== QUOTE) return text;
  const inner = text.slice(1, -1);
  return inner.indexOf('\\') < 0 ? inner : inner.replace(/\\([\s\S])/g, '$1');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controls = /[\u0000-\u0008\u000a-\u001f\u007f]+/g;

/** `text` with spaces for control characters (a tab is none here), which no header may hold (RFC 3261 25.1), trimmed. */
export function printable(text: string): string {
  return text.replace(controls, ' ').trim();
}

/** `text` as a quoted string: quotes and backslashes escaped; control characters, which cannot be quoted, become spaces. */
export function quote(text: string): string {
  return `"${text.replace(controls, ' ').replace(/["\\]/g, '\\$&')}"`;
}

/**
 * `text` without control characters, line ends and NUL included: names and values come from applications and strangers,
 * and none may start a header.
 */
export function oneLine(text: string): string {
  const isPlain = text.indexOf('\n') < 0 && text.indexOf('\r') < 0 && text.indexOf('\0') < 0;
  return isPlain ? text : text.replace(controls, ' ');
}

/**
 * The longest accepted time of a peer, in seconds: about 24 days, which fit a timer in ms (2^31 − 1). All times in
 * messages are read by `deltaSeconds`, so none is longer.
 */
const MAX_DELTA_SECONDS = 2_147_483;

/**
 * Reads `delta-seconds` (RFC 3261 25.1: Expires, Min-SE, Session-Expires, Retry-After, `expires` of contacts and
 * subscriptions): digits only, up to 2^32 − 1. Longer times count as our longest.
 * @returns undefined for anything else: it counts as left out (RFC 4475 3.1.2.4).
 */
export function deltaSeconds(text: string | undefined): number | undefined {
  const seconds = parseDecimal(text ?? '', 2 ** 32 - 1);
  return seconds < 0 ? undefined : Math.min(seconds, MAX_DELTA_SECONDS);
}
