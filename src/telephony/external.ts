import type { Leg, Report } from './driver.ts';
import type { Codec, MediaReport, MediaSession } from './media.ts';

/** The port between call control and servers outside that audio is exchanged with over a connection of its own. */

/** Which way audio goes, seen from the channel: `in` = only from the server to the channel, `out` = only to the server. */
export type ExternalDirection = 'both' | 'in' | 'out';

/** How a server is reached that audio is exchanged with. */
export type ExternalRequest = { codec: Codec; direction: ExternalDirection } & (
  | AudioSocketRequest
  | WebSocketRequest
  | AwaitedWebSocketRequest
);

/** A TCP connection that frames of kind, length and payload go over. */
export type AudioSocketRequest = {
  transport: 'audioSocket';
  /** A name or an address. */
  host: string;
  port: number;
  /** What the server knows the call by: 16 octets as a UUID (RFC 9562 section 4). */
  uuid: string;
};

/** What is said over a WebSocket: audio in binary messages, commands and what is told of them in text. */
type WebSocketTalk = {
  /** Text messages are JSON, both ways. */
  json: boolean;
  /** Octets of 20 ms of the format; 0 where packets differ. */
  frameOctets: number;
  /** What the first message tells, with the format. */
  start: { connectionId: string; channel: string; channelId: string; variables: Readonly<Record<string, string>> };
};

/** A WebSocket that we open. */
export type WebSocketRequest = WebSocketTalk & {
  /** PEM of the authorities that must have signed its certificate (wss); those that come with Node when left out. */
  authorities?: readonly string[];
  transport: 'webSocket';
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Sub-protocols offered. */
  protocols: readonly string[];
};

/** A WebSocket that the server opens to us: the session waits for it. */
export type AwaitedWebSocketRequest = WebSocketTalk & { transport: 'awaitedWebSocket' };

/** A WebSocket that a server has opened to us. */
export interface ArrivedSocket {
  /** Our end of it. */
  readonly local: { address: string; port: number };
  /** Hears what comes, from now on; nothing after `closed`, which is told once, and never by our own `end`. */
  listen(listener: {
    /** Octets of its own, or text. */
    received(message: Uint8Array | string): void;
    closed(reason: string): void;
  }): void;
  /** @param taken hears that the far side's system has the message. */
  send(message: Uint8Array | string, taken: () => void): void;
  /** Reads no further until `resume`. */
  pause(): void;
  resume(): void;
  /** Says goodbye; a far side that does not take part is cut off. */
  end(): void;
}

/** A session that is connected to a server. */
export interface ExternalSession extends MediaSession {
  /** The WebSocket is there that the session waits for; the session closes it at its end. Called once at most. */
  attach(socket: ArrivedSocket): void;
}

/** What a connected session tells, besides what every session does. */
export type ExternalReport =
  | MediaReport
  /** The server has taken the connection; `local` is our end of it. */
  | { type: 'media.connected'; local: { address: string; port: number } }
  /** Its media thread is gone, and the connection with it; another thread connects again: `media.connected` or `media.lost`. */
  | { type: 'media.cut' }
  /** Its first audio has arrived. Told once for each connection. */
  | { type: 'media.flowing' }
  /** The server wants the channel to be hung up. */
  | { type: 'media.hangupAsked' }
  /** The server takes the call: told where it is asked to. */
  | { type: 'media.answerAsked' };

/** Sessions that are connected to a server. */
export interface ExternalAudio {
  /**
   * Begins to connect; nothing is told before this has returned. A connection that cannot be made or breaks is told
   * `media.lost`, the last report. The caller decides how long it may take.
   *
   * @param near id of a session that it will probably meet: they cost less in one thread.
   */
  openExternal(
    id: string,
    request: ExternalRequest,
    told: (report: ExternalReport) => void,
    near?: string,
  ): ExternalSession;
}

/** Reports about a connection to the owner of the leg: `started` each time it is made, `lost` as the last. */
type ConnectionOutcome = { type: 'started' } | { type: 'lost'; reason: string };

/** What a connection does when its state asks for it. */
export type ConnectionSocket = {
  /** Begins to connect; what comes of it is told with {@link ExternalConnection.tell}. */
  open(): void;
  /** Ends it; nothing has to be told afterwards. */
  close(): void;
  told(outcome: ConnectionOutcome): void;
};

/** What happened on a connection's socket. */
type ConnectionEvent =
  | { type: 'socket.opened' }
  | { type: 'audio.flowed' }
  /** It was cut on our side, and is being made again. */
  | { type: 'socket.cut' }
  /** It could not be opened, or is closed. */
  | { type: 'socket.closed'; reason: string };

/** A connection that is watched over. */
export interface ExternalConnection {
  tell(event: ConnectionEvent): void;
  /** The leg is released: the connection is closed, and nothing is told any more. Idempotent. */
  release(): void;
}

/** Who makes a connection: this system, or the server, which is waited for. */
type ConnectionMaker = 'us' | 'server';

/** Watches over connections: how long they may take, and what is told of them. */
export interface ConnectionHost {
  /** @param id of the channel. @throws DriverError `capacity` when there are too many; `resource` when it has one. */
  open(id: string, socket: ConnectionSocket, maker: ConnectionMaker): ExternalConnection;
}

/** What a client asks for: audio exchanged with a server. */
export type ExternalChannelRequest = {
  channelId: string;
  /** `awaitedWebSocket`: the server opens it. */
  kind: 'rtp' | 'audioSocket' | 'webSocket' | 'awaitedWebSocket';
  /** `host:port`; for a WebSocket that we open the name of a configured one. */
  server: string;
  /** A format's name. */
  format: string;
  direction: ExternalDirection;
  /** AudioSocket: the UUID that the server knows the call by. */
  data: string;
  /** WebSocket: `f(json)` for messages in JSON, `n` for a channel that is Up only when the server answers. */
  options: string;
};

/** A connection that is there, and waits for its channel. */
export type PreparedExternal = {
  technology: string;
  name: string;
  /** Variables that the channel is made with and shows in events. */
  variables: Readonly<Record<string, string>>;
  /** Makes the channel's leg. Called once, unless it is abandoned. */
  open(report: Report): Leg;
  /** Lets go of it: there will be no channel. */
  abandon(): void;
};

/** A connection that waits for a server's WebSocket, or has it. */
export interface AwaitedConnection {
  /** The channel that it is for. */
  readonly channelId: string;
  /** It has one, and takes no other. */
  readonly taken: boolean;
  /** Takes the WebSocket; one that comes when nobody waits any more is ended. */
  attach(socket: ArrivedSocket): void;
}

/**
 * Makes legs whose far side is a server, ahead of their channels: there is only a channel when there is a connection,
 * but for a server that opens its WebSocket to us, which has to be told where to first.
 */
export interface ExternalDriver {
  /** Whether a WebSocket of that name is configured. */
  hasClient(name: string): boolean;
  /** The connection that a server names when it opens its WebSocket; undefined when there is none. */
  awaited(connectionId: string): AwaitedConnection | undefined;
  /** @throws DriverError (rejects) naming the part at fault; then nothing is left open. */
  prepare(request: ExternalChannelRequest): Promise<PreparedExternal>;
}
