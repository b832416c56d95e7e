import { formatParams, noParams, type Params, parseParams } from './params.ts';
import { isToken, QUOTE, quote, skipQuoted, skipSpace, splitList, unquote } from './scan.ts';
import { formatUri, parseUri, type Uri } from './uri.ts';

/** The value of From, To, Contact, Route, Record-Route…: a URI, perhaps with a name, and header parameters. */
export type NameAddr = {
  /** Quotes and escapes taken off. */
  readonly displayName?: string | undefined;
  readonly uri: Uri;
  /** Header parameters (`tag`, `expires`, `q`…), not those of the URI. */
  readonly params: Params;
};

/**
 * Reads `"name" <uri>;params`, `<uri>;params` or `uri;params`. Without `<>` every parameter belongs to the header, and
 * a URI with `?` or `,` must be in brackets (RFC 3261 20.10).
 * @returns undefined when malformed.
 */
export function parseNameAddr(text: string): NameAddr | undefined {
  let at = skipSpace(text, 0);
  let displayName: string | undefined;
  if (text.charCodeAt(at) === QUOTE) {
    const after = skipQuoted(text, at);
    if (after < 0) return undefined;
    displayName = unquote(text.slice(at, after));
    at = skipSpace(text, after);
    if (text[at] !== '<') return undefined;
  }
  const less = text.indexOf('<', at);
  if (less < 0 || (less > at && isAddrSpec(text, at, less))) return parseAddrSpec(text, at);
  if (less > at) displayName = text.slice(at, less).trim();
  const greater = text.indexOf('>', less);
  if (greater < 0) return undefined;
  const uri = parseUri(text.slice(less + 1, greater));
  const params = uri && parseParams(text, greater + 1);
  return params && { displayName, uri: uri!, params };
}

/** A `<` that stands after a URI or a parameter (in a quoted value) does not open a name-addr. */
function isAddrSpec(text: string, start: number, less: number): boolean {
  for (let i = start; i < less; i++) {
    const code = text.charCodeAt(i);
    if (code === 58 || code === 59 || code === QUOTE) return true;
  }
  return false;
}

function parseAddrSpec(text: string, start: number): NameAddr | undefined {
  const semicolon = text.indexOf(';', start);
  const address = (semicolon < 0 ? text.slice(start) : text.slice(start, semicolon)).trim();
  if (address.includes('?') || address.includes(',')) return undefined;
  const uri = parseUri(address);
  const params = uri && (semicolon < 0 ? noParams : parseParams(text, semicolon));
  return params && { displayName: undefined, uri: uri!, params };
}

/** Reads a comma-separated list of name-addrs; undefined when any element is malformed. */
export function parseNameAddrList(value: string): NameAddr[] | undefined {
  const elements = splitList(value);
  if (!elements) return undefined;
  const addresses: NameAddr[] = [];
  for (const element of elements) {
    const address = parseNameAddr(element);
    if (!address) return undefined;
    addresses.push(address);
  }
  return addresses;
}

/** The value as on the wire: always with `<>`; the name is quoted unless it is made of tokens and single spaces. */
export function formatNameAddr(address: { displayName?: string | undefined; uri: Uri; params?: Params }): string {
  const bracketed = `<${formatUri(address.uri)}>${address.params ? formatParams(address.params) : ''}`;
  if (!address.displayName) return bracketed;
  const plain = address.displayName.split(' ').every((word) => isToken(word));
  return `${plain ? address.displayName : quote(address.displayName)} ${bracketed}`;
}
