import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { sourceNetwork } from '../lib/addresses.ts';
import type { Clock } from '../lib/clock.ts';
import { cutConnection } from '../lib/cut-connection.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { createTally } from '../lib/tally.ts';

/** Limits of client connections; names as in `http.limits`. */
export type ConnectionLimits = {
  /** Connections at the same time, WebSockets included. */
  connections: number;
  /** Those of one address, as a part of all; of the octets that wait as well. */
  address_share: number;
  /** Requests that may wait on one connection while an earlier one is answered. */
  pipelined: number;
  /** How long a client may take to read an answer, in s. */
  response_timeout: number;
  /** Octets of answers that may wait for all clients together. */
  unread_total: number;
};

type ConnectionsDeps = {
  limits: ConnectionLimits;
  clock: Clock;
  log: Logger;
  /** Counts limits that were reached. */
  hit?: LimitHit | undefined;
};

/**
 * The server's connections: their number, and the unread bytes of slow clients. At the limit the oldest unauthenticated
 * connection is closed. So strangers only displace strangers, first of their own address.
 */
export interface Connections {
  /** Watches the connections of a server from here on. */
  attach(server: Server): void;
  /** A request over the connection had credentials that fit. */
  proved(socket: Socket): void;
  /**
   * Accepts a pipelined request. False beyond the limit: then it is refused, the connection is no longer read, and
   * later requests are dropped.
   */
  mayWait(outgoing: ServerResponse): boolean;
  readonly size: number;
  /** The sockets of connections that are no WebSockets. */
  sockets(): Socket[];
  /** How many are in the middle of their TLS handshake. */
  readonly handshakes: number;
  /** Closes all directly, without a turn of the event loop; those over TLS in order, if their handshake is done. */
  cut(): void;
  /** Watches no longer. */
  close(): void;
}

/** Connections by their numbers, in the order in which they came. */
type Numbered = SlotMap<number, Connection>;
type Source = { connections: number; strangers: Numbered };
type Connection = {
  readonly number: number;
  /** Over TLS the one within, as soon as the handshake is done. */
  socket: Socket;
  readonly address: string;
  /** Address and port. */
  readonly peer: string;
  readonly source: Source;
  proved: boolean;
  /** It became a WebSocket, which others watch. */
  upgraded: boolean;
  /** It sent a request too many: it is closed behind that one's answer. */
  full: boolean;
  /** Requests that wait behind others. */
  waiting: number;
  /** Octets that must have been read by `readBy` (monotonic, in ms); undefined when nothing waits. */
  due: { octets: number; readBy: number } | undefined;
};
/** A connection with so many octets that its client has not read. */
type Waiting = { connection: Connection; unread: number };

/**
 * Keeps Node from parsing the rest of what it has read of a connection: 1,000 requests and more come in one piece. Its
 * parser takes the answer 2 ("an upgrade") as the end. It is not documented: where it is not there, what is parsed is dropped.
 */
function stopParsing(socket: Socket & { parser?: { onIncoming?: unknown } | null }): void {
  socket.pause();
  if (socket.parser?.onIncoming) socket.parser.onIncoming = () => 2;
}

const sweepMs = 1000;
/** A connection with more unread octets than this has no further request answered. */
const unreadPerConnection = 65_536;

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Disconnects clients that do not read their answers: too slowly, or with too many octets waiting. */
function createSlowWatch({ limits, clock, log, hit = uncounted }: ConnectionsDeps, all: Numbered) {
  const tellSlow = createTally(clock, log, 'a connection was closed: its client does not read the answers');
  let timer: unknown;

  const slow = (connection: Connection, octets: number, limit: string): void => {
    hit(limit);
    tellSlow({ client: connection.address, bytes: octets });
    connection.socket.destroy();
  };
  /** Octets that wait for the client; it is cut off when it had the time to read them. */
  const look = (connection: Connection): number => {
    const { socket, due } = connection;
    const unread = socket.writableLength;
    if (unread === 0) {
      connection.due = undefined;
      return 0;
    }
    const now = clock.monotonic();
    if (due === undefined || socket.bytesWritten - unread >= due.octets) {
      connection.due = { octets: socket.bytesWritten, readBy: now + limits.response_timeout * 1000 };
    } else if (now >= due.readBy) slow(connection, unread, 'http.limits.response_timeout');
    return unread;
  };
  /** Disconnects the clients with the most unread bytes until the rest is within the limit. */
  const relieve = (waiting: readonly Waiting[], most: number): void => {
    const left = waiting.filter(({ connection }) => !connection.socket.destroyed);
    let total = left.reduce((sum, { unread }) => sum + unread, 0);
    if (total <= most) return;
    for (const { connection, unread } of left.sort((one, other) => other.unread - one.unread)) {
      if (total <= most) break;
      slow(connection, unread, 'http.limits.unread_total');
      total -= unread;
    }
  };
  const sweep = (): void => {
    const waiting: Waiting[] = [];
    const bySource = new Map<Source, Waiting[]>();
    for (const connection of all.values()) {
      const unread = connection.upgraded ? 0 : look(connection);
      if (unread === 0 || connection.socket.destroyed) continue;
      const one = { connection, unread };
      waiting.push(one);
      const those = bySource.get(connection.source);
      if (those) those.push(one);
      else bySource.set(connection.source, [one]);
    }
    // An address above its share loses connections before others.
    const share = Math.floor(limits.unread_total * limits.address_share);
    for (const those of bySource.values()) relieve(those, share);
    relieve(waiting, limits.unread_total);
    timer = clock.setTimeout(sweep, sweepMs);
  };

  return {
    start: () => {
      timer = clock.setTimeout(sweep, sweepMs);
    },
    close: () => clock.clearTimeout(timer),
  };
}

/** Many requests may come in one piece: those behind one too many are not even looked at. */
function dropExcess(server: Server, isFull: (socket: Socket) => boolean): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (incoming, outgoing) => {
    if (isFull(incoming.socket)) return;
    for (const listener of listeners) listener.call(server, incoming, outgoing);
  });
}

/** Counts a request that waits behind others. @returns false for one too many, with which reading ends. */
function takeRequest(connection: Connection, outgoing: ServerResponse, most: number): boolean {
  if (connection.waiting >= most || connection.socket.writableLength > unreadPerConnection) {
    connection.full = true;
    stopParsing(connection.socket);
    return false;
  }
  connection.waiting++;
  outgoing.once('close', () => {
    connection.waiting--;
  });
  return true;
}

/** Watches nothing before {@link Connections.attach}. */
function cutAll(connections: Iterable<{ socket: Socket }>): void {
  for (const { socket } of connections) cutConnection(socket);
}

export function createConnections(deps: ConnectionsDeps): Connections {
  const { limits, clock, log, hit = uncounted } = deps;
  const all: Numbered = new SlotMap();
  const bySocket = new WeakMap<Socket, Connection>();
  const sources = new Map<string, Source>();
  const strangers: Numbered = new SlotMap();
  let last = 0;
  const perAddress = (): number => Math.max(1, Math.floor(limits.connections * limits.address_share));
  const tellClosed = createTally(clock, log, 'a connection was closed to keep their number within the limit');
  /** Those in the middle of their TLS handshake, by address and port. */
  const greeting = new SlotMap<string, Connection>();
  const slow = createSlowWatch(deps, all);

  const forget = (connection: Connection): void => {
    const { number, source, address } = connection;
    if (!all.delete(number)) return;
    bySocket.delete(connection.socket);
    greeting.delete(connection.peer);
    strangers.delete(number);
    source.strangers.delete(number);
    source.connections--;
    if (source.connections === 0) sources.delete(address);
  };
  /** Closes the connection that is unauthenticated longest; the newest if all are authenticated. */
  const closeOne = (candidates: Numbered, limit: string): void => {
    const [victim] = candidates.values();
    hit(limit);
    if (!victim) return;
    tellClosed({ client: victim.address, limit });
    forget(victim);
    victim.socket.destroy();
  };
  const take = (socket: Socket): void => {
    // One that was offered another protocol is put back and comes again.
    if (bySocket.has(socket)) return;
    const address = sourceNetwork(socket.remoteAddress ?? '');
    const source = sources.get(address) ?? { connections: 0, strangers: new SlotMap() };
    const connection: Connection = {
      ...{ number: ++last, socket, address, peer: peerOf(socket), source, proved: false, upgraded: false },
      ...{ full: false, waiting: 0, due: undefined },
    };
    sources.set(address, source);
    source.connections++;
    bySocket.set(socket, connection);
    for (const each of [all, strangers, source.strangers]) each.set(connection.number, connection);
    socket.once('close', () => forget(connection));
    if (source.connections > perAddress()) closeOne(source.strangers, 'http.limits.address_share');
    else if (all.size > limits.connections) closeOne(strangers, 'http.limits.connections');
  };

  /** The requests of a connection over TLS name the socket within. */
  const greeted = (secure: Socket): void => {
    const connection = greeting.get(peerOf(secure));
    if (!connection) return;
    greeting.delete(connection.peer);
    bySocket.delete(connection.socket);
    connection.socket = secure;
    bySocket.set(secure, connection);
  };

  return {
    attach: (server) => {
      server.on('connection', take);
      dropExcess(server, (socket) => bySocket.get(socket)?.full === true);
      if ('setSecureContext' in server) {
        server.on('connection', (raw) => {
          const connection = bySocket.get(raw);
          if (connection) greeting.set(connection.peer, connection);
        });
        server.on('secureConnection', greeted);
      }
      server.on('upgrade', (request) => {
        const connection = bySocket.get(request.socket);
        if (connection && request.headers.upgrade?.toLowerCase() === 'websocket') connection.upgraded = true;
      });
      slow.start();
    },
    proved: (socket) => {
      const connection = bySocket.get(socket);
      if (!connection || connection.proved) return;
      connection.proved = true;
      strangers.delete(connection.number);
      connection.source.strangers.delete(connection.number);
    },
    mayWait: (outgoing) => {
      const connection = bySocket.get(outgoing.req.socket);
      if (!connection) return true;
      return takeRequest(connection, outgoing, limits.pipelined);
    },
    get size() {
      return all.size;
    },
    sockets: () => [...all.values()].filter(({ upgraded }) => !upgraded).map(({ socket }) => socket),
    get handshakes() {
      return greeting.size;
    },
    cut: () => cutAll(all.values()),
    close: slow.close,
  };
}
