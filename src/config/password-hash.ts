import { randomBytes, scryptSync } from 'node:crypto';

/**
 * Passwords as they may stand in a configuration file: `scrypt$<N>$<r>$<p>$<salt>$<key>`, salt and key in base64
 * (RFC 7914 names N, r and p). One check takes about 80 ms on purpose, so callers should cache correct passwords.
 */
type PasswordHash = { cost: number; blockSize: number; parallelization: number; salt: Buffer; key: Buffer };

const saltBytes = 16;
const keyBytes = 32;

/** The parts of a hash; undefined when it is not one. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const [, cost, blockSize, parallelization, salt, key] =
    /^scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
  if (!cost || !blockSize || !parallelization || !salt || !key) return undefined;
  const hash = {
    cost: Number(cost),
    blockSize: Number(blockSize),
    parallelization: Number(parallelization),
    salt: Buffer.from(salt, 'base64'),
    key: Buffer.from(key, 'base64'),
  };
  // RFC 7914: N is a power of two above 1. An odd N would make every check throw.
  const power = hash.cost > 1 && Number.isInteger(Math.log2(hash.cost));
  return power && hash.blockSize > 0 && hash.parallelization > 0 && hash.key.length >= 16 ? hash : undefined;
}

/** Hashes a password with a new random salt, for `password_hash` of a user. */
export function hashPassword(password: string): string {
  const [cost, blockSize, parallelization] = [16_384, 8, 5];
  const salt = randomBytes(saltBytes);
  const options = { cost, blockSize, parallelization, maxmem: 64 * 1024 * 1024 };
  const key = scryptSync(password, salt, keyBytes, options);
  return ['scrypt', cost, blockSize, parallelization, salt.toString('base64'), key.toString('base64')].join('$');
}
