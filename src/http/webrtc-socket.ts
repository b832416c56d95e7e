import type { Context } from 'hono';
import type { WSContext } from 'hono/ws';
import type { WebSocket } from 'ws';
import { sourceNetwork } from '../lib/addresses.ts';
import { AriError } from '../models/errors.ts';
import type { WebrtcNews } from '../models/webrtc.ts';
import type { Guard } from './access/guard.ts';
import type { Owners } from './deps.ts';
import type { AppDeps, Env } from './env.ts';
import type { EventsSocket, SocketStart } from './events-socket.ts';
import type { Sources } from './parameters.ts';
import type { Responder } from './responses.ts';
import type { Unread } from './unread.ts';
import type { HttpUser } from './user.ts';

type WebrtcSocketDeps = Pick<AppDeps, 'log'> & {
  calls: Owners['webrtc'];
  sockets: Pick<EventsSocket, 'become'>;
  responder: Responder;
  unread: Unread;
  /** Refuses what the user's scope does not cover. */
  guard: Guard;
};

/** Makes what answers `GET /hookswitch/webrtc/calls`: refuses, or lets the connection become a WebSocket. */
export function createWebrtcSocket({ calls, sockets, responder, unread, log, guard }: WebrtcSocketDeps) {
  const session = (user: HttpUser, { socket, opened }: SocketStart) => {
    const browser = { user };
    let end = (): void => {};
    return {
      onOpen(_event: unknown, { raw }: WSContext<WebSocket>) {
        if (!raw) return;
        raw.on('error', (error) => log.debug({ error, user: user.name }, 'WebSocket error'));
        let ended = (): void => {};
        const closed = new Promise<void>((resolve) => {
          ended = resolve;
        });
        if (opened({ raw, closed, user })) return raw.close(1001, 'the server is shutting down');
        const output = unread.watch({
          address: sourceNetwork(socket.remoteAddress ?? ''),
          unread: () => raw.bufferedAmount,
          cut: (excess, bytes) => {
            log.warn(
              { user: user.name, bytes, excess },
              'disconnected a browser that waits for calls and does not read',
            );
            raw.terminate();
          },
        });
        const send = (news: WebrtcNews): void => {
          if (raw.readyState !== raw.OPEN) return;
          raw.send(JSON.stringify(news));
          output.wrote();
        };
        send({ type: 'listening', name: calls.terms(browser).name });
        const stop = calls.listen(browser, send);
        end = () => {
          stop();
          output.remove();
          ended();
        };
      },
      onMessage() {},
      onClose: () => end(),
    };
  };

  return (c: Context<Env>, _sources: Sources, user: HttpUser | undefined): Response | Promise<Response> => {
    const { raw } = c.req;
    if (raw.method === 'OPTIONS' || !user) return responder.options(raw, 'OPTIONS', user !== undefined);
    if (raw.method !== 'GET') return responder.refusal(raw, new AriError('methodInvalid'), { Allow: 'OPTIONS' });
    guard.perform({ user, token: undefined }, {}, () => undefined);
    return sockets.become(c, (start) => session(user, start));
  };
}
