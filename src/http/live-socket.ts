import type { Context } from 'hono';
import type { WSContext } from 'hono/ws';
import type { WebSocket } from 'ws';
import { sourceNetwork } from '../lib/addresses.ts';
import { AriError } from '../models/errors.ts';
import type { LiveScope } from '../recorder/live.ts';
import type { Guard } from './access/guard.ts';
import type { Visibility } from './access/visibility.ts';
import type { Owners } from './deps.ts';
import type { AppDeps, Env } from './env.ts';
import type { EventsSocket, SocketStart } from './events-socket.ts';
import { createParamReader, type Sources } from './parameters.ts';
import type { Responder } from './responses.ts';
import { liveParams } from './routes/live.ts';
import type { Unread, WatchedOutput } from './unread.ts';
import type { HttpUser } from './user.ts';

type LiveSocketDeps = Pick<AppDeps, 'log'> & {
  live: Owners['live'];
  /** The user's visibility; undefined: everything. */
  visibilityOf(user: HttpUser): Visibility | undefined;
  /** Refuses what the user's scope does not cover. @throws AriError. */
  guard: Guard;
  sockets: Pick<EventsSocket, 'become'>;
  responder: Responder;
  unread: Unread;
};

/** A subscriber, its topics and its visibility. */
type Watching = { scope: LiveScope; visibility: Visibility | undefined; user: HttpUser | undefined };

const readParams = createParamReader(liveParams);

/** Reads the topics of a client. */
function readScope(params: Record<string, unknown>): LiveScope {
  const { call, app } = params as { call?: string; app?: string };
  if (call !== undefined) return { kind: 'call', id: call };
  return app === undefined ? { kind: 'overview' } : { kind: 'application', name: app };
}

/** Makes what answers `GET /hookswitch/live`: refuses, or lets the connection become a WebSocket. */
export function createLiveSocket({ live, visibilityOf, guard, sockets, responder, unread, log }: LiveSocketDeps) {
  const session = ({ scope, visibility, user }: Watching, { socket, opened }: SocketStart) => {
    const client = `${socket.remoteAddress}:${socket.remotePort}`;
    let output: WatchedOutput | undefined;
    let unwatch = (): void => {};
    let ended = (): void => {};
    const watch = (raw: WebSocket): WatchedOutput =>
      unread.watch({
        address: sourceNetwork(socket.remoteAddress ?? ''),
        unread: () => raw.bufferedAmount,
        cut: (excess, bytes) => {
          log.warn({ client, bytes, excess }, 'disconnected a live-view client that does not read');
          raw.terminate();
          unwatch();
        },
      });
    return {
      onOpen(_event: unknown, { raw }: WSContext<WebSocket>) {
        if (!raw) return;
        raw.on('error', (error) => log.debug({ error, client }, 'WebSocket error'));
        const closed = new Promise<void>((resolve) => {
          ended = resolve;
        });
        if (opened({ raw, closed, user })) return raw.close(1001, 'the server is shutting down');
        const watched = watch(raw);
        output = watched;
        const send = (json: string): void => {
          if (raw.readyState !== raw.OPEN) return;
          raw.send(json);
          watched.wrote();
        };
        try {
          unwatch = live.watch(scope, send, visibility);
        } catch (error) {
          raw.close(1008, error instanceof AriError ? error.message.slice(0, 120) : 'nothing to watch');
        }
      },
      onMessage() {},
      onClose() {
        output?.remove();
        unwatch();
        ended();
      },
    };
  };

  return (c: Context<Env>, sources: Sources, user: HttpUser | undefined): Response | Promise<Response> => {
    const { raw } = c.req;
    if (raw.method === 'OPTIONS') return responder.options(raw, 'OPTIONS', user !== undefined);
    if (raw.method !== 'GET') return responder.refusal(raw, new AriError('methodInvalid'), { Allow: 'OPTIONS' });
    const params = readParams({}, sources);
    const scope = readScope(params);
    if (user) guard.perform({ user, token: undefined }, params, () => live.require(scope));
    const visibility = user && visibilityOf(user);
    return sockets.become(c, (start) => session({ scope, visibility, user }, start));
  };
}
