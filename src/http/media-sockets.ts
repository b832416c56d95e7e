import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Context } from 'hono';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../lib/clock.ts';
import { Roster } from '../lib/slot-map.ts';
import { AriError } from '../models/errors.ts';
import type { ArrivedSocket } from '../telephony/external.ts';
import type { Connections } from './connections.ts';
import type { Owners } from './deps.ts';
import type { Env } from './env.ts';
import { goingAway } from './events-session.ts';
import type { Responder } from './responses.ts';
import { closeWithToken, notLetIn } from './token-end.ts';
import { handshakeProblem } from './upgrades.ts';
import type { HttpUser } from './user.ts';

type MediaSocketsDeps = {
  external: Pick<Owners['externalMedia'], 'awaited'>;
  /** Refuses a user whose scope does not cover the channel. @throws AriError. */
  requireSeen(user: HttpUser, channelId: string): void;
  responder: Responder;
  connections: Connections;
  clock: Clock;
  /** Largest message that is taken, in octets. */
  message: number;
};

/** WebSockets that servers open to us for the audio of a channel: `/media/<id of the connection>`. */
export interface MediaSockets {
  /** Answers a request for one: refuses, or makes it the connection's WebSocket. `user` is undefined where none is asked for. */
  upgrade(c: Context<Env>, user: HttpUser | undefined): Response;
  /** Closes (1008) the sockets of users that are no longer valid. */
  review(still: (user: HttpUser) => boolean): void;
  /** Sends 1001 to every socket and closes those that do not answer within `graceMs`; resolves when all are closed. */
  close(graceMs: number): Promise<void>;
}

/** The sub-protocol of Asterisk; a server may also name none. */
const mediaProtocol = 'media';

/** How long a server may take to answer our goodbye, in ms. */
const goodbyeMs = 2000;

/** The octets of a message in a buffer of their own: posting to a thread copies the whole buffer. */
function octetsOf(data: RawData): Uint8Array {
  const whole = Array.isArray(data) ? Buffer.concat(data) : data;
  return new Uint8Array(whole instanceof ArrayBuffer ? whole.slice(0) : whole);
}

/** Closes a WebSocket, and terminates it if the other side does not answer within `ms`. */
type SayGoodbye = (raw: WebSocket, code: number, reason: string, ms: number) => void;

const goodbyeBy =
  (clock: Clock): SayGoodbye =>
  (raw, code, reason, ms) => {
    if (raw.readyState === raw.CLOSED) return;
    raw.close(code, reason);
    const timer = clock.setTimeout(() => raw.terminate(), ms);
    raw.once('close', () => clock.clearTimeout(timer));
  };

/** A server's WebSocket as the media connection uses it. */
function arrivedSocket(
  raw: WebSocket,
  { localAddress = '', localPort = 0 }: Socket,
  sayGoodbye: SayGoodbye,
): ArrivedSocket {
  let heard = true;
  let failure = 'the far side closed the connection';
  raw.on('error', ({ message: reason }) => {
    failure = reason;
  });
  return {
    local: { address: localAddress, port: localPort },
    listen({ received, closed }) {
      raw.on('message', (data, isBinary) => {
        if (heard) received(isBinary ? octetsOf(data) : String(data));
      });
      raw.once('close', () => {
        if (heard) closed(failure);
        heard = false;
      });
    },
    send(data, taken) {
      // `close` reports errors; data that cannot be sent counts as taken.
      if (heard && raw.readyState === raw.OPEN) raw.send(data, () => taken());
      else taken();
    },
    pause: () => raw.pause(),
    resume: () => raw.resume(),
    end() {
      heard = false;
      // The close frame needs a client that reads.
      raw.resume();
      sayGoodbye(raw, 1000, '', goodbyeMs);
    },
  };
}

/** Creates the acceptor for them; opens nothing. */
export function createMediaSockets(deps: MediaSocketsDeps): MediaSockets {
  const { external, requireSeen, responder, connections, clock, message } = deps;
  const wss = new WebSocketServer({
    noServer: true,
    maxPayload: message,
    perMessageDeflate: false,
    handleProtocols: (protocols) => (protocols.has(mediaProtocol) ? mediaProtocol : false),
  });
  /** Users of the open sockets that required a log-in. */
  const users = new Roster<{ raw: WebSocket; user: HttpUser }>();
  let closing = false;
  let emptied = () => {};
  const sayGoodbye = goodbyeBy(clock);

  /** A socket is as good as the credentials that opened it. */
  const belongsTo = (user: HttpUser, raw: WebSocket): void => {
    const number = users.add({ raw, user });
    const close = (code: number, reason: string): void => sayGoodbye(raw, code, reason, goodbyeMs);
    const stopWaiting = closeWithToken(
      { raw: { close: (code = 1008, reason = '') => close(code, String(reason)) }, user },
      clock,
    );
    raw.once('close', () => {
      users.remove(number);
      stopWaiting();
    });
  };

  /** The connection that is asked for, when it is one that the user sees. @throws AriError. */
  const awaited = (c: Context<Env>, user: HttpUser | undefined) => {
    const connection = external.awaited(c.req.param('id') ?? '');
    if (user) requireSeen(user, connection.channelId);
    return connection;
  };
  const accept = (c: Context<Env>, incoming: IncomingMessage, user: HttpUser | undefined): Response => {
    const connection = awaited(c, user);
    connections.proved(incoming.socket);
    c.env.upgraded = true;
    incoming.socket.setNoDelay(true);
    wss.handleUpgrade(incoming, incoming.socket, c.env.head ?? Buffer.alloc(0), (raw) => {
      if (user) belongsTo(user, raw);
      raw.once('close', () => {
        if (wss.clients.size === 0) emptied();
      });
      connection.attach(arrivedSocket(raw, incoming.socket, sayGoodbye));
    });
    return new Response();
  };

  return {
    upgrade(c, user) {
      const request = c.req.raw;
      if (request.method !== 'GET') return responder.refusal(request, new AriError('methodInvalid'), { Allow: 'GET' });
      const { incoming } = c.env;
      if (!incoming || c.env.outgoing || request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
        awaited(c, user);
        throw new AriError('upgradeRequired');
      }
      const reason = handshakeProblem(request.headers, mediaProtocol);
      if (reason !== undefined) {
        const versions = { 'Sec-WebSocket-Version': '13, 8' };
        return responder.refusal(request, new AriError('upgradeInvalid', { reason }), versions);
      }
      if (closing) throw new AriError('serviceUnavailable');
      return accept(c, incoming, user);
    },
    review(still) {
      for (const { raw, user } of users) if (!still(user)) sayGoodbye(raw, 1008, notLetIn, goodbyeMs);
    },
    async close(graceMs) {
      closing = true;
      const gone = new Promise<void>((resolve) => {
        emptied = resolve;
      });
      for (const raw of wss.clients) sayGoodbye(raw, 1001, goingAway, graceMs);
      if (wss.clients.size > 0) await gone;
      wss.close();
    },
  };
}
