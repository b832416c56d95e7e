import { formatParams, noParams, type Params, parseParams } from './params.ts';
import { isToken, SPACE, skipSpace, TAB, trimEnd } from './scan.ts';
import { formatHostPort, parseHostPort } from './uri.ts';

/** One hop of a message's way, RFC 3261 20.42. */
export type Via = {
  /** Upper-case: `UDP`, `TCP`, `TLS`, `WS`… */
  readonly transport: string;
  /** The sent-by host, lower-case; an IPv6 address without brackets. */
  readonly host: string;
  readonly port?: number | undefined;
  /** `branch`, `received`, `rport` ('' when asked for), `maddr`, `ttl`… */
  readonly params: Params;
};

/** A branch that begins with this is unique in space and time (RFC 3261 8.1.1.7). */
export const MAGIC_COOKIE = 'z9hG4bK';

/** Reads `SIP/2.0/UDP host:port;params`, spaces allowed around `/` and `:`; undefined when malformed. */
export function parseVia(text: string): Via | undefined {
  // Nearly every Via starts exactly so; the general form below allows spaces (RFC 4475 3.1.1.1).
  let at = text.startsWith('SIP/2.0/') ? 8 : skipProtocol(text);
  if (at < 0) return undefined;
  const transportStart = at;
  while (at < text.length && text.charCodeAt(at) !== SPACE && text.charCodeAt(at) !== TAB) at++;
  if (!isToken(text, transportStart, at)) return undefined;
  const transport = upperTransport(text.slice(transportStart, at));
  const hostStart = skipSpace(text, at);
  const semicolon = text.indexOf(';', hostStart);
  const sentByEnd = trimEnd(text, hostStart, semicolon < 0 ? text.length : semicolon);
  const address = parseHostPort(text, hostStart, sentByEnd) ?? parseSpacedHostPort(text.slice(hostStart, sentByEnd));
  const params = address && (semicolon < 0 ? noParams : parseParams(text, semicolon));
  return params && { transport, host: address!.host, port: address!.port, params };
}

function upperTransport(name: string): string {
  return name === 'UDP' || name === 'TCP' ? name : name.toUpperCase();
}

/** The position of the transport after `protocol / version /`; -1 when that is malformed. */
function skipProtocol(text: string): number {
  const first = text.indexOf('/');
  const second = text.indexOf('/', first + 1);
  if (first < 0 || second < 0) return -1;
  const name = text.slice(0, first).trim();
  const version = text.slice(first + 1, second).trim();
  return isToken(name) && isToken(version) ? skipSpace(text, second + 1) : -1;
}

function parseSpacedHostPort(text: string): ReturnType<typeof parseHostPort> {
  const colon = text.indexOf(':', text.startsWith('[') ? text.indexOf(']') : 0);
  if (colon < 0) return undefined;
  return parseHostPort(`${text.slice(0, trimEnd(text, 0, colon))}:${text.slice(skipSpace(text, colon + 1))}`);
}

/** The Via as on the wire. */
export function formatVia(via: Via): string {
  return `SIP/2.0/${via.transport} ${formatHostPort(via.host, via.port)}${formatParams(via.params)}`;
}

/** The comma or end that closes a Via value's first element (a Via has no `<>`). */
export function firstViaEnd(value: string): number {
  const comma = value.indexOf(',');
  if (comma < 0) return value.length;
  let quoted = false;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (quoted && code === 92) i++;
    else if (code === 34) quoted = !quoted;
    else if (code === 44 && !quoted) return i;
  }
  return value.length;
}
