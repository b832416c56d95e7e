import { parseNameAddr } from '../../sip/message/name-addr.ts';
import type { SipUri } from '../../sip/message/uri.ts';

/**
 * A part of an address by Asterisk's word for it: `display`, `scheme`, `user`, `passwd`, `host`, `port`, `transport`,
 * `method`, `ttl`, `maddr`, `lr`.
 * @returns undefined when it is no address, or there is no such word; '' when it has no such part.
 */
export function uriPart(text: string, part: string): string | undefined {
  const address = parseNameAddr(text);
  if (!address || address.uri.scheme === 'other') return undefined;
  const { uri, displayName = '' } = address;
  if (part === 'display') return displayName;
  if (part === 'scheme') return uri.scheme;
  if (uri.scheme === 'tel') return part === 'user' ? uri.number : parts.has(part) ? '' : undefined;
  const read = readers[part];
  if (read) return read(uri);
  return parts.has(part) ? (uri.params[part] ?? '') : undefined;
}

const readers: Readonly<Record<string, (uri: SipUri) => string>> = {
  user: ({ user = '' }) => user,
  passwd: ({ password = '' }) => password,
  host: ({ host }) => host,
  port: ({ port = '' }) => String(port),
  lr: ({ params }) => (params['lr'] === undefined ? '' : '1'),
};

const parts = new Set(['passwd', 'host', 'port', 'lr', 'transport', 'method', 'ttl', 'maddr']);
