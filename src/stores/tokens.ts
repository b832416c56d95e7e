import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import { isKeptToken, type KeptToken } from '../models/token.ts';
import { type KeptMap, openKeptMap } from './kept-map.ts';

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
  make(token: Omit<KeptToken, 'digest' | 'created' | 'revoked'>): Promise<{ secret: string; token: KeptToken }>;
  /** Ends one; it is good for nothing from here on. @throws AriError tokenNotFound, storageFailed. */
  revoke(name: string): Promise<void>;
  /** Hears when one was revoked. */
  onRevoked(listener: (token: KeptToken) => void): void;
  /** Shares them with other nodes. @returns what takes a token that was made or revoked at another node */
  share(shared: SharedTokens): (token: unknown) => void;
  readonly size: number;
  close(): Promise<void>;
}

/** The tokens of a cluster. */
type SharedTokens = {
  /** One was made or revoked here. */
  tell(token: KeptToken): void;
  /** One that was kept from before. */
  know(token: KeptToken): void;
  /** One has expired: it is told no more. */
  forget(token: KeptToken): void;
};

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
export const openTokens = (options: TokensOptions): Tokens => new TokenStore(options);

class TokenStore implements Tokens {
  readonly #options: TokensOptions;
  readonly #listeners: ((token: KeptToken) => void)[] = [];
  /** By digest. */
  readonly #kept: KeptMap<KeptToken>;
  #shared: SharedTokens | undefined;

  constructor(options: TokensOptions) {
    const { directory, clock, log } = options;
    this.#options = options;
    this.#kept = openKeptMap<KeptToken>({
      ...{ directory, clock, log, name: 'tokens.json', mode: 0o600 },
      read: readToken,
      keyOf: ({ digest }) => digest,
      onUndone: () => {},
    });
  }

  get size(): number {
    return this.list().length;
  }

  list(): readonly KeptToken[] {
    const good = this.#kept.values().filter((token) => this.#isGood(token));
    return good.sort((one, other) => one.created - other.created);
  }

  get(name: string): KeptToken | undefined {
    return this.list().find((token) => token.name === name);
  }

  find(text: string): KeptToken | undefined {
    const token = text.startsWith(tokenPrefix) ? this.#kept.get(digestOf(text)) : undefined;
    return token && this.#isGood(token) ? token : undefined;
  }

  async make(wanted: Omit<KeptToken, 'digest' | 'created' | 'revoked'>) {
    const { clock, settings, secret } = this.#options;
    if (this.get(wanted.name)) throw new AriError('tokenNameTaken', { name: wanted.name });
    if (!this.#makeRoom()) throw new AriError('tooManyTokens', { most: String(settings.most) });
    const text = tokenPrefix + secret(secretLength);
    const token: KeptToken = { ...wanted, digest: digestOf(text), created: clock.now() };
    await this.#kept.set(token.digest, token);
    this.#shared?.tell(token);
    return { secret: text, token };
  }

  async revoke(name: string): Promise<void> {
    const token = this.get(name);
    if (!token) throw new AriError('tokenNotFound');
    const revoked = { ...token, revoked: true };
    const done = this.#shared ? this.#kept.set(token.digest, revoked) : this.#kept.delete(token.digest);
    this.#tellRevoked(token);
    await done;
    this.#shared?.tell(revoked);
  }

  onRevoked(listener: (token: KeptToken) => void): void {
    this.#listeners.push(listener);
  }

  share(shared: SharedTokens): (token: unknown) => void {
    this.#shared = shared;
    for (const token of this.#kept.values())
      if (token.revoked) shared.tell(token);
      else shared.know(token);
    return (token) => {
      if (isKeptToken(token)) this.#adopt(token);
    };
  }

  close(): Promise<void> {
    return this.#kept.close();
  }

  readonly #isGood = ({ expires, revoked }: KeptToken): boolean => !revoked && expires > this.#options.clock.now();

  #tellRevoked(token: KeptToken): void {
    for (const listener of this.#listeners) listener(token);
  }

  /** Takes one of another node. What is revoked stays so. */
  #adopt(token: KeptToken): void {
    if (token.expires <= this.#options.clock.now()) {
      this.#shared?.forget(token);
      return;
    }
    const known = this.#kept.get(token.digest);
    if (known) {
      if (token.revoked && !known.revoked) this.#end(known);
    } else if (this.#makeRoom()) this.#addNew(token);
    else {
      const { log, settings } = this.#options;
      log.warn({ token: token.name, most: settings.most }, 'a token of another node is not taken (http.tokens.most)');
    }
  }

  /** Of two of one name, which two nodes have made, the later one is good. */
  #addNew(token: KeptToken): void {
    const other = token.revoked ? undefined : this.get(token.name);
    const isSecond = other !== undefined && !isLater(token, other);
    this.#kept.setSoon(token.digest, isSecond ? { ...token, revoked: true } : token);
    if (other && !isSecond) this.#end(other);
  }

  /** Lets go of what is good for nothing. @returns whether one more may be kept */
  #makeRoom(): boolean {
    const { most } = this.#options.settings;
    this.#forgetExpired();
    this.#forgetRevoked(most - 1);
    return this.#kept.size < most;
  }

  /** One is good for nothing any more, because of another node. */
  #end(token: KeptToken): void {
    this.#kept.setSoon(token.digest, { ...token, revoked: true });
    this.#tellRevoked(token);
  }

  #forgetExpired(): void {
    const now = this.#options.clock.now();
    for (const token of this.#kept.values()) if (token.expires <= now) this.#forget(token);
  }

  /** Lets the oldest revoked ones go, so that no more than so many tokens stay. */
  #forgetRevoked(most: number): void {
    for (const token of this.#kept.values()) {
      if (this.#kept.size <= most) return;
      if (token.revoked) this.#forget(token);
    }
  }

  #forget(token: KeptToken): void {
    this.#kept.deleteSoon(token.digest);
    this.#shared?.forget(token);
  }
}

/** The same of two wins at every node. */
const isLater = (one: KeptToken, other: KeptToken): boolean =>
  one.created === other.created ? one.digest > other.digest : one.created > other.created;
