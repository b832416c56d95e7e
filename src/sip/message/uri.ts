import { addParam, noParams, type Params } from './params.ts';
import { charTable, consistsOf, EQUALS, lowerSlice, parseDecimal } from './scan.ts';

/** A SIP or SIPS URI, RFC 3261 19.1. */
export type SipUri = {
  readonly scheme: 'sip' | 'sips';
  /** Escapes taken off; an escaped byte that is no UTF-8 becomes U+DC80…U+DCFF so that nothing is lost. */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** Lower-case name, IPv4 address, or IPv6 address **without** brackets. */
  readonly host: string;
  readonly port?: number | undefined;
  /** `transport`, `lr`, `maddr`…: names lower-case, values as on the wire. */
  readonly params: Params;
  /** Names and values after `?`, as sent. */
  readonly headers: Params;
};

/** A telephone number, RFC 3966. */
export type TelUri = { readonly scheme: 'tel'; readonly number: string; readonly params: Params };

/** Any other scheme, kept as text; a UAS answers 416 to a Request-URI of this kind. */
type OtherUri = { readonly scheme: 'other'; readonly text: string };

export type Uri = SipUri | TelUri | OtherUri;

const alphanumeric = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const schemeTable = charTable(`${alphanumeric}+-.`);
const hostTable = charTable(`${alphanumeric}-._`);
const ipv6Table = charTable('0123456789abcdefABCDEF:.');
const userTable = charTable(`${alphanumeric}-_.!~*'()&=+$,;?/`);
const passwordTable = charTable(`${alphanumeric}-_.!~*'()&=+$,`);
const parameterTable = charTable(`${alphanumeric}-_.!~*'()[]/:&+$%`);
const headerTable = charTable(`${alphanumeric}-_.!~*'()[]/?:+$%`);
const telTable = charTable('0123456789abcdefABCDEF*#-.()+');

/** A SIP URI from its parts; what is left out is absent. */
export function sipUri(parts: Partial<SipUri> & { readonly host: string }): SipUri {
  return {
    scheme: parts.scheme ?? 'sip',
    user: parts.user,
    password: parts.password,
    host: parts.host,
    port: parts.port,
    params: parts.params ?? noParams,
    headers: parts.headers ?? noParams,
  };
}

/** Reads a URI: undefined when it is malformed (spaces, no scheme, bad host or port). Never throws. */
export function parseUri(text: string): Uri | undefined {
  const colon = text.indexOf(':');
  if (colon < 1) return undefined;
  const name = text.slice(0, colon);
  const scheme = name === 'sip' || name === 'sips' ? name : name.toLowerCase();
  if (scheme === 'sip' || scheme === 'sips') return parseSipUri(scheme, text, colon + 1);
  if (!consistsOf(schemeTable, name)) return undefined;
  if (scheme === 'tel') return parseTelUri(text, colon + 1);
  for (let i = colon + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code <= 32 || code === 60 || code === 62 || code === 34) return undefined;
  }
  return text.length > colon + 1 ? { scheme: 'other', text } : undefined;
}

function parseSipUri(scheme: 'sip' | 'sips', text: string, start: number): SipUri | undefined {
  const at = text.indexOf('@', start);
  const hostStart = at < 0 ? start : at + 1;
  const info = at < 0 ? noUserInfo : parseUserInfo(text, start, at);
  if (!info) return undefined;
  const question = text.indexOf('?', hostStart);
  const paramsEnd = question < 0 ? text.length : question;
  const semicolon = text.indexOf(';', hostStart);
  const hostEnd = semicolon < 0 || semicolon > paramsEnd ? paramsEnd : semicolon;
  const address = parseHostPort(text, hostStart, hostEnd);
  if (!address) return undefined;
  const params = hostEnd === paramsEnd ? noParams : parsePairs(text, hostEnd + 1, paramsEnd, ';');
  const headers = question < 0 ? noParams : parsePairs(text, question + 1, text.length, '&');
  if (!params || !headers) return undefined;
  const { user, password } = info;
  return { scheme, user, password, host: address.host, port: address.port, params, headers };
}

type UserInfo = { readonly user: string | undefined; readonly password: string | undefined };

const noUserInfo: UserInfo = { user: undefined, password: undefined };

/** `user[:password]` in text[start, end); undefined when malformed. */
function parseUserInfo(text: string, start: number, end: number): UserInfo | undefined {
  const colon = text.indexOf(':', start);
  const userEnd = colon < 0 || colon > end ? end : colon;
  if (userEnd === start || !isEscapedText(userTable, text, start, userEnd)) return undefined;
  const user = percentDecode(text.slice(start, userEnd));
  if (userEnd === end) return { user, password: undefined };
  if (userEnd + 1 < end && !isEscapedText(passwordTable, text, userEnd + 1, end)) return undefined;
  return { user, password: percentDecode(text.slice(userEnd + 1, end)) };
}

function parseTelUri(text: string, start: number): TelUri | undefined {
  const semicolon = text.indexOf(';', start);
  const end = semicolon < 0 ? text.length : semicolon;
  if (!consistsOf(telTable, text, start, end)) return undefined;
  const params = end === text.length ? noParams : parsePairs(text, end + 1, text.length, ';');
  return params && { scheme: 'tel', number: text.slice(start, end), params };
}

/** `host[:port]` in text[start, end), an IPv6 address in brackets; undefined when malformed. */
export function parseHostPort(
  text: string,
  start = 0,
  end = text.length,
): { host: string; port: number | undefined } | undefined {
  let hostEnd: number;
  let host: string;
  if (text.charCodeAt(start) === 91) {
    const close = text.indexOf(']', start);
    if (close < 0 || close >= end || !consistsOf(ipv6Table, text, start + 1, close)) return undefined;
    host = lowerSlice(text, start + 1, close);
    if (host.indexOf(':') < 0) return undefined;
    hostEnd = close + 1;
  } else {
    const colon = text.indexOf(':', start);
    hostEnd = colon < 0 || colon > end ? end : colon;
    if (!consistsOf(hostTable, text, start, hostEnd)) return undefined;
    host = lowerSlice(text, start, hostEnd);
  }
  if (hostEnd === end) return { host, port: undefined };
  if (text.charCodeAt(hostEnd) !== 58) return undefined;
  const port = parseDecimal(text, 65535, hostEnd + 1, end);
  return port < 0 ? undefined : { host, port };
}

/** Reads `name[=value]` pairs between separators in text[start, end); parameter names become lower-case. */
function parsePairs(text: string, start: number, end: number, separator: ';' | '&'): Params | undefined {
  const table = separator === ';' ? parameterTable : headerTable;
  const params: Record<string, string> = {};
  for (let at = start; at <= end; ) {
    const found = text.indexOf(separator, at);
    const pairEnd = found < 0 || found > end ? end : found;
    let nameEnd = at;
    while (nameEnd < pairEnd && text.charCodeAt(nameEnd) !== EQUALS) nameEnd++;
    if (!consistsOf(table, text, at, nameEnd)) return undefined;
    const valueStart = Math.min(nameEnd + 1, pairEnd);
    if (valueStart < pairEnd && !consistsOf(table, text, valueStart, pairEnd)) return undefined;
    const name = separator === ';' ? lowerSlice(text, at, nameEnd) : text.slice(at, nameEnd);
    if (!Object.hasOwn(params, name)) addParam(params, name, text.slice(valueStart, pairEnd));
    at = pairEnd + 1;
  }
  return params;
}

/** The URI as on the wire; characters that the grammar does not allow in a user or password are escaped. */
export function formatUri(uri: Uri): string {
  if (uri.scheme === 'other') return uri.text;
  if (uri.scheme === 'tel') return `tel:${uri.number}${joinPairs(uri.params, ';', ';')}`;
  const password = uri.password === undefined ? '' : `:${percentEncode(uri.password, passwordTable)}`;
  const user = uri.user === undefined ? '' : `${percentEncode(uri.user, userTable)}${password}@`;
  return `${uri.scheme}:${user}${formatHostPort(uri.host, uri.port)}${joinPairs(uri.params, ';', ';')}${joinPairs(uri.headers, '?', '&')}`;
}

/** `host[:port]`, an IPv6 address in brackets. */
export function formatHostPort(host: string, port?: number | undefined): string {
  const name = host.indexOf(':') >= 0 ? `[${host}]` : host;
  return port === undefined ? name : `${name}:${port}`;
}

function joinPairs(params: Params, first: string, separator: string): string {
  let text = '';
  for (const name in params) {
    const value = params[name]!;
    text += `${text === '' ? first : separator}${name}${value === '' ? '' : `=${value}`}`;
  }
  return text;
}

/**
 * Whether two URIs are equal by RFC 3261 19.1.4. Host and parameters ignore case. `user`, `ttl`, `method`, `maddr` and
 * `transport` must be in both or in neither. Other parameters only count if both have them; all headers count.
 */
export function sameUri(a: Uri, b: Uri): boolean {
  if (a.scheme === 'other' || b.scheme === 'other') return a.scheme === b.scheme && formatUri(a) === formatUri(b);
  if (a.scheme === 'tel' || b.scheme === 'tel') return a.scheme === b.scheme && sameTelUri(a as TelUri, b as TelUri);
  if (a.scheme !== b.scheme || a.user !== b.user || a.password !== b.password) return false;
  if (a.host.toLowerCase() !== b.host.toLowerCase() || a.port !== b.port) return false;
  return sameParams(a.params, b.params) && sameHeaders(a.headers, b.headers);
}

/** Parameters that must be in both URIs or in neither. */
const mustMatch = ['user', 'ttl', 'method', 'maddr', 'transport'];

function sameParams(a: Params, b: Params): boolean {
  for (const name of new Set([...mustMatch, ...Object.keys(a)])) {
    const left = a[name];
    const right = b[name];
    if (left === undefined || right === undefined) {
      if (left !== right && mustMatch.includes(name)) return false;
    } else if (percentDecode(left).toLowerCase() !== percentDecode(right).toLowerCase()) return false;
  }
  return true;
}

function sameTelUri(a: TelUri, b: TelUri): boolean {
  const digits = (uri: TelUri) => uri.number.replace(/[-.()]/g, '').toLowerCase();
  return digits(a) === digits(b) && sameHeaders(a.params, b.params);
}

function sameHeaders(a: Params, b: Params): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  const right = new Map(Object.entries(b).map(([name, value]) => [name.toLowerCase(), percentDecode(value)]));
  return names.every((name) => right.get(name.toLowerCase()) === percentDecode(a[name]!));
}

/** Takes `%XX` escapes off (UTF-8); an escaped byte that is no UTF-8 becomes U+DC80…U+DCFF, a bare `%` stays. */
export function percentDecode(text: string): string {
  if (text.indexOf('%') < 0) return text;
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => {
    const bytes = Buffer.from(run.replaceAll('%', ''), 'hex');
    const decoded = bytes.toString('utf8');
    if (!decoded.includes('\ufffd') || Buffer.from(decoded).equals(bytes)) return decoded;
    let kept = '';
    for (const byte of bytes) kept += String.fromCharCode(byte < 128 ? byte : 0xdc00 + byte);
    return kept;
  });
}

/** `text` with `%XX` for every UTF-8 byte outside `table`: the inverse of `percentDecode`. */
export function percentEncode(text: string, table: Uint8Array = userTable): string {
  if (text === '' || consistsOf(table, text)) return text;
  let escaped = '';
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (code < 128 && table[code] === 1) escaped += character;
    else if (code >= 0xdc80 && code <= 0xdcff) escaped += `%${(code - 0xdc00).toString(16).toUpperCase()}`;
    else for (const byte of Buffer.from(character)) escaped += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}

/** True when text[start, end) holds only characters of `table`, complete `%XX` escapes, and non-ASCII characters. */
function isEscapedText(table: Uint8Array, text: string, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code >= 128 || table[code] === 1) continue;
    // RFC 4475 3.1.1.5 sends a bare '%' where no escape is meant; only the ones that look like escapes are decoded.
    if (code !== 37) return false;
  }
  return true;
}
