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
import { hasForeignName, holderOf } from './token-operations.ts';
import type { HttpUser } from './user.ts';

type LogInDeps = {
  users: readonly HttpUser[];
  /** Counts wrong log-ins; without it none are. */
  bans: Pick<Bans, 'failed' | 'check'> | undefined;
  /** Passwords that may wait to be checked against a hash. */
  passwordQueue: number;
  /** Log-in tokens and tickets. */
  sessions: Pick<Sessions, 'find' | 'redeem'>;
  /** Tokens of users; left out: none. */
  tokens: Pick<Tokens, 'find'> | undefined;
  clock: Clock;
  /** Tells the log who came from where it may not. */
  turnedAway(told: { user: string; address: string }): void;
};

/**
 * The user of a request; `nobody` without credentials. Throws or rejects with AriError. 401 for wrong credentials:
 * delayed after many wrong ones, even past the end of the connection. 403 if the user may not come from there, with any
 * password. 503 if too many passwords wait. `incoming` is undefined for a request without connection of its own.
 */
export type LogIn = (
  request: Request,
  sources: Sources,
  incoming: IncomingMessage | undefined,
) => HttpUser | 'nobody' | Promise<HttpUser>;

const inside: Client = { address: '', gone: () => false };

/**
 * Creates the authentication. A well-formed Basic header wins over the api_key. A token of `tokens` is accepted as
 * password or as Bearer. Tokens and tickets of log-ins stand for their user; invalid ones are not counted, because
 * nobody can guess them. Verified credentials are neither checked nor delayed again.
 * @throws Error for an unreadable password hash.
 */
export function createLogIn({ users, bans, passwordQueue, sessions, tokens, clock, turnedAway }: LogInDeps): LogIn {
  const authenticator = createAuthenticator(users, createPasswordQueue(passwordQueue));
  const byName = new Map(users.map((user) => [user.name, user]));

  const holders = new WeakMap<KeptToken, HttpUser>();
  /** The user of a token, optionally of that name; the same object for the same token. */
  const holder = (secret: string, name?: string): HttpUser | undefined => {
    const token = tokens?.find(secret);
    const user = token && (name === undefined || name === token.user) ? byName.get(token.user) : undefined;
    if (!token || !user) return undefined;
    const known = holders.get(token);
    if (known || hasForeignName(token, users)) return known;
    const made = holderOf(user, token);
    holders.set(token, made);
    return made;
  };

  /** @throws AriError addressDenied. Requests without connection of their own were admitted with their carrier. */
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
    const decision = bans.failed(client.address, name, 'http');
    if (decision.action === 'ignore') incoming.socket.destroy();
    if (decision.action !== 'delay') throw refused;
    return after(decision.ms, incoming).then(() => {
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
    if (incoming && bans?.check(client.address).action === 'ignore') {
      incoming.socket.destroy();
      throw new AriError('authenticationRequired');
    }
    // Before the password check, so that the answer does not reveal whether it is right.
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
    if (guest instanceof Promise)
      return guest.then((found) => {
        if (!found) throw new AriError('authenticationRequired');
        return admitFrom(found, incoming);
      });
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
