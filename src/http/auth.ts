import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { Sources } from './parameters.ts';

/** Someone who may use the interface; as the configuration has it. One of the two passwords is given. */
export type HttpUser = {
  name: string;
  password?: string | undefined;
  /** `scrypt$N$r$p$salt$hash`, salt and hash in hex or base64. */
  password_hash?: string | undefined;
  /** May look (GET, OPTIONS) but change nothing. */
  read_only: boolean;
};

export type Credentials = { name: string; password: string };

const scheme = 'Basic ';

function split(text: string): Credentials | undefined {
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Credentials of an `Authorization` header: only the scheme spelled exactly `Basic`, others count as absent. */
export function basicCredentials(header: string | null | undefined): Credentials | undefined {
  if (!header?.startsWith(scheme)) return undefined;
  const encoded = header.slice(scheme.length).trim();
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined;
  return split(Buffer.from(encoded, 'base64').toString('utf8'));
}

/** Credentials of `api_key=user:password`, from the query or else the form; none without a password. */
export function apiKeyCredentials(sources: Pick<Sources, 'query' | 'form'>): Credentials | undefined {
  const key = sources.query?.get('api_key') ?? sources.form?.get('api_key');
  const credentials = key === undefined ? undefined : split(key);
  return credentials?.password ? credentials : undefined;
}

type Scrypt = { cost: number; blockSize: number; parallelization: number; salt: Buffer; hash: Buffer };

const bytesOf = (text: string): Buffer => Buffer.from(text, /^(?:[0-9a-f]{2})+$/i.test(text) ? 'hex' : 'base64');

/** Reads `scrypt$N$r$p$salt$hash`. @throws Error when it is not of that form. */
function parseHash(text: string): Scrypt {
  const [name, cost, blockSize, parallelization, salt, hash, ...rest] = text.split('$');
  if (name !== 'scrypt' || !salt || !hash || rest.length > 0)
    throw new Error('a password hash is not of the form scrypt$N$r$p$salt$hash');
  return {
    cost: Number(cost),
    blockSize: Number(blockSize),
    parallelization: Number(parallelization),
    salt: bytesOf(salt),
    hash: bytesOf(hash),
  };
}

function matchesHash(password: string, { cost, blockSize, parallelization, salt, hash }: Scrypt): Promise<boolean> {
  const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, hash.length, options, (error, derived) => {
      if (error) reject(error);
      else resolve(timingSafeEqual(derived, hash));
    });
  });
}

type Account = { user: HttpUser; matches(password: string): boolean | Promise<boolean> };

/** Says who the credentials belong to; undefined when to nobody. */
export type Authenticate = (credentials: Credentials) => HttpUser | undefined | Promise<HttpUser | undefined>;

/**
 * Makes the check of credentials. Passwords are compared in constant time. A hash is computed once for credentials
 * that fit; after that they are known by a digest keyed with a secret of this process. Computations run one after
 * another, so that a flood of wrong passwords takes one thread at most.
 * @throws Error for a hash that cannot be read.
 */
export function createAuthenticator(users: readonly HttpUser[]): Authenticate {
  const key = randomBytes(32);
  const digest = (text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const verified = new Map<string, HttpUser>();
  let previous: Promise<unknown> = Promise.resolve();

  const hashed = (hash: Scrypt) => (password: string) => {
    const result = previous.then(() => matchesHash(password, hash));
    previous = result.catch(() => undefined);
    return result;
  };
  const plain = (expected: string) => {
    const expectedDigest = digest(expected);
    return (password: string) => timingSafeEqual(digest(password), expectedDigest);
  };
  const accounts = new Map<string, Account>();
  let decoy: Account['matches'] = plain(randomBytes(32).toString('hex'));
  for (const user of users) {
    if (user.password_hash !== undefined) {
      const matches = hashed(parseHash(user.password_hash));
      // An unknown name takes as long as a known one.
      decoy = async (password) => (await matches(password)) && false;
      accounts.set(user.name, { user, matches });
    } else if (user.password) accounts.set(user.name, { user, matches: plain(user.password) });
  }

  return ({ name, password }) => {
    const account = accounts.get(name);
    const fingerprint = digest(`${name}\0${password}`).toString('latin1');
    const known = verified.get(fingerprint);
    if (known) return known;
    const keep = (matches: boolean): HttpUser | undefined => {
      if (!matches || !account) return undefined;
      verified.set(fingerprint, account.user);
      return account.user;
    };
    const matches = (account?.matches ?? decoy)(password);
    return typeof matches === 'boolean' ? keep(matches) : matches.then(keep);
  };
}
