import type { Narrow as HearsOnly } from '../bus/delivery.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import type { SlotMap } from '../lib/slot-map.ts';
import type { outboundConnectionMachine } from '../machines/outbound-connection.ts';
import type { Connected } from './application-connections.ts';
import type { ActorDump } from './chart-run.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import type { Actor } from './spawn.ts';

/** A connection to applications, and the sockets that it uses. */

/** Address and rights of an application that accepts a WebSocket. */
export type OutboundTarget = {
  /** `ws://host[:port]/path`. */
  url: string;
  /** Sub-protocols offered. */
  protocols: readonly string[];
  /** Sent as Basic credentials, unless empty. */
  username: string;
  password: string;
  /** The user of the interface whose rights the application has in requests over the socket. */
  localUser: string;
  /** A token of that user's, to whose rights it is limited; it ends with the token. */
  localToken?: string;
  /** Sent as Bearer credentials in place of the Basic ones. */
  token?: string;
  /** Headers sent along for one call. */
  headers?: Readonly<Record<string, string>>;
};

/** Reports of a socket, each at most once: `opened` or `failed`, and after `opened` finally `closed`. */
export type SocketReports = {
  /** @param send takes an event as JSON text; never throws. */
  opened(send: (json: string) => void): void;
  failed(reason: string): void;
  closed(): void;
};

/** Ends a socket, or the attempt to open it; it may still tell afterwards that it is closed. */
type OutboundSocket = { close(code: number, reason: string): void };

/** Begins to open a socket for applications. Never throws; tells nothing before it has returned. */
export type OpenSocket = (target: OutboundTarget, names: readonly string[], told: SocketReports) => OutboundSocket;

export type OutboundConnectionSettings = {
  name: string;
  /** One connection that is always there, or one for each call. */
  kind: 'persistent' | 'call';
  target: OutboundTarget;
  apps: readonly string[];
  subscribeAll: boolean;
  connectionTimeoutMs: number;
  reconnectIntervalMs: number;
  reconnectAttempts: number;
};

/** Event filter of an application with the rights of a user or a token; undefined for all events. */
export type NarrowOf = (target: Pick<OutboundTarget, 'localUser' | 'localToken'>) => HearsOnly | undefined;

/** A running connection: its actor, and what it holds outside the chart. */
export type Connection = {
  readonly settings: OutboundConnectionSettings;
  /** Applications registered through it. */
  readonly names: readonly string[];
  readonly outbox: Outbox;
  actor: Actor<typeof outboundConnectionMachine>;
  /** Number of the present socket: reports of earlier ones are ignored. */
  attempt: number;
  socket: OutboundSocket | undefined;
  registration: Connected | undefined;
  /** Whether the log already says that the application is unreachable. */
  complained: boolean;
};

/** A connection before its chart is started. */
export const makeConnection = (
  settings: OutboundConnectionSettings,
  names: readonly string[],
  { queueLimit, log, hit }: { queueLimit: number; log: Logger; hit?: LimitHit | undefined },
): Connection => ({
  settings,
  names,
  outbox: createOutbox({ limit: queueLimit, log: log.child({ applications: names.join(',') }), hit }),
  actor: undefined as never,
  attempt: 0,
  socket: undefined,
  registration: undefined,
  complained: false,
});

/** How the chart of a connection starts. */
export type ConnectionStart<C extends Connection> = {
  id: string;
  /** The table that it is in while its chart runs. */
  into: SlotMap<string, C>;
  onEnded(): void;
  from: ActorDump | undefined;
};
