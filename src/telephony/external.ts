import type { Leg, Report } from './driver.ts';
import type { Codec, MediaReport, MediaSession } from './media.ts';

/** The port between call control and servers outside that audio is exchanged with over a connection of its own. */

/** Which way audio goes, seen from the channel: `in` = only from the server to the channel, `out` = only to the server. */
export type ExternalDirection = 'both' | 'in' | 'out';

/** How a server is reached that audio is exchanged with. */
export type ExternalRequest = { codec: Codec; direction: ExternalDirection } & (AudioSocketRequest | WebSocketRequest);

/** A TCP connection that frames of kind, length and payload go over. */
export type AudioSocketRequest = {
  transport: 'audioSocket';
  /** A name or an address. */
  host: string;
  port: number;
  /** What the server knows the call by: 16 octets as a UUID (RFC 9562 section 4). */
  uuid: string;
};

/** A WebSocket that we open; audio goes in binary messages, commands and what is told of them in text. */
export type WebSocketRequest = {
  transport: 'webSocket';
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Sub-protocols offered. */
  protocols: readonly string[];
  /** Text messages are JSON, both ways. */
  json: boolean;
  /** What the first message tells, with the format. */
  start: { connectionId: string; channel: string; channelId: string; variables: Readonly<Record<string, string>> };
};

/** What a connected session tells, besides what every session does. */
export type ExternalReport =
  | MediaReport
  /** The server has taken the connection; `local` is our end of it. */
  | { type: 'media.connected'; local: { address: string; port: number } }
  /** Its first audio has arrived. Told once. */
  | { type: 'media.flowing' }
  /** The server wants the channel to be hung up. */
  | { type: 'media.hangupAsked' }
  /** The server takes the call: told where it is asked to. */
  | { type: 'media.answerAsked' };

/** Sessions that are connected to a server. */
export interface ExternalAudio {
  /**
   * Begins to connect; nothing is told before this has returned. A connection that cannot be made or breaks is told
   * `media.lost`, the last report. Whoever asks decides how long it may take.
   */
  openExternal(id: string, request: ExternalRequest, told: (report: ExternalReport) => void): MediaSession;
}

/** What is told about a connection to whoever owns the leg: `started` once at most, and `lost` as the last. */
export type ConnectionOutcome = { type: 'started' } | { type: 'lost'; reason: string };

/** What a connection does when its state asks for it. */
export type ConnectionSocket = {
  /** Begins to connect; what comes of it is told with {@link ExternalConnection.tell}. */
  open(): void;
  /** Ends it; nothing has to be told afterwards. */
  close(): void;
  told(outcome: ConnectionOutcome): void;
};

/** What happened on a connection's socket. */
export type ConnectionEvent =
  | { type: 'socket.opened' }
  | { type: 'audio.flowed' }
  /** It could not be opened, or is closed. */
  | { type: 'socket.closed'; reason: string };

/** A connection that is watched over. */
export interface ExternalConnection {
  tell(event: ConnectionEvent): void;
  /** The leg is released: the connection is closed, and nothing is told any more. Idempotent. */
  release(): void;
}

/** Watches over connections: how long they may take, and what is told of them. */
export interface ConnectionHost {
  /** @param id of the channel. @throws DriverError `capacity` when there are too many; `resource` when it has one. */
  open(id: string, socket: ConnectionSocket): ExternalConnection;
}

/** What a client asks for: audio exchanged with a server. */
export type ExternalChannelRequest = {
  channelId: string;
  kind: 'rtp' | 'audioSocket' | 'webSocket';
  /** `host:port`; for a WebSocket the name of a configured one. */
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

/** Makes legs whose far side is a server, ahead of their channels: there is only a channel when there is a connection. */
export interface ExternalDriver {
  /** Whether a WebSocket of that name is configured. */
  hasClient(name: string): boolean;
  /** @throws DriverError (rejects) naming the part at fault; then nothing is left open. */
  prepare(request: ExternalChannelRequest): Promise<PreparedExternal>;
}
