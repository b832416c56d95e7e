import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { Sources } from './parameters.ts';
import type { PasswordQueue } from './password-queue.ts';
import type { HttpUser } from './user.ts';

export type Credentials = { name: string; password: string };

const scheme = 'Basic ';
const bearer = 'bearer ';

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

/** The token of an `Authorization: Bearer` header (RFC 6750 section 2.1); undefined for any other header. */
export function bearerToken(header: string | null | undefined): string | undefined {
  if (header?.slice(0, bearer.length).toLowerCase() !== bearer) return undefined;
  return header.slice(bearer.length).trim() || undefined;
}

/** The `api_key` of a request: of the query, or else of the form. */
export const apiKeyOf = ({ query, form }: Pick<Sources, 'query' | 'form'>): string | undefined =>
  query?.get('api_key') ?? form?.get('api_key');

/** Credentials of a key of the form `user:password`; none without a password. */
export function apiKeyCredentials(key: string | undefined): Credentials | undefined {
  const credentials = key === undefined ? undefined : split(key);
  return credentials?.password ? credentials : undefined;
}

type Scrypt = { cost: number; blockSize: number; parallelization: number; salt: Buffer; expected: Buffer };

const bytesOf = (text: string): Buffer => Buffer.from(text, /^(?:[0-9a-f]{2})+$/i.test(text) ? 'hex' : 'base64');

/** Reads `scrypt$N$r$p$salt$hash`. @throws Error when it is not of that form. */
function parseHash(text: string): Scrypt {
  const [name, cost, blockSize, parallelization, salt, expected, ...rest] = text.split('$');
  if (name !== 'scrypt' || !salt || !expected || rest.length > 0)
    throw new Error('a password hash is not of the form scrypt$N$r$p$salt$hash');
  return {
    cost: Number(cost),
    blockSize: Number(blockSize),
    parallelization: Number(parallelization),
    salt: bytesOf(salt),
    expected: bytesOf(expected),
  };
}

function matchesHash(password: string, { cost, blockSize, parallelization, salt, expected }: Scrypt): Promise<boolean> {
  const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, expected.length, options, (error, derived) => {
      if (error) reject(error);
      else resolve(timingSafeEqual(derived, expected));
    });
  });
}

type Account = { user: HttpUser; matches(password: string, client: Client): boolean | Promise<boolean> };

/** A client with credentials. */
export type Client = {
  readonly address: string;
  /** Whether the connection is closed and needs no answer. */
  gone(): boolean;
};

/** Returns the user of the credentials. */
interface Authenticator {
  /** The user of a text with credentials (a header, a key) that was verified before. */
  recall(carrier: string): HttpUser | undefined;
  /**
   * Verifies credentials, and remembers what carried them when they fit; undefined when they do not. Rejects with
   * AriError `tooManyLogIns` when too many passwords wait for it.
   */
  verify(
    credentials: Credentials,
    carrier: string,
    client: Client,
  ): HttpUser | undefined | Promise<HttpUser | undefined>;
}

/** Most verified carriers that are remembered; they are few, unless a client spells the same ones in many ways. */
const maxRemembered = 1024;

/**
 * Creates the check of credentials. Passwords are compared in constant time. A hash is computed once for valid
 * credentials; later the carrying text is looked up in a map. The map compares texts only if their hashes are equal.
 * Each process has its own hash seed. So timing reveals nothing. Hashes are computed one after another in `queue`, so
 * wrong passwords use one thread at most. Parallel requests with the same credentials share one computation.
 * @throws Error for an unreadable hash.
 */
export function createAuthenticator(users: readonly HttpUser[], queue: PasswordQueue): Authenticator {
  const key = randomBytes(32).toString('hex');
  const digest = (text: string): string => hash('sha256', key + text, 'base64');
  const same = (one: string, other: string) => timingSafeEqual(Buffer.from(digest(one)), Buffer.from(digest(other)));
  const remembered = new Map<string, HttpUser>();
  /** Verifications in progress, by carrying text and source, with all waiting clients. */
  const pending = new Map<string, { clients: Client[]; user: Promise<HttpUser | undefined> }>();

  const hashed = (expected: Scrypt) => (password: string, client: Client) =>
    queue.check({ ...client, run: () => matchesHash(password, expected) });
  const accounts = new Map<string, Account>();
  let decoy: Account['matches'] = () => false;
  for (const user of users) {
    const { password, password_hash } = user;
    if (password_hash !== undefined) {
      const matches = hashed(parseHash(password_hash));
      // An unknown name takes as long as a known one.
      decoy = async (wrong, client) => (await matches(wrong, client)) && false;
      accounts.set(user.name, { user, matches });
    } else if (password) accounts.set(user.name, { user, matches: (given) => same(given, password) });
  }

  const verify: Authenticator['verify'] = ({ name, password }, carrier, client) => {
    const account = accounts.get(name);
    const remember = (matches: boolean): HttpUser | undefined => {
      if (!matches || !account) return undefined;
      if (remembered.size >= maxRemembered) remembered.clear();
      remembered.set(carrier, account.user);
      return account.user;
    };
    const matches = (account?.matches ?? decoy)(password, client);
    return typeof matches === 'boolean' ? remember(matches) : matches.then(remember);
  };
  return {
    recall: (carrier) => remembered.get(carrier),
    verify: (credentials, carrier, client) => {
      const id = `${client.address} ${carrier}`;
      const under = pending.get(id);
      if (under) {
        under.clients.push(client);
        return under.user;
      }
      const clients = [client];
      const all: Client = { address: client.address, gone: () => clients.every(({ gone }) => gone()) };
      const user = verify(credentials, carrier, all);
      if (!(user instanceof Promise)) return user;
      pending.set(id, { clients, user });
      return user.finally(() => pending.delete(id));
    },
  };
}
