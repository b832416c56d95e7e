import { connect, createServer, isIPv6, type Server, type Socket } from 'node:net';
import { sourceNetwork } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Frame } from '../message/stream-framer.ts';
import { type ConnectionLimits, type QueueBudget, TcpConnection } from './tcp-connection.ts';
import { type Listen, ListenError, type SendFailure, type Source, type Target } from './transport.ts';

export type TcpOptions = {
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** How many connections may be open; further ones are closed as they come, or take the place of a silent one. */
  readonly maxConnections: number;
  /** How many of them one address may have that nobody knows. */
  readonly maxSourceConnections: number;
  /** What all connections together may have queued, in bytes. */
  readonly maxQueuedBytesInAll: number;
  /** Whether anybody at an address is known. */
  readonly isKnownAddress: (address: string) => boolean;
  readonly admits: (source: Source) => boolean;
  readonly onFrame: (frame: Frame, connection: TcpConnection) => void;
  readonly onClosed: (connection: number, target: Target) => void;
  /** Trouble of a listening socket, after it is bound. */
  readonly onError: (error: Error) => void;
};

export type TcpListener = { readonly port: number; close(): Promise<void> };

/** All TCP connections, those we accepted and those we opened, found by number or by the peer's address and port. */
export class TcpConnections {
  readonly #options: TcpOptions;
  readonly #byId = new Map<number, TcpConnection>();
  readonly #byPeer = new Map<string, TcpConnection>();
  /** Accepted connections per address. */
  readonly #bySource = new Map<string, number>();
  readonly #budget: QueueBudget;
  #nextId = 1;
  #onEmpty: (() => void) | undefined;

  constructor(options: TcpOptions) {
    this.#options = options;
    this.#budget = { queued: 0, makeRoom: (bytes, asking) => this.#makeRoom(bytes, asking) };
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Listens for connections. @throws ListenError (as a rejection) when the address or port cannot be had. */
  listen(listen: Listen, listener: number): Promise<TcpListener> {
    const server = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#accept(socket, listener));
    return new Promise((resolve, reject) => {
      const refuse = (error: NodeJS.ErrnoException) => reject(new ListenError(listen, error.code ?? 'UNKNOWN', error));
      server.once('error', refuse);
      server.listen({ port: listen.port, host: listen.host, ipv6Only: isIPv6(listen.host), exclusive: true }, () => {
        server.off('error', refuse);
        server.on('error', this.#options.onError);
        resolve({ port: portOf(server), close: () => new Promise((closed) => server.close(() => closed())) });
      });
    });
  }

  /** Sends over the target's connection while it is open, else over one to the same peer, else over a new one. */
  send(bytes: Buffer, target: Target, listener: number, onFailure: (failure: SendFailure) => void): void {
    const own = target.connection === undefined ? undefined : this.#byId.get(target.connection);
    const known = own?.isOpen ? own : this.#byPeer.get(peerKey(target));
    const connection = known?.isOpen ? known : this.#open(target, listener);
    connection.send(bytes, onFailure);
  }

  /** Closes every connection at once; resolves when all are gone. */
  close(): Promise<void> {
    for (const connection of this.#byId.values()) connection.destroy();
    if (this.#byId.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#onEmpty = resolve));
  }

  #accept(socket: Socket, listener: number): void {
    const { remoteAddress: address, remotePort: port } = socket;
    if (address === undefined || port === undefined || this.#isFullFor(address) || !this.#makePlace()) {
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    const source = sourceNetwork(address);
    this.#bySource.set(source, (this.#bySource.get(source) ?? 0) + 1);
    socket.once('close', () => this.#forgetSource(source));
    this.#add(socket, { protocol: 'tcp', address, port }, listener, true);
  }

  #isFullFor(address: string): boolean {
    const { maxSourceConnections, isKnownAddress } = this.#options;
    return (this.#bySource.get(sourceNetwork(address)) ?? 0) >= maxSourceConnections && !isKnownAddress(address);
  }

  #forgetSource(source: string): void {
    const left = this.#bySource.get(source)! - 1;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }

  /** A full house closes the oldest connection that has not said anything yet; false when there is none. */
  #makePlace(): boolean {
    if (this.#byId.size < this.#options.maxConnections) return true;
    for (const connection of this.#byId.values()) {
      if (connection.isProved || !connection.isOpen) continue;
      connection.destroy();
      return true;
    }
    return false;
  }

  #makeRoom(bytes: number, asking: TcpConnection): boolean {
    while (this.#budget.queued + bytes > this.#options.maxQueuedBytesInAll) {
      let greediest = asking;
      for (const connection of this.#byId.values()) if (connection.queued > greediest.queued) greediest = connection;
      if (greediest === asking) return false;
      greediest.destroy();
    }
    return true;
  }

  #open(target: Target, listener: number): TcpConnection {
    const family = isIPv6(target.address) ? 6 : 4;
    const socket = connect({
      host: target.address,
      port: target.port,
      lookup: (host, options, callback) =>
        options.all ? callback(null, [{ address: host, family }]) : callback(null, host, family),
    });
    return this.#add(socket, target, listener, false);
  }

  #add(socket: Socket, { address, port }: Target, listener: number, connected: boolean): TcpConnection {
    const { clock, limits, admits, onFrame } = this.#options;
    const budget = this.#budget;
    const source = { protocol: 'tcp', address, port, listener, connection: this.#nextId++ } as const;
    const onClosed = (closed: TcpConnection) => this.#remove(closed);
    const connection = new TcpConnection({
      socket,
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

  #remove(connection: TcpConnection): void {
    const { source } = connection;
    this.#byId.delete(source.connection!);
    if (this.#byPeer.get(peerKey(source)) === connection) this.#byPeer.delete(peerKey(source));
    this.#options.onClosed(source.connection!, source);
    if (this.#byId.size === 0) this.#onEmpty?.();
  }
}

function peerKey({ address, port }: Target): string {
  return `${address} ${port}`;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
