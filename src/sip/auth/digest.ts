import { createHash } from 'node:crypto';

/** Digest algorithms by their names on the wire (RFC 8760 2.1), weakest first. */
export const digestAlgorithms = [
  'MD5',
  'MD5-sess',
  'SHA-256',
  'SHA-256-sess',
  'SHA-512-256',
  'SHA-512-256-sess',
] as const;
export type DigestAlgorithm = (typeof digestAlgorithms)[number];

/**
 * The secret of a user: the password, or H(username:realm:password) in hexadecimal. A stored hash is valid for one
 * realm and one algorithm, by its length: 32 digits MD5, 64 digits SHA-256.
 */
export type DigestSecret = { password: string } | { ha1: string };

/** The inputs of a response (RFC 7616 3.4.1). Without `qop` the formula of RFC 2069 is used. */
type DigestInput = {
  algorithm: DigestAlgorithm;
  username: string;
  realm: string;
  secret: DigestSecret;
  method: string;
  uri: string;
  nonce: string;
  qop?: { value: 'auth'; nc: string; cnonce: string };
};

const hashNames: Readonly<Record<string, string>> = { MD5: 'md5', 'SHA-256': 'sha256', 'SHA-512-256': 'sha512-256' };

/** The algorithm named in a header, compared without case; MD5 when none is named (RFC 7616 3.3). */
export function algorithmNamed(name: string | undefined): DigestAlgorithm | undefined {
  return digestAlgorithms.find((algorithm) => algorithm.toLowerCase() === (name ?? 'MD5').toLowerCase());
}

/** The response in lower-case hexadecimal; undefined when the stored hash is not one of this algorithm. */
export function digestResponse(input: DigestInput): string | undefined {
  const { algorithm, method, uri, nonce, qop } = input;
  const hash = hasher(algorithm);
  const ha1 = firstHash(input, hash);
  if (ha1 === undefined) return undefined;
  const ha2 = hash(`${method}:${uri}`);
  return qop ? hash(`${ha1}:${nonce}:${qop.nc}:${qop.cnonce}:${qop.value}:${ha2}`) : hash(`${ha1}:${nonce}:${ha2}`);
}

function firstHash(input: DigestInput, hash: (text: string) => string): string | undefined {
  const { algorithm, username, realm, secret, nonce, qop } = input;
  const stored = 'ha1' in secret ? secret.ha1.toLowerCase() : hash(`${username}:${realm}:${secret.password}`);
  if (stored.length !== hash('').length) return undefined;
  return algorithm.endsWith('-sess') ? hash(`${stored}:${nonce}:${qop?.cnonce ?? ''}`) : stored;
}

function hasher(algorithm: DigestAlgorithm): (text: string) => string {
  const name = hashNames[algorithm.replace(/-sess$/, '')]!;
  return (text) => createHash(name).update(text, 'utf8').digest('hex');
}
