import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import { isKeptToken, type KeptToken } from '../models/token.ts';
import { openKeptMap } from './kept-map.ts';

/** Settings; names and units as in the configuration's `http.tokens`. */
export type TokenSettings = {
  /** Tokens at the same time. */
  most: number;
  /** Longest that one may be good, in s. */
  longest_lifetime: number;
};

/** Tokens of users, until they expire or are revoked. Stored as digests. */
export interface Tokens {
  /** Valid tokens, in order of creation. */
  list(): readonly KeptToken[];
  /** The one of a name; undefined when there is none that is good. */
  get(name: string): KeptToken | undefined;
  /** The token of a secret; undefined without a valid one. */
  find(secret: string): KeptToken | undefined;
  /**
   * Creates a token, and resolves with its secret once it is stored. @throws AriError tokenNameTaken, tooManyTokens,
   * storageFailed.
   */
  make(token: Omit<KeptToken, 'digest' | 'created'>): Promise<{ secret: string; token: KeptToken }>;
  /** Ends one; it is good for nothing from here on. @throws AriError tokenNotFound, storageFailed. */
  revoke(name: string): Promise<void>;
  /** Hears when one was revoked. */
  onRevoked(listener: (token: KeptToken) => void): void;
  readonly size: number;
  close(): Promise<void>;
}

type TokensOptions = {
  /** The data directory. */
  directory: string;
  clock: Clock;
  log: Logger;
  /** Read at every use: it may change. */
  settings: Pick<TokenSettings, 'most'>;
  /** Creates a random text of that length. */
  secret(length: number): string;
};

/** Prefix of every token, so that leaked ones are recognised. */
const tokenPrefix = 'hst_';

/** Letters behind it: 58^43 is more than 2^250. */
const secretLength = 43;

function readToken(element: unknown): KeptToken {
  if (!isKeptToken(element)) throw new TypeError('not a token');
  return element;
}

/** A digest suffices: nobody can try 2^250 secrets, and each request needs one. */
const digestOf = (secret: string): string => hash('sha256', secret, 'base64');

/** Opens the tokens that were kept. @throws StorageError when their file cannot be read. */
export function openTokens({ directory, clock, log, settings, secret }: TokensOptions): Tokens {
  const listeners: ((token: KeptToken) => void)[] = [];
  const byDigest = new Map<string, KeptToken>();
  const kept = openKeptMap<KeptToken>({
    ...{ directory, clock, log, name: 'tokens.json', mode: 0o600 },
    read: readToken,
    keyOf: ({ name }) => name,
    onUndone: () => index(),
  });
  const index = (): void => {
    byDigest.clear();
    for (const token of kept.values()) byDigest.set(token.digest, token);
  };
  const isGood = ({ expires }: KeptToken): boolean => expires > clock.now();
  const good = (token: KeptToken | undefined): KeptToken | undefined => (token && isGood(token) ? token : undefined);
  const forgetExpired = (): void => {
    for (const token of kept.values()) if (!isGood(token)) kept.deleteSoon(token.name);
    index();
  };
  index();
  return {
    list: () => kept.values().filter(isGood),
    get: (name) => good(kept.get(name)),
    find: (text) => (text.startsWith(tokenPrefix) ? good(byDigest.get(digestOf(text))) : undefined),
    async make(wanted) {
      forgetExpired();
      if (kept.has(wanted.name)) throw new AriError('tokenNameTaken', { name: wanted.name });
      if (kept.size >= settings.most) throw new AriError('tooManyTokens', { most: String(settings.most) });
      const text = tokenPrefix + secret(secretLength);
      const token: KeptToken = { ...wanted, digest: digestOf(text), created: clock.now() };
      const done = kept.set(token.name, token);
      index();
      await done;
      return { secret: text, token };
    },
    async revoke(name) {
      const token = kept.get(name);
      if (!token) throw new AriError('tokenNotFound');
      const done = kept.delete(name);
      index();
      for (const listener of listeners) listener(token);
      await done;
    },
    onRevoked: (listener) => void listeners.push(listener),
    get size() {
      return kept.size;
    },
    close: () => kept.close(),
  };
}
