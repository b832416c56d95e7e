import { isIP } from 'node:net';

/** The address in text: IPv4 or IPv6, the latter with or without brackets; undefined for names and everything else. */
export function literalAddress(text: string): string | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  return isIP(bare) === 0 ? undefined : bare;
}

/** Whether text can be the name of a host (RFC 1123 2.1, and underscores, which are in use). */
export const isHostName = (text: string): boolean => /^[a-z\d_](?:[a-z\d._-]{0,252})$/i.test(text);
