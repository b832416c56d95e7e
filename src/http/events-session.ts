import type { Socket } from 'node:net';
import type { Hono } from 'hono';
import type { WSContext } from 'hono/ws';
import type { WebSocket } from 'ws';
import type { Bookmark } from '../actors/resumptions.ts';
import type { Narrow } from '../bus/delivery.ts';
import type { LostNode } from '../cluster/cluster.ts';
import { sourceNetwork } from '../lib/addresses.ts';
import { AriError } from '../models/errors.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { NodeLost } from '../models/websocket-messages.ts';
import type { Connect } from './deps.ts';
import type { AppDeps, Env } from './env.ts';
import type { MessageWriter } from './message-writer.ts';
import { createRestOverWebSocket, type RestOverWebSocket } from './rest-over-websocket.ts';
import type { Unread, WatchedOutput } from './unread.ts';
import type { HttpUser } from './user.ts';

/** Why a socket is closed with 1001. */
export const goingAway = 'the server is shutting down';

/** How long a connection is quiet before TCP asks whether the client is still there, in ms. */
const keepAliveMs = 30_000;

/** Needs of sessions: the interface, and the handler of requests over WebSockets. */
export type SessionDeps = AppDeps & { app: Hono<Env>; unread: Unread };

/** A WebSocket of applications that is open. */
export type Session = {
  raw: Pick<WebSocket, 'close' | 'terminate'>;
  closed: Promise<void>;
  user?: HttpUser | undefined;
};

export type SessionOptions = {
  names: string[];
  subscribeAll: boolean;
  /** Where applications go on; see the owner's `connect`. */
  resume?: ReadonlyMap<string, Bookmark>;
  /** The client says which events it has handled. */
  acknowledges?: boolean;
  /** The client is told of lost nodes of the cluster. */
  hearsNodes?: boolean;
  /** The client only hears; see the owner's `connect`. */
  observes: boolean;
  /** Its event filter; left out: all events. */
  narrow?: Narrow | undefined;
  /** Whose socket it is. */
  user?: HttpUser | undefined;
  /** `Authorization` of the upgrade, for the requests carried over the socket. */
  authorization: string;
  /** User of its requests in place of `authorization`: for sockets that this system opened. */
  localUser?: HttpUser;
  /** Registers the applications for their owner, who is authorised already. */
  connect?: Connect | undefined;
  socket: Socket;
  /** Called when the socket is open; true: close it again. */
  opened(session: Session): boolean;
};

/** Callbacks of node-ws for a WebSocket. */
export type SessionHandlers = {
  onOpen(event: unknown, context: WSContext<WebSocket>): void;
  onMessage(event: { data: unknown }): void;
  onClose(): void;
};

/** Tells a client of lost nodes. @returns a function that ends it */
function hearNodes({ cluster, clock, entityId }: SessionDeps, names: readonly string[], send: (json: string) => void) {
  const told = (node: LostNode): void => {
    const stamp = { asterisk_id: entityId, timestamp: formatTimestamp(clock.now()) };
    for (const application of names)
      send(JSON.stringify({ type: 'NodeLost', application, ...stamp, ...node } satisfies NodeLost));
  };
  return cluster?.cluster.onNodeLost(told) ?? (() => {});
}

/**
 * The life of one WebSocket. It registers its applications and carries their events and requests. The applications end
 * when it closes or its client falls too far behind.
 */
export function createSession(
  deps: SessionDeps,
  writerOf: (raw: WebSocket, socket: Socket) => MessageWriter,
  session: SessionOptions,
): SessionHandlers {
  const { log, owners } = deps;
  const { names, subscribeAll, observes, authorization, localUser, socket } = session;
  const peer = socket.remoteAddress ?? '';
  const describe = `${peer}:${socket.remotePort}`;
  let connection: ReturnType<Connect> | undefined;
  let rest: RestOverWebSocket | undefined;
  let output: WatchedOutput | undefined;
  let ended = () => {};
  let stopHearingNodes = () => {};

  const release = () => {
    stopHearingNodes();
    connection?.close();
    connection = undefined;
    rest?.close();
  };
  const watch = (raw: WebSocket, writer: MessageWriter, unread: () => number): WatchedOutput =>
    deps.unread.watch({
      address: sourceNetwork(socket.remoteAddress ?? ''),
      client: `${names.join(',')} at ${describe}`,
      carries: { applications: names, resumed: session.resume !== undefined || session.acknowledges === true },
      unread,
      cut: (excess, bytes) => {
        log.warn({ applications: names, client: describe, bytes, excess }, 'disconnected a slow consumer');
        // A goodbye would wait behind everything that is not read.
        if (excess === 'socket') writer.close(1013, 'events are not read fast enough');
        else raw.terminate();
        release();
      },
    });
  const register = (writer: MessageWriter, send: (json: string) => void, unread: () => number) => {
    try {
      const { resume, acknowledges, narrow } = session;
      const cut = (code: number, reason: string): void => {
        log.warn({ applications: names, client: describe, reason }, 'closed the WebSocket of a group');
        writer.close(code, reason.slice(0, 120));
        release();
      };
      const request = { names, subscribeAll, resume, acknowledges, observes, narrow, send, describe, unread, cut };
      connection = session.connect ? session.connect(request) : owners.applications?.connect(request);
    } catch (error) {
      log.warn({ error, applications: names, client: describe }, 'applications could not be registered');
      writer.close(1008, error instanceof AriError ? error.message.slice(0, 120) : 'registration failed');
    }
  };

  return {
    onOpen: (_event, { raw }) => {
      if (!raw) return;
      socket.setKeepAlive(true, keepAliveMs);
      raw.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') deps.hit?.('http.limits.websocket_message');
        log.debug({ error, client: describe }, 'WebSocket error');
      });
      const closed = new Promise<void>((resolve) => {
        ended = resolve;
      });
      const writer = writerOf(raw, socket);
      const opened = {
        close: (code: number, reason: string) => writer.close(code, reason),
        terminate: () => raw.terminate(),
      };
      if (session.opened({ raw: opened, closed, user: session.user })) return writer.close(1001, goingAway);
      const unread = () => raw.bufferedAmount + writer.waiting;
      const watched = watch(raw, writer, unread);
      output = watched;
      const send = (json: string) => {
        writer.send(json);
        watched.wrote();
      };
      rest = createRestOverWebSocket({
        ...deps,
        application: names[0] ?? '',
        peer,
        authorization,
        localUser,
        send,
        raw,
        ...(session.acknowledges && {
          acknowledge: (application, seq) => connection?.acknowledge?.(application, seq) ?? false,
        }),
      });
      register(writer, send, unread);
      if (session.hearsNodes && connection) stopHearingNodes = hearNodes(deps, names, send);
    },
    onMessage: ({ data }) => {
      if (typeof data === 'string') rest?.take(data);
    },
    onClose: () => {
      output?.remove();
      release();
      ended();
    },
  };
}
