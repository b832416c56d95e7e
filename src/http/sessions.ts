import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { isKeptLogIn, type KeptLogIn, type LogInSession, type Ticket } from '../models/log-in-session.ts';
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
 * are kept, in memory. In a cluster they are good at all nodes where the user is configured alike.
 */
export interface Sessions {
  /**
   * Makes a token. With as many as there may be, the oldest goes. It resolves when all nodes that answer know it, and never
   * rejects.
   */
  open(requester: Requester): Promise<LogInSession>;
  /** Ends the token that the request came with; without one nothing happens. It resolves as {@link open} does. */
  close(requester: Requester): Promise<void>;
  /** The user of a token; undefined for an unknown or expired one. */
  find(token: string): HttpUser | undefined;
  /** The log-in of a token, as it was told when it was opened; undefined for an unknown or expired one. */
  describe(token: string): LogInSession | undefined;
  /** Makes what stands for a user once, where a browser can send no header: in the address of a WebSocket. */
  ticket(requester: Requester): Ticket;
  /**
   * Whose ticket it is, which is used up with that; undefined for one that is not good. The node that made it is asked. A
   * promise never rejects.
   */
  redeem(ticket: string): HttpUser | undefined | Promise<HttpUser | undefined>;
  /** Log-ins of users that are let in no longer end. */
  review(still: (user: HttpUser) => boolean): void;
  /** Shares log-ins and tickets with the other nodes of a cluster. */
  share(shared: SharedLogIns): LogInsHere;
  /** Tokens that are good, for tests and counts. */
  readonly size: number;
}

/** The log-ins of other nodes. */
type SharedLogIns = {
  /** Begins the tickets of this node. */
  mark: string;
  /** One was opened or ended here. It resolves when the nodes that answer know it, and never rejects. */
  tell(logIn: KeptLogIn): Promise<void>;
  /** One is over by itself: it is told no more. */
  forget(digest: string): void;
  /** Has the node that made a ticket use it up; undefined if there is no such node. It may reject. */
  redeem(ticket: string, digest: string): Promise<unknown> | undefined;
};

/** The log-ins of this node, for the others. */
export type LogInsHere = {
  /** Takes one that was opened or ended at another node. */
  adopt(logIn: unknown): void;
  /** Uses up a ticket that was made here; undefined for one that is not good. */
  redeem(digest: string): KeptLogIn | undefined;
};

/** `as`: its user, when the proof was checked. */
type Held = KeptLogIn & { as?: HttpUser };

/** Waiting tickets; a page requests one directly before its use. */
const mostTickets = 1_000;

/** Tickets that other nodes are asked about at the same time. Anybody can make a node ask. */
const mostAsked = 100;

const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64');

/** The same text for the same value, in whatever order its members are. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );

const proofOf = (secret: string, user: HttpUser): string =>
  createHmac('sha256', secret).update(textOf(user)).digest('base64');

const keptOf = ({ as: _user, ...kept }: Held): KeptLogIn => kept;

/** Entries with a lifetime, found by the digest of their secret. */
class Vault {
  readonly #held = new Map<string, Held>();
  readonly #clock: Clock;
  readonly #dropped: (digest: string) => void;

  /** @param dropped hears of each that is over by itself */
  constructor(clock: Clock, dropped: (digest: string) => void = () => {}) {
    this.#clock = clock;
    this.#dropped = dropped;
  }

  /** Of good ones, and of ended ones, so many stay: the oldest go. @param isNew it stays in any case */
  put(held: Held, most: number, isNew: boolean): void {
    const now = this.#clock.now();
    this.#held.set(held.digest, held);
    for (const [digest, { expires }] of this.#held) if (expires <= now) this.#drop(digest);
    const alike = [...this.#held.values()].filter(({ ended }) => ended === held.ended);
    const excess = alike.length - most;
    if (excess <= 0) return;
    const old = isNew ? alike.filter((each) => each !== held) : alike;
    old.sort((one, other) => one.opened - other.opened);
    for (const { digest } of old.slice(0, excess)) this.#drop(digest);
  }

  /** One that is good, or was ended. */
  known(digest: string): Held | undefined {
    const held = this.#held.get(digest);
    return held && held.expires > this.#clock.now() ? held : undefined;
  }

  get(digest: string): Held | undefined {
    const held = this.known(digest);
    return held?.ended ? undefined : held;
  }

  remove(digest: string): void {
    this.#held.delete(digest);
  }

  list(): Held[] {
    return [...this.#held.keys()].flatMap((digest) => this.get(digest) ?? []);
  }

  #drop(digest: string): void {
    this.#held.delete(digest);
    this.#dropped(digest);
  }
}

type SessionsOptions = {
  clock: Clock;
  /** Creates random secrets. */
  secret(): string;
  /** A user as it is configured now, limited to a token if a digest is given; undefined if there is none. */
  known(name: string, token?: string): HttpUser | undefined;
};

export function createSessions(settings: SessionSettings, { clock, secret, known }: SessionsOptions): Sessions {
  const logIns = new Vault(clock, (digest) => shared?.forget(digest));
  const tickets = new Vault(clock);
  let shared: SharedLogIns | undefined;
  let asked = 0;

  const made = (user: HttpUser, text: string, lifetime: number): Held => ({
    ...{ digest: digestOf(text), user: user.name, ...(user.token && { token: user.token.digest }) },
    ...{ proof: proofOf(text, user), opened: clock.now(), as: user },
    expires: Math.min(clock.now() + lifetime * 1000, user.token?.expiresAt ?? Number.POSITIVE_INFINITY),
  });

  /** Of another node: only if the user is configured here as it is there. */
  const userOf = (held: Held | undefined, text: string): HttpUser | undefined => {
    if (!held || held.as) return held?.as;
    const user = known(held.user, held.token);
    if (user && proofOf(text, user) === held.proof) held.as = user;
    return held.as;
  };

  const end = async (held: Held): Promise<void> => {
    if (!shared) return logIns.remove(held.digest);
    const ended = { ...keptOf(held), ended: true };
    logIns.put(ended, settings.most, true);
    await shared.tell(ended);
  };

  const take = (digest: string): Held | undefined => {
    const held = tickets.get(digest);
    tickets.remove(digest);
    return held;
  };

  const describe = (token: string): LogInSession | undefined => {
    const held = logIns.get(digestOf(token));
    const user = userOf(held, token);
    return held && user && written(token, user, held);
  };

  return {
    async open({ user }) {
      const token = secret();
      const held = made(user, token, settings.lifetime);
      logIns.put(held, settings.most, true);
      await shared?.tell(keptOf(held));
      return written(token, user, held);
    },
    async close({ token }) {
      const held = token === undefined ? undefined : logIns.get(digestOf(token));
      if (held) await end(held);
    },
    find: (token) => userOf(logIns.get(digestOf(token)), token),
    describe,
    ticket({ user }) {
      const ticket = (shared?.mark ?? '') + secret();
      const held = made(user, ticket, settings.ticket_lifetime);
      tickets.put(held, mostTickets, true);
      return { ticket, expires: formatTimestamp(held.expires) };
    },
    redeem(ticket) {
      const digest = digestOf(ticket);
      const own = take(digest);
      if (own) return userOf(own, ticket);
      const answered = asked < mostAsked ? shared?.redeem(ticket, digest) : undefined;
      if (!answered) return undefined;
      asked++;
      return answered
        .then((held) => (isKeptLogIn(held) ? userOf(held, ticket) : undefined))
        .catch(() => undefined)
        .finally(() => asked--);
    },
    review(still) {
      for (const held of logIns.list()) if (held.as && !still(held.as)) void end(held);
      for (const held of tickets.list()) if (held.as && !still(held.as)) tickets.remove(held.digest);
    },
    share(given) {
      shared = given;
      return {
        adopt(logIn) {
          if (!isKeptLogIn(logIn)) return;
          if (logIn.expires <= clock.now()) return given.forget(logIn.digest);
          // What was ended stays so.
          const before = logIns.known(logIn.digest);
          if (!before || (logIn.ended && !before.ended)) logIns.put({ ...logIn }, settings.most, false);
        },
        redeem(digest) {
          const held = take(digest);
          return held && keptOf(held);
        },
      };
    },
    get size() {
      return logIns.list().length;
    },
  };
}

const written = (token: string, user: HttpUser, { expires }: KeptLogIn): LogInSession => ({
  ...{ token, user: user.name, read_only: user.read_only, expires: formatTimestamp(expires) },
});
