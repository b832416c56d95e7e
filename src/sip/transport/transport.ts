import type { SipMessage } from '../message/message.ts';
import type { ParseFailure } from '../message/parse.ts';
import type { Protocol } from './kind.ts';

/** Whether peers that connect to us over TLS show a certificate of theirs. */
export type ClientCertificates = 'none' | 'optional' | 'required';

/**
 * A listening address: `host` is a literal IPv4 or IPv6 address (`0.0.0.0` and `::` for all), port 0 for any free one.
 */
export type Listen = {
  readonly protocol: Protocol;
  readonly host: string;
  readonly port: number;
  /** Host of Via and Contact in place of the local address (a public address, a name). */
  readonly advertisedHost?: string | undefined;
  /** The same for the port. */
  readonly advertisedPort?: number | undefined;
  /** Over TLS: `none` when left out. One that is shown must be good in any case. */
  readonly clientCertificates?: ClientCertificates | undefined;
};

/** A listening socket and its actual address. */
export type Listener = {
  /** Good for `Target.listener`; unique in one `Transports`. */
  readonly id: number;
  readonly protocol: Protocol;
  readonly host: string;
  readonly port: number;
  readonly advertisedHost?: string | undefined;
  readonly advertisedPort?: number | undefined;
};

/** Destination of a message. A `Source` is a valid target: it leads back to the sender. */
export type Target = {
  readonly protocol: Protocol;
  /** A literal IPv4 or IPv6 address, no name. */
  readonly address: string;
  readonly port: number;
  /** The listener to send from (UDP); the first that fits when left out. */
  readonly listener?: number | undefined;
  /** The connection to use while it is open; else one to the address and port is reused or opened. */
  readonly connection?: number | undefined;
  /** The name of the peer that its certificate must be for (TLS); the address when left out. */
  readonly serverName?: string | undefined;
  /** The node of a cluster whose socket is used; left out: ours. */
  readonly via?: NodeFlow | undefined;
};

/** How a peer is reached through a socket of another node: plain data. */
export type NodeFlow = {
  /** The node that has the socket. */
  readonly node: string;
  /** The node whose call it is: the other one passes on to it what the peer sends. */
  readonly owner: string;
  /** Address of the socket as the peer sees it: for Via and Contact. */
  readonly host: string;
  readonly port: number;
  /** As in {@link Target}, at that node. */
  readonly listener?: number | undefined;
  readonly connection?: number | undefined;
  /** The endpoint that has registered over it: it may have connected again. */
  readonly endpoint?: string | undefined;
};

/** Origin of a message, with its listener and connection. */
export type Source = Target & { readonly listener: number };

/** Our own address as a peer shall see it: for Via, Contact and SDP. */
export type LocalAddress = { readonly host: string; readonly port: number };

/** Why a message could not be sent. */
export type SendFailure = {
  /**
   * `no-listener`: no listener for that protocol and address family · `too-large`: no datagram can hold it · `connect`:
   * refused, unreachable, or failed verification · `timeout`: no connection in time. `closed`: the connection ended, or
   * the transports are closed · `overload`: the peer does not read · `io`: a socket error.
   */
  readonly reason: 'no-listener' | 'too-large' | 'connect' | 'timeout' | 'closed' | 'overload' | 'io';
  readonly target: Target;
  readonly cause?: unknown;
};

/** Numbers since the start; `connections` is what is open now. */
export type TransportCounts = {
  readonly received: number;
  readonly sent: number;
  readonly malformed: number;
  readonly sendFailures: number;
  readonly connections: number;
};

/** Receives what comes in. Requests carry `received` and `rport` in their top Via already (RFC 3261 18.2.1, RFC 3581). */
export type MessageHandler = (message: SipMessage, source: Source) => void;

/** Receives unparsable messages; it may answer (`formatRejection`) or stay silent. */
export type MalformedHandler = (failure: ParseFailure, source: Source) => void;

/** Gets the bytes of every received and sent message, with addresses and protocol. It must not change or keep them. */
type TrafficListener = (direction: 'in' | 'out', bytes: Buffer, local: LocalAddress, remote: Target) => void;

/** Receives messages while `isHeard`. */
export type TrafficWatch = { readonly isHeard: boolean; readonly hear: TrafficListener };

/**
 * The sockets of the SIP stack. Peers and networks cause no exceptions. A broken datagram is counted and dropped. A
 * broken stream closes its connection. A failed send is reported to its sender.
 */
export interface Transports {
  /**
   * Opens all listeners, or none.
   * @throws ListenError (as a rejection) naming protocol, address and port if one cannot be opened.
   */
  bind(listens: readonly Listen[]): Promise<readonly Listener[]>;
  /** The bound sockets, in the order of binding. */
  readonly listeners: readonly Listener[];
  /** Sets the one receiver of messages; the transaction layer does this. */
  onMessage(handler: MessageHandler): void;
  /** Sets the one receiver of what is malformed; the transaction layer does this. */
  onMalformed(handler: MalformedHandler): void;
  /** Tells when a connection is gone, with the `Source.connection` it had. Several listeners are fine. */
  onConnectionClosed(handler: (connection: number, target: Target) => void): void;
  /** Sends bytes without waiting; a failure is reported once, and never before this returns. */
  send(bytes: Buffer, target: Target, onFailure?: (failure: SendFailure) => void): void;
  /** Our address towards `target`: for Via's sent-by and Contact. Undefined when nothing bound can reach it. */
  localAddress(target: Target): LocalAddress | undefined;
  /** Whether a message to `target` needs no new connection; over UDP it never does. */
  isConnected(target: Target): boolean;
  /** How long the UDP message waited that is being handled, in ms: more than 0 when more come than can be handled. */
  readonly waitedMs: number;
  counts(): TransportCounts;
  /** Closes every socket; resolves when all are closed. Sends after that report `closed`. */
  close(): Promise<void>;
}

/** Transports whose calls go on in another process. */
export interface LeavingTransports {
  /** Accepts no more connections. Resolves when no handshake is under way. */
  leave(): Promise<void>;
  /** Closes all connections directly, without a turn of the event loop. Nobody is told: the process ends. */
  cut(): void;
}

/** A listener could not be opened. `code` is the system's word (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`). */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly listen: Listen;
  readonly code: string;

  constructor(listen: Listen, code: string, cause: unknown) {
    const why = code === 'EADDRINUSE' ? 'the port is taken' : code;
    super(`cannot listen on ${listen.protocol} ${listen.host} port ${listen.port}: ${why}`, { cause });
    this.listen = listen;
    this.code = code;
  }
}
