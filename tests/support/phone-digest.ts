import { createHash, randomUUID } from 'node:crypto';

/** A request that credentials are for. */
export type Asked = { method: string; uri: string; username: string; password: string };

const hashes: Readonly<Record<string, string>> = { md5: 'md5', 'sha-256': 'sha256' };

/**
 * The header line that answers a challenge of a response, as RFC 7616 3.4 and RFC 8760 have it with `qop=auth`: the first
 * one whose algorithm is known; undefined when there is none.
 * @param values of WWW-Authenticate or Proxy-Authenticate.
 */
export function credentialsFor(
  { name, values }: { name: 'Authorization' | 'Proxy-Authorization'; values: readonly string[] },
  { method, uri, username, password }: Asked,
): string | undefined {
  for (const value of values) {
    const of = (key: string) => new RegExp(`[ ,]${key}="?([^",]*)"?`, 'i').exec(value)?.[1];
    const algorithm = of('algorithm') ?? 'MD5';
    const hash = hashes[algorithm.toLowerCase()];
    const [realm, nonce, opaque] = [of('realm') ?? '', of('nonce') ?? '', of('opaque')];
    if (!hash) continue;
    const h = (text: string) => createHash(hash).update(text).digest('hex');
    const cnonce = randomUUID();
    const proof = `${nonce}:00000001:${cnonce}:auth`;
    const response = h(`${h(`${username}:${realm}:${password}`)}:${proof}:${h(`${method}:${uri}`)}`);
    const quoted = { username, realm, nonce, uri, response, cnonce, ...(opaque !== undefined && { opaque }) };
    const parts = Object.entries(quoted).map(([key, text]) => `${key}="${text}"`);
    return `${name}: Digest ${[...parts, `algorithm=${algorithm}`, 'qop=auth', 'nc=00000001'].join(', ')}`;
  }
  return undefined;
}
