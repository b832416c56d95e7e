import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { LogInSession, Ticket } from '../models/log-in-session.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { HttpUser } from './user.ts';

/** Settings of log-ins by pages; names and units as in the configuration's `http.sessions`. */
export type SessionSettings = {
  /** How long a token is good, in s. */
  lifetime: number;
  /** Tokens at the same time. */
  most: number;
  /** How long a ticket is good, in s. */
  ticket_lifetime: number;
};

/** The requesting user. */
export type Requester = {
  user: HttpUser;
  /** The token that the request came with, when it came with one. */
  token: string | undefined;
  /** The application whose WebSocket the request came over. */
  application?: string;
  /** Address of its sender, where it came over a socket of its own. */
  address?: string | undefined;
  /** If-Match of a PATCH (RFC 9110 13.1.1). */
  ifMatch?: string;
};

/**
 * Log-ins of pages. A user that gives its password gets a token that replaces it until it expires. Only digests of tokens
 * are kept, in memory.
 */
export interface Sessions {
  /** Makes a token. With as many as there may be, the oldest goes. */
  open(requester: Requester): LogInSession;
  /** Ends the token that the request came with; without one nothing happens. */
  close(requester: Requester): void;
  /** The user of a token; undefined for an unknown or expired one. */
  find(token: string): HttpUser | undefined;
  /** The log-in of a token, as it was told when it was opened; undefined for an unknown or expired one. */
  describe(token: string): LogInSession | undefined;
  /** Makes what stands for a user once, where a browser can send no header: in the address of a WebSocket. */
  ticket(requester: Requester): Ticket;
  /** Whose ticket it is, which is used up with that; undefined for one that is not good. */
  redeem(ticket: string): HttpUser | undefined;
  /** Log-ins of users that are let in no longer end. */
  review(still: (user: HttpUser) => boolean): void;
  /** Tokens that are good, for tests and counts. */
  readonly size: number;
}

type Held = { user: HttpUser; expiresAt: number };

/** Waiting tickets; a page requests one directly before its use. */
const mostTickets = 1_000;

const digest = (secret: string): string => createHash('sha256').update(secret).digest('base64');

/** Entries with a lifetime, found by the digest of their secret; a new one replaces the oldest. */
class Vault {
  readonly #held = new Map<string, Held>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(secret: string, held: Held, most: number): void {
    const now = this.#clock.now();
    for (const [key, { expiresAt }] of this.#held) if (expiresAt <= now) this.#held.delete(key);
    for (const key of this.#held.keys()) {
      if (this.#held.size < most) break;
      this.#held.delete(key);
    }
    this.#held.set(digest(secret), held);
  }

  held(secret: string): Held | undefined {
    const held = this.#held.get(digest(secret));
    return held && held.expiresAt > this.#clock.now() ? held : undefined;
  }

  get(secret: string): HttpUser | undefined {
    return this.held(secret)?.user;
  }

  remove(secret: string): void {
    this.#held.delete(digest(secret));
  }

  keep(still: (user: HttpUser) => boolean): void {
    for (const [key, { user }] of this.#held) if (!still(user)) this.#held.delete(key);
  }

  get size(): number {
    const now = this.#clock.now();
    return [...this.#held.values()].filter(({ expiresAt }) => expiresAt > now).length;
  }
}

const written = (token: string, { user, expiresAt }: Held): LogInSession => ({
  ...{ token, user: user.name, read_only: user.read_only, expires: formatTimestamp(expiresAt) },
});

/** @param secret creates random secrets. */
export function createSessions(settings: SessionSettings, clock: Clock, secret: () => string): Sessions {
  const tokens = new Vault(clock);
  const tickets = new Vault(clock);
  const until = (seconds: number): number => clock.now() + seconds * 1000;
  return {
    open({ user }) {
      const token = secret();
      const expiresAt = Math.min(until(settings.lifetime), user.token?.expiresAt ?? Number.POSITIVE_INFINITY);
      tokens.put(token, { user, expiresAt }, settings.most);
      return written(token, { user, expiresAt });
    },
    close({ token }) {
      if (token !== undefined) tokens.remove(token);
    },
    find: (token) => tokens.get(token),
    describe(token) {
      const held = tokens.held(token);
      return held && written(token, held);
    },
    ticket({ user }) {
      const ticket = secret();
      const expiresAt = until(settings.ticket_lifetime);
      tickets.put(ticket, { user, expiresAt }, mostTickets);
      return { ticket, expires: formatTimestamp(expiresAt) };
    },
    redeem(ticket) {
      const user = tickets.get(ticket);
      tickets.remove(ticket);
      return user;
    },
    review(still) {
      tokens.keep(still);
      tickets.keep(still);
    },
    get size() {
      return tokens.size;
    },
  };
}
