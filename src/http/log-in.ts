import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { AriError } from '../models/errors.ts';
import type { KeptToken } from '../models/token.ts';
import type { Bans } from '../stores/bans.ts';
import type { Tokens } from '../stores/tokens.ts';
import { accessOf } from './access/access.ts';
import {
  apiKeyCredentials,
  apiKeyOf,
  basicCredentials,
  bearerToken,
  type Client,
  type Credentials,
  createAuthenticator,
} from './auth.ts';
import type { Sources } from './parameters.ts';
import { createPasswordQueue } from './password-queue.ts';
import type { Sessions } from './sessions.ts';
import { holderOf } from './token-operations.ts';
import type { HttpUser } from './user.ts';

type LogInDeps = {
  users: readonly HttpUser[];
  /** Counts wrong log-ins; without it none are. */
  bans: Pick<Bans, 'failed' | 'verdict'> | undefined;
  /** Passwords that may wait to be checked against a hash. */
  passwordQueue: number;
  /** Tokens and tickets of those who have logged in before. */
  sessions: Pick<Sessions, 'find' | 'redeem'>;
  /** What stands for users in place of their passwords; nothing does where it is left out. */
  tokens: Pick<Tokens, 'find'> | undefined;
  clock: Clock;
  /** Tells the log who came from where it may not. */
  turnedAway(told: { user: string; address: string }): void;
};

/**
 * Whom a request comes from: `nobody` when it does not say. Throws or rejects with AriError: 401 for wrong credentials,
 * late or after its connection was cut where many were wrong before; 403 where the user may not come from there, whatever
 * the password; 503 when too many passwords wait to be checked.
 * `incoming` is undefined for a request that came over no connection of its own.
 */
export type LogIn = (
  request: Request,
  sources: Sources,
  incoming: IncomingMessage | undefined,
) => HttpUser | 'nobody' | Promise<HttpUser>;

const inside: Client = { address: '', gone: () => false };

/**
 * Makes the check of who asks. A well-formed Basic header is the only credentials looked at; without one the api_key
 * is. A token of `tokens` does in place of the password, or as Bearer. A token or ticket of a log-in stands for its user; one that is not good counts against nobody, because nobody
 * guesses it. What was verified before is neither checked nor slowed again, whatever comes from the same address.
 * @throws Error for a user whose password hash cannot be read.
 */
export function createLogIn({ users, bans, passwordQueue, sessions, tokens, clock, turnedAway }: LogInDeps): LogIn {
  const authenticator = createAuthenticator(users, createPasswordQueue(passwordQueue));
  const byName = new Map(users.map((user) => [user.name, user]));

  const holders = new WeakMap<KeptToken, HttpUser>();
  /** Whom a token stands for, of the user of that name if one is given; the same object for the same token. */
  const holder = (secret: string, name?: string): HttpUser | undefined => {
    const token = tokens?.find(secret);
    const user = token && (name === undefined || name === token.user) ? byName.get(token.user) : undefined;
    if (!token || !user) return undefined;
    const known = holders.get(token) ?? holderOf(user, token);
    holders.set(token, known);
    return known;
  };

  /** @throws AriError addressDenied. What came over no connection of its own was let in with the one that it came over. */
  const admitFrom = <U extends HttpUser | undefined>(user: U, incoming: IncomingMessage | undefined): U => {
    if (!user || !incoming || !(user.allowed_addresses || user.denied_addresses)) return user;
    const { address } = clientOf(incoming);
    if (accessOf(user).mayCome(address)) return user;
    turnedAway({ user: user.name, address });
    throw new AriError('addressDenied', { user: user.name });
  };

  /** Resolves after so many ms, or when the connection closes. */
  const after = (ms: number, { socket }: IncomingMessage): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        clock.clearTimeout(timer);
        socket.off('close', done);
        resolve();
      };
      const timer = clock.setTimeout(done, ms);
      socket.once('close', done);
    });
  const refuse = (name: string, incoming: IncomingMessage | undefined, client: Client): never | Promise<never> => {
    const refused = new AriError('authenticationRequired');
    if (!incoming || !bans || client.gone()) throw refused;
    const verdict = bans.failed(client.address, name, 'http');
    if (verdict.action === 'ignore') incoming.socket.destroy();
    if (verdict.action !== 'delay') throw refused;
    return after(verdict.ms, incoming).then(() => {
      throw refused;
    });
  };
  const verify = (
    credentials: Credentials,
    carrier: string,
    incoming: IncomingMessage | undefined,
  ): HttpUser | Promise<HttpUser> => {
    const known = authenticator.recall(carrier);
    if (known) return admitFrom(known, incoming);
    // Tokens cannot be guessed, so log-ins with one are neither delayed nor counted.
    const bearer = holder(credentials.password, credentials.name);
    if (bearer) return admitFrom(bearer, incoming);
    const client = incoming ? clientOf(incoming) : inside;
    if (incoming && bans?.verdict(client.address).action === 'ignore') {
      incoming.socket.destroy();
      throw new AriError('authenticationRequired');
    }
    // Before the password is looked at, so that nobody learns there whether it is right.
    admitFrom(byName.get(credentials.name), incoming);
    const user = authenticator.verify(credentials, carrier, client);
    if (user instanceof Promise) return user.then((found) => found ?? refuse(credentials.name, incoming, client));
    return user ?? refuse(credentials.name, incoming, client);
  };

  return (request, sources, incoming) => {
    const header = request.headers.get('authorization');
    const known = header === null ? undefined : authenticator.recall(header);
    if (known) return admitFrom(known, incoming);
    const token = bearerToken(header);
    const session = token === undefined ? undefined : (sessions.find(token) ?? holder(token));
    if (session) return admitFrom(session, incoming);
    const basic = basicCredentials(header);
    if (basic && header) return verify(basic, header, incoming);
    const ticket = ticketOf(request, sources);
    const guest = ticket === undefined ? undefined : sessions.redeem(ticket);
    if (guest) return admitFrom(guest, incoming);
    const key = apiKeyOf(sources);
    const credentials = apiKeyCredentials(key);
    return credentials && key !== undefined ? verify(credentials, key, incoming) : 'nobody';
  };
}

/** The ticket of a WebSocket that is being opened. */
const ticketOf = (request: Request, { query }: Sources): string | undefined =>
  request.headers.has('upgrade') ? query?.get('ticket') : undefined;

function clientOf({ socket }: IncomingMessage): Client {
  return { address: socket.remoteAddress ?? '', gone: () => socket.destroyed };
}
