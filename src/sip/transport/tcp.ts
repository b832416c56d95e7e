import { connect, createServer, isIPv6, type Server, type Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { Frame } from '../message/stream-framer.ts';
import { type ConnectionLimits, TcpConnection } from './tcp-connection.ts';
import { type Listen, ListenError, type SendFailure, type Target } from './transport.ts';

export type TcpOptions = {
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** How many connections may be open; further ones are closed as they come. */
  readonly maxConnections: number;
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
  #nextId = 1;
  #onEmpty: (() => void) | undefined;

  constructor(options: TcpOptions) {
    this.#options = options;
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
    const { remoteAddress, remotePort } = socket;
    if (this.#byId.size >= this.#options.maxConnections || remoteAddress === undefined || remotePort === undefined) {
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    this.#add(socket, { protocol: 'tcp', address: remoteAddress, port: remotePort }, listener, true);
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
    const { clock, limits, onFrame } = this.#options;
    const source = { protocol: 'tcp', address, port, listener, connection: this.#nextId++ } as const;
    const onClosed = (closed: TcpConnection) => this.#remove(closed);
    const connection = new TcpConnection({ socket, source, connected, clock, limits, onFrame, onClosed });
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
