import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { WebSocket } from 'ws';
import type { NarrowOf, OpenSocket, OutboundTarget, SocketReports } from '../actors/outbound-connection-entry.ts';
import type { Narrow } from '../bus/delivery.ts';
import { shownUrl } from '../lib/shown-url.ts';
import type { TlsKeys } from '../lib/tls.ts';
import { accessOf } from './access/access.ts';
import { narrowOf } from './access/visibility.ts';
import { createSession, type SessionDeps } from './events-session.ts';
import { createMessageWriters } from './message-writer.ts';
import { closeWithToken, notLetIn } from './token-end.ts';
import { hasForeignName, holderOf } from './token-operations.ts';
import type { HttpUser } from './user.ts';

/** WebSockets that this system opens to applications. */
export interface OutboundSockets {
  /**
   * Requests over the socket have the rights of the target's local user, or of the token of its; without such a user, or
   * when the token is not good, it cannot be opened.
   */
  open: OpenSocket;
  /** Event filter of a user's application, by its present rights. */
  narrowOf: NarrowOf;
  /** Users or tokens have changed: closes sockets whose rights have changed (1008). They may be opened again. */
  review(): void;
  /** Sends 1001 to every socket and closes those that do not answer within `graceMs`; resolves when all are closed. */
  close(graceMs: number): Promise<void>;
}

/** Longest that a socket told to close may take, in ms. */
const closeTimeoutMs = 5_000;

function headersOf({ username, password, token }: OutboundTarget): Record<string, string> {
  if (token !== undefined) return { Authorization: `Bearer ${token}` };
  return username === '' ? {} : { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/** Filter of an application without a valid user: only its own events pass. */
const hearsNothing: Narrow = { by: 'nobody', hears: () => false };

/** The user of a program, or why there is none. */
const createHolder =
  ({ options, tokens }: Pick<SessionDeps, 'options' | 'tokens'>) =>
  ({ localUser, localToken }: Pick<OutboundTarget, 'localUser' | 'localToken'>): HttpUser | string => {
    const user = options.users.find(({ name }) => name === localUser);
    if (!user) return `there is no user ${localUser}`;
    if (localToken === undefined) return user;
    const token = tokens?.find(localToken);
    return token?.user === localUser && !hasForeignName(token, options.users)
      ? holderOf(user, token)
      : `its local_token is not good, or not of ${localUser}`;
  };

const dial = (target: OutboundTarget, tls: Pick<TlsKeys, 'client'>, maxPayload: number): WebSocket =>
  new WebSocket(target.url, [...target.protocols], {
    headers: { ...target.headers, ...headersOf(target) },
    // A server without the certificate for the URL gets no data (RFC 6455 4.1, RFC 9110 4.3.4).
    ...tls.client,
    rejectUnauthorized: true,
    maxPayload,
    followRedirects: false,
    perMessageDeflate: false,
  });

const sessionOptions = (
  names: readonly string[],
  localUser: HttpUser,
  socket: Socket,
  told: SocketReports,
): Parameters<typeof createSession>[2] => ({
  names: [...names],
  subscribeAll: false,
  observes: false,
  authorization: '',
  localUser,
  socket,
  // They are registered whether or not the socket is there; it only has to know where events go.
  connect: ({ send }) => {
    told.opened(send);
    return { close: () => told.closed() };
  },
  opened: () => false,
});

type OutboundDeps = SessionDeps & {
  tls: Pick<TlsKeys, 'client'>;
  /** Hears of every socket that was opened. */
  hear?: ((socket: Socket, applications: readonly string[]) => void) | undefined;
};

/** Opens WebSockets to applications. They work as those that applications open. */
export function createOutboundSockets(deps: OutboundDeps): OutboundSockets {
  const { options, clock, log, tls, owners, tokens, hear } = deps;
  const holder = createHolder(deps);
  const writers = createMessageWriters(clock, deps.changes?.leave);
  const open = new Map<WebSocket, Promise<void>>();
  /** Targets and users of the open sockets. */
  const held = new Map<WebSocket, { target: OutboundTarget; user: HttpUser }>();

  const review = (): void => {
    for (const [raw, { target, user }] of held) if (!isDeepStrictEqual(holder(target), user)) raw.close(1008, notLetIn);
  };
  tokens?.onRevoked(review);

  const run = (raw: WebSocket, target: OutboundTarget, names: readonly string[], told: SocketReports): void => {
    const localUser = holder(target);
    const isHeld = typeof localUser !== 'string';
    const foreign = isHeld ? names.find((name) => accessOf(localUser).scope?.application(name) === false) : undefined;
    let upgraded: IncomingMessage | undefined;
    let failure = 'the connection was closed';
    let session: ReturnType<typeof createSession> | undefined;
    raw.once('upgrade', (response) => {
      upgraded = response;
      // A server that picks no sub-protocol is still accepted, as in Asterisk; `ws` would fail.
      response.headers['sec-websocket-protocol'] ??= target.protocols[0];
    });
    raw.on('error', ({ message }) => {
      failure = message;
    });
    raw.once('open', () => {
      // Rights may have changed while it was opened.
      if (!upgraded || !isHeld || foreign !== undefined || !isDeepStrictEqual(holder(target), localUser))
        return raw.terminate();
      const { socket } = upgraded;
      hear?.(socket, names);
      held.set(raw, { target, user: localUser });
      const stopWaiting = closeWithToken({ raw, user: localUser }, clock);
      raw.once('close', () => {
        held.delete(raw);
        stopWaiting();
      });
      session = createSession(deps, writers.ofClient, sessionOptions(names, localUser, socket, told));
      session.onOpen(undefined, { raw } as never);
    });
    raw.on('message', (data, isBinary) => {
      if (!isBinary) session?.onMessage({ data: String(data) });
    });
    raw.once('close', () => {
      if (session) session.onClose();
      else if (foreign !== undefined) told.failed(`the scope of ${target.localUser} does not cover ${foreign}`);
      else told.failed(isHeld ? failure : localUser);
    });
  };

  /** A peer that does not take part in closing is cut off. */
  const end = (raw: WebSocket, code: number, reason: string, graceMs: number): void => {
    if (raw.readyState === WebSocket.CONNECTING) {
      raw.terminate();
      return;
    }
    raw.close(code, reason);
    const timer = clock.setTimeout(() => raw.terminate(), graceMs);
    void open.get(raw)?.then(() => clock.clearTimeout(timer));
  };

  return {
    narrowOf(target) {
      const user = holder(target);
      return typeof user === 'string' ? hearsNothing : narrowOf(user, owners);
    },
    review,

    open(target, names, told) {
      let raw: WebSocket;
      try {
        raw = dial(target, tls, options.limits.websocket_message);
      } catch (error) {
        // An invalid URL or protocol: known directly, reported later like other failures.
        clock.soon(() => told.failed((error as Error).message));
        return { close: () => {} };
      }
      log.debug({ url: shownUrl(target.url), applications: names }, 'connecting to applications');
      const closed = new Promise<void>((resolve) => raw.once('close', () => resolve()));
      open.set(raw, closed);
      void closed.then(() => open.delete(raw));
      run(raw, target, names, told);
      return { close: (code, reason) => end(raw, code, reason, closeTimeoutMs) };
    },

    async close(graceMs) {
      const all = [...open];
      for (const [raw] of all) end(raw, 1001, 'the server is shutting down', graceMs);
      await Promise.all(all.map(([, closed]) => closed));
    },
  };
}
