import type { Context } from 'hono';
import type { WSContext } from 'hono/ws';
import type { WebSocket } from 'ws';
import { AriError } from '../models/errors.ts';
import type { Listened } from '../models/live.ts';
import type { Guard } from './access/guard.ts';
import type { Owners } from './deps.ts';
import type { AppDeps, Env } from './env.ts';
import type { EventsSocket, SocketStart } from './events-socket.ts';
import type { Sources } from './parameters.ts';
import type { Responder } from './responses.ts';
import type { HttpUser } from './user.ts';

type ListenSocketDeps = Pick<AppDeps, 'log'> & {
  listening: Owners['listening'];
  sockets: Pick<EventsSocket, 'become'>;
  responder: Responder;
  /** Refuses channels that the user's scope does not cover. */
  guard: Guard;
};

/** Longest reason of a close frame, in octets (RFC 6455 5.5.1), with a margin for non-ASCII text. */
const longestReason = 60;

/** Makes what answers `GET /hookswitch/channels/{channelId}/listen`: refuses, or lets the connection become a WebSocket. */
export function createListenSocket({ listening, sockets, responder, log, guard }: ListenSocketDeps) {
  const session = (channelId: string, user: HttpUser, { opened }: SocketStart) => {
    let stop = (): void => {};
    let ended = (): void => {};
    return {
      onOpen(_event: unknown, { raw }: WSContext<WebSocket>) {
        if (!raw) return;
        raw.on('error', (error) => log.debug({ error, user: user.name }, 'WebSocket error'));
        const closed = new Promise<void>((resolve) => {
          ended = resolve;
        });
        if (opened({ raw, closed, user })) return raw.close(1001, 'the server is shutting down');
        const begun: Listened = { type: 'listening', channel: channelId, sample_rate: 8000, bits: 16 };
        raw.send(JSON.stringify(begun));
        try {
          stop = listening.begin(channelId, user, {
            audio(samples, taken) {
              // The source skips pieces until `taken` is called, so the queue is bounded.
              if (raw.readyState === raw.OPEN) raw.send(samples, () => taken());
            },
            ended: (reason) => raw.close(1000, reason),
          });
        } catch (error) {
          raw.close(1008, error instanceof AriError ? error.message.slice(0, longestReason) : 'nothing to hear');
        }
      },
      onMessage() {},
      onClose() {
        stop();
        ended();
      },
    };
  };

  return (c: Context<Env>, { query }: Sources, user: HttpUser | undefined): Response | Promise<Response> => {
    const { raw } = c.req;
    if (raw.method === 'OPTIONS' || !user) return responder.options(raw, 'OPTIONS', user !== undefined);
    if (raw.method !== 'GET') return responder.refusal(raw, new AriError('methodInvalid'), { Allow: 'OPTIONS' });
    // Credentials that a browser remembers, or an address contains, must not suffice.
    if (!query?.has('ticket') || raw.headers.has('authorization')) throw new AriError('authenticationRequired');
    const channelId = c.req.param('channelId') ?? '';
    guard.perform({ user, token: undefined }, { channelId }, () => listening.require(channelId, user));
    return sockets.become(c, (start) => session(channelId, user, start));
  };
}
