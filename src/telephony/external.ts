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
  /** The server's id of the call: 16 octets as a UUID (RFC 9562 section 4). */
  uuid: string;
};

/** WebSocket protocol: audio in binary messages, commands and events in text. */
type WebSocketTalk = {
  /** Text messages are JSON, both ways. */
  json: boolean;
  /** Octets of 20 ms of the format; 0 where packets differ. */
  frameOctets: number;
  /** Contents of the first message, with the format. */
  start: { connectionId: string; channel: string; channelId: string; variables: Readonly<Record<string, string>> };
};

/** A WebSocket that we open. */
export type WebSocketRequest = WebSocketTalk & {
  /** PEM of the authorities that must have signed its certificate (wss); left out: Node's own. */
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
  /** Sets the callbacks; none after `closed`, which comes once, and never after our own `end`. */
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
  /** Whether the session stays from now on when its connection is lost, for `reconnect`. The loss is reported as ever. */
  persist(on: boolean): void;
  /** Connects to the same server again, and goes on as it was. */
  reconnect(): void;
}

/** Reports of a connected session, besides those of every session. */
export type ExternalReport =
  | MediaReport
  /** The server has taken the connection; `local` is our end of it. */
  | { type: 'media.connected'; local: { address: string; port: number } }
  /** Its media thread is gone, and the connection with it; another thread connects again: `media.connected` or `media.lost`. */
  | { type: 'media.cut' }
  /** Its first audio has arrived. Told once for each connection. */
  | { type: 'media.flowing' }
  /** The server requests a hang-up. */
  | { type: 'media.hangupAsked' }
  /** The server takes the call: told where it is asked to. */
  | { type: 'media.answerAsked' };

/** Sessions that are connected to a server. */
export interface ExternalAudio {
  /**
   * Starts connecting; no reports before this returns. A failed or broken connection is reported as `media.lost`, the
   * last report. The caller sets the time limit.
   *
   * @param near id of a probable peer session: one thread costs less.
   */
  openExternal(
    id: string,
    request: ExternalRequest,
    told: (report: ExternalReport) => void,
    near?: string,
  ): ExternalSession;
}

/**
 * Reports about a connection to the owner of the leg: `started` once, `restarted` each time it is made again. The last one
 * is `unreached` if it was never made, else `lost`.
 */
type ConnectionOutcome = { type: 'started' | 'restarted' } | { type: 'unreached' | 'lost'; reason: string };

/** Socket operations of a connection's chart. */
export type ConnectionSocket = {
  /** Starts connecting; {@link ExternalConnection.tell} gets the result. */
  open(): void;
  /** Closes it; no report is necessary. */
  close(): void;
  told(outcome: ConnectionOutcome): void;
};

/** Socket events of a connection. */
type ConnectionEvent =
  /** The server has opened its WebSocket to us. */
  | { type: 'socket.arrived' }
  | { type: 'socket.opened' }
  | { type: 'audio.flowed' }
  /** It was cut on our side, and is being made again. */
  | { type: 'socket.cut' }
  /** It could not be opened, or is closed. */
  | { type: 'socket.closed'; reason: string };

/** A connection that is watched over. */
export interface ExternalConnection {
  tell(event: ConnectionEvent): void;
  /** The leg is released: closes the connection without further reports. Idempotent. */
  release(): void;
  /** A server may open its WebSocket to us. */
  readonly isAwaited: boolean;
  /** Why it is over; undefined while it is not. */
  readonly lostBy: string | undefined;
}

/** Who opens a connection: this system, or the server; and whether a process before had it. */
type ConnectionTerms = { maker: 'us' | 'server'; resumes: boolean };

/** Supervises connections: their time limits and reports. */
export interface ConnectionHost {
  /** @param id of the channel. @throws DriverError `capacity` when there are too many; `resource` when it has one. */
  open(id: string, socket: ConnectionSocket, terms: ConnectionTerms): ExternalConnection;
}

/** A client's request for external media. */
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
  /** Releases it: there will be no channel. */
  abandon(): void;
};

/** A connection that waits for a server's WebSocket, or has it. */
export interface AwaitedConnection {
  /** The channel that it is for. */
  readonly channelId: string;
  /** It has one, and takes no other. */
  readonly taken: boolean;
  /** Attaches the WebSocket; a late one is closed. */
  attach(socket: ArrivedSocket): void;
}

/**
 * Makes legs to media servers before their channels: a channel exists only with a connection. Exception: a server that
 * opens its WebSocket to us must first learn where.
 */
export interface ExternalDriver {
  /** Whether a WebSocket of that name is configured. */
  hasClient(name: string): boolean;
  /** The connection that a server names when it opens its WebSocket; undefined when there is none. */
  awaited(connectionId: string): AwaitedConnection | undefined;
  /** @throws DriverError (rejects) naming the part at fault; then nothing is left open. */
  prepare(request: ExternalChannelRequest): Promise<PreparedExternal>;
}
