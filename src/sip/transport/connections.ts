import { randomInt } from 'node:crypto';
import { connect, createServer, isIP, isIPv6, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { sourceNetwork } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { ListeningSockets } from '../../lib/listening-sockets.ts';
import type { TlsKeys } from '../../lib/tls.ts';
import { type Frame, StreamFramer } from '../message/stream-framer.ts';
import { type Acceptor, createAcceptor, type Peer } from './acceptors.ts';
import { Connection, type ConnectionLimits, type QueueBudget } from './connection.ts';
import { kindOf, type Protocol } from './kind.ts';
import { type Listen, ListenError, type SendFailure, type Source, type Target } from './transport.ts';
import { MessageFramer } from './web-socket.ts';

export type ConnectionsOptions = {
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** Open connections; at the limit a new one replaces a silent one, or is closed. */
  readonly maxConnections: number;
  /** Connections of one unknown address. */
  readonly maxSourceConnections: number;
  /** How many of them may be in the middle of their handshake. */
  readonly maxSourceHandshakes: number;
  /** How long the handshakes of TLS and of WebSocket may take together, in ms. */
  readonly handshakeTimeout: number;
  /** Queued bytes of all connections together. */
  readonly maxQueuedBytesInAll: number;
  /** Opens listening sockets that another process holds; left out: they are this process's alone. */
  readonly held?: ListeningSockets | undefined;
  /** Certificates; left out: no TLS. */
  readonly tls?: TlsKeys | undefined;
  /** Whether a page of that origin may connect over WebSocket. */
  readonly allowsOrigin: (origin: string) => boolean;
  /** Called for a peer that failed its handshake. */
  readonly onRefused: (peer: Peer, protocol: Protocol, reason: string) => void;
  /** Called for a server that failed verification. */
  readonly onDistrusted: (target: Target, error: Error) => void;
  /** Whether anybody at an address is known. */
  readonly isKnownAddress: (address: string) => boolean;
  readonly admits: (source: Source) => boolean;
  readonly onFrame: (frame: Frame, connection: Connection) => void;
  readonly onClosed: (connection: number, target: Target) => void;
  /** Counts limits that were reached. */
  readonly hit: LimitHit;
  /** Trouble of a listening socket, after it is bound. */
  readonly onError: (error: Error) => void;
};

/** A listener and its protocol. */
type Entrance = { readonly acceptor: Acceptor; readonly protocol: Protocol; readonly listener: number };

export type StreamListener = { readonly port: number; close(): Promise<void> };

/** All connections over TCP, TLS and WebSocket, inbound and outbound, by number or by the peer's address and port. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #byId = new Map<number, Connection>();
  readonly #byPeer = new Map<string, Connection>();
  /** Accepted connections per address. */
  readonly #bySource = new Map<string, number>();
  /** Those in the middle of their handshake, oldest first, with the source they count for. */
  readonly #entering = new Map<Socket, string>();
  readonly #budget: QueueBudget;
  /** Also unique over restarts: saved calls and registrations name their connections. */
  #nextId = randomInt(2 ** 47);
  #onEmpty: (() => void) | undefined;
  #onEntered: (() => void) | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#budget = { queued: 0, makeRoom: (bytes, asking) => this.#makeRoom(bytes, asking), hit: options.hit };
  }

  /** Number of open connections, handshakes included. */
  get size(): number {
    return this.#byId.size + this.#entering.size;
  }

  /**
   * Listens for connections. @throws ListenError (as a rejection) if the address, port or certificate cannot be used.
   */
  async listen(listen: Listen, listener: number): Promise<StreamListener> {
    const { protocol } = listen;
    const { tls, allowsOrigin, onRefused, held } = this.#options;
    const acceptor = createAcceptor(listen, {
      tls,
      allowsOrigin,
      onRefused: (peer, reason) => onRefused(peer, protocol, reason),
    });
    const server = createServer({ noDelay: true, keepAlive: true }, (socket) =>
      this.#accept(socket, { acceptor, protocol, listener }),
    );
    return new Promise((resolve, reject) => {
      const refuse = (error: NodeJS.ErrnoException) => reject(new ListenError(listen, error.code ?? 'UNKNOWN', error));
      server.once('error', refuse);
      const listens = (): void => {
        server.off('error', refuse);
        server.on('error', this.#options.onError);
        resolve({ port: portOf(server), close: () => new Promise((closed) => server.close(() => closed())) });
      };
      const address = { port: listen.port, host: listen.host, ipv6Only: isIPv6(listen.host) };
      if (!held) return server.listen({ ...address, exclusive: true }, listens);
      try {
        server.listen({ fd: held.open('connections', address), exclusive: true }, listens);
      } catch (error) {
        refuse(error as NodeJS.ErrnoException);
      }
    });
  }

  /** Sends over the target's connection if open, else over one to the same peer, else over a new one. */
  send(bytes: Buffer, target: Target, listener: number, onFailure: (failure: SendFailure) => void): void {
    const connection = this.#openOne(target) ?? this.#open(target, listener);
    if (connection) connection.send(bytes, onFailure);
    else onFailure({ reason: 'connect', target });
  }

  /** Whether there is an open connection to the target. */
  has(target: Target): boolean {
    return this.#openOne(target) !== undefined;
  }

  #openOne(target: Target): Connection | undefined {
    const own = target.connection === undefined ? undefined : this.#byId.get(target.connection);
    const known = own?.isOpen ? own : this.#byPeer.get(peerKey(target));
    return known?.isOpen ? known : undefined;
  }

  /** Resolves when no handshake is under way. */
  async entered(): Promise<void> {
    if (this.#entering.size > 0) await new Promise<void>((resolve) => (this.#onEntered = resolve));
  }

  /** Closes all directly, without a turn of the event loop; those over TLS in order. Nobody is told. */
  cut(): void {
    for (const connection of this.#byId.values()) connection.cut();
    for (const socket of this.#entering.keys()) socket.destroy();
  }

  /** Closes all connections; resolves when they are closed. */
  close(): Promise<void> {
    for (const connection of this.#byId.values()) connection.destroy();
    for (const socket of this.#entering.keys()) socket.destroy();
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#onEmpty = resolve));
  }

  #accept(socket: Socket, { acceptor, protocol, listener }: Entrance): void {
    const { remoteAddress: address, remotePort: port } = socket;
    if (address === undefined || port === undefined || this.#isFullFor(address) || !this.#makePlace()) {
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    const source = sourceNetwork(address);
    this.#bySource.set(source, (this.#bySource.get(source) ?? 0) + 1);
    socket.once('close', () => this.#forgetSource(source));
    const target: Target = { protocol, address, port, listener };
    if (protocol !== 'tcp' && !this.#beginHandshake(socket, source, target)) return;
    acceptor.enter(socket, (stream) => {
      if (protocol !== 'tcp' && !this.#entering.delete(socket)) return stream.destroy();
      this.#add(stream, target, listener);
      this.#told();
    });
  }

  /** A handshake costs as much as many messages, so the rate limiter covers it too. */
  #beginHandshake(socket: Socket, source: string, target: Target): boolean {
    const { clock, maxSourceHandshakes, handshakeTimeout, isKnownAddress, admits, onRefused } = this.#options;
    socket.on('error', () => {});
    const { hit } = this.#options;
    const under = [...this.#entering.values()].filter((each) => each === source).length;
    const isTooMany = under >= maxSourceHandshakes && !isKnownAddress(target.address);
    if (isTooMany) hit('sip.limits.source_handshakes');
    if (isTooMany || !admits({ ...target, listener: target.listener! })) {
      socket.destroy();
      return false;
    }
    this.#entering.set(socket, source);
    const timer = clock.setTimeout(() => {
      if (!this.#entering.has(socket)) return;
      hit('sip.limits.handshake');
      onRefused(target, target.protocol, 'its handshake took too long');
      socket.destroy();
    }, handshakeTimeout);
    socket.once('close', () => {
      clock.clearTimeout(timer);
      if (this.#entering.delete(socket)) this.#told();
    });
    return true;
  }

  #isFullFor(address: string): boolean {
    const { maxSourceConnections, isKnownAddress, hit } = this.#options;
    if ((this.#bySource.get(sourceNetwork(address)) ?? 0) < maxSourceConnections || isKnownAddress(address))
      return false;
    hit('sip.limits.source_connections');
    return true;
  }

  #forgetSource(source: string): void {
    const left = this.#bySource.get(source)! - 1;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }

  /** At the limit, closes the oldest connection without a message; false if there is none. */
  #makePlace(): boolean {
    if (this.size < this.#options.maxConnections) return true;
    this.#options.hit('sip.limits.connections');
    const [entering] = this.#entering.keys();
    if (entering) {
      entering.destroy();
      return true;
    }
    for (const connection of this.#byId.values()) {
      if (connection.isProved || !connection.isOpen) continue;
      connection.destroy();
      return true;
    }
    return false;
  }

  #makeRoom(bytes: number, asking: Connection): boolean {
    while (this.#budget.queued + bytes > this.#options.maxQueuedBytesInAll) {
      this.#options.hit('sip.limits.connection_queues');
      let greediest = asking;
      for (const connection of this.#byId.values()) if (connection.queued > greediest.queued) greediest = connection;
      if (greediest === asking) return false;
      greediest.destroy();
    }
    return true;
  }

  /** Undefined where only the peer can open a connection. */
  #open(target: Target, listener: number): Connection | undefined {
    if (kindOf(target.protocol).webSocket) return undefined;
    const family = isIPv6(target.address) ? 6 : 4;
    const to = {
      host: target.address,
      port: target.port,
      lookup: (
        host: string,
        options: { all?: boolean | undefined },
        callback: (error: null, found: never, family?: number) => void,
      ) => (options.all ? callback(null, [{ address: host, family }] as never) : callback(null, host as never, family)),
    };
    if (target.protocol === 'tcp') return this.#add(connect(to).setNoDelay(true), target, listener, 'connect');
    return this.#openTls(to, target, listener);
  }

  /** The certificate must match the name that was looked up, or the address (RFC 5922 7.2). */
  #openTls(to: { host: string; port: number }, target: Target, listener: number): Connection {
    const { tls, onDistrusted } = this.#options;
    const { serverName } = target;
    const socket = connectTls({
      ...to,
      ...tls?.client,
      ...(serverName !== undefined && isIP(serverName) === 0 && { servername: serverName }),
      rejectUnauthorized: true,
    });
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      // One that is not there has proved nothing wrong.
      if (!socket.authorized && (error as NodeJS.ErrnoException).syscall !== 'connect') onDistrusted(target, error);
    });
    return this.#add(socket, target, listener, 'secureConnect');
  }

  /** @param connectEvent the event that says that it is connected; left out when it is. */
  #add(stream: Duplex, target: Target, listener: number, connectEvent?: 'connect' | 'secureConnect'): Connection {
    const connected = connectEvent === undefined;
    const { clock, limits, admits, onFrame } = this.#options;
    const { protocol, address, port, serverName } = target;
    const budget = this.#budget;
    const named = connected || serverName === undefined ? {} : { serverName };
    const source = { protocol, address, port, listener, connection: this.#nextId++, ...named } as const;
    const onClosed = (closed: Connection) => this.#remove(closed);
    const connection = new Connection({
      stream,
      framer: kindOf(protocol).webSocket ? new MessageFramer() : new StreamFramer(),
      connectEvent,
      source,
      connected,
      clock,
      limits,
      budget,
      admits,
      onFrame,
      onClosed,
    });
    this.#byId.set(source.connection, connection);
    this.#byPeer.set(peerKey(source), connection);
    return connection;
  }

  #remove(connection: Connection): void {
    const { source } = connection;
    this.#byId.delete(source.connection!);
    if (this.#byPeer.get(peerKey(source)) === connection) this.#byPeer.delete(peerKey(source));
    this.#options.onClosed(source.connection!, source);
    this.#told();
  }

  /** One less is open, or in its handshake. */
  #told(): void {
    if (this.#entering.size === 0) this.#onEntered?.();
    if (this.size === 0) this.#onEmpty?.();
  }
}

/** A connection verified for one name is not used for another name or without one, and vice versa. */
function peerKey({ protocol, address, port, serverName = '' }: Target): string {
  return `${protocol} ${address} ${port} ${serverName}`;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
