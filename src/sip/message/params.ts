import { BACKSLASH, EQUALS, isToken, lowerSlice, QUOTE, SEMICOLON, SPACE, skipQuoted, skipSpace, TAB } from './scan.ts';

/**
 * Parameters by lower-case name, in the order of the wire; a parameter without a value has ''. Values stand as on the
 * wire: quotes and escapes included (`unquote`, `percentDecode` take them off).
 */
export type Params = Readonly<Record<string, string>>;

/** Empty parameters. */
export const noParams: Params = Object.freeze({});

/** Adds one parameter; also when its name is one that plain objects treat specially. */
export function addParam(params: Record<string, string>, name: string, value: string): void {
  if (name === '__proto__') {
    Object.defineProperty(params, name, { value, enumerable: true, configurable: true, writable: true });
  } else params[name] = value;
}

/**
 * Reads `;name[=value]…` from `at` to the end of `text`, spaces allowed around `;` and `=` (RFC 3261 25.1
 * `generic-param`). The first of two parameters with the same name counts.
 * @returns undefined when malformed (empty parameter, unclosed quote, name that is no token).
 */
export function parseParams(text: string, at: number): Params | undefined {
  const end = text.length;
  let i = skipSpace(text, at);
  if (i >= end) return noParams;
  const params: Record<string, string> = {};
  while (i < end) {
    if (text.charCodeAt(i) !== SEMICOLON) return undefined;
    const nameStart = skipSpace(text, i + 1);
    const nameEnd = endOfWord(text, nameStart);
    if (!isToken(text, nameStart, nameEnd)) return undefined;
    const name = lowerSlice(text, nameStart, nameEnd);
    i = skipSpace(text, nameEnd);
    let value = '';
    if (i < end && text.charCodeAt(i) === EQUALS) {
      const valueStart = skipSpace(text, i + 1);
      i = text.charCodeAt(valueStart) === QUOTE ? skipQuoted(text, valueStart) : endOfWord(text, valueStart);
      if (i <= valueStart) return undefined;
      value = text.slice(valueStart, i);
      i = skipSpace(text, i);
    }
    if (!Object.hasOwn(params, name)) addParam(params, name, value);
  }
  return params;
}

/** Parameters as on the wire: `;name=value;name`. */
export function formatParams(params: Params): string {
  let text = '';
  for (const name in params) {
    const value = params[name]!;
    text += value === '' ? `;${name}` : `;${name}=${value}`;
  }
  return text;
}

function endOfWord(text: string, at: number): number {
  let i = at;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === SEMICOLON || code === EQUALS || code === SPACE || code === TAB) break;
    if (code < SPACE || code === QUOTE || code === BACKSLASH) return at;
  }
  return i;
}
