import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { isIP, Server as NetServer, type Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { atMost } from '../lib/at-most.ts';
import type { TurnChanges } from '../lib/changes.ts';
import type { Clock } from '../lib/clock.ts';
import { watchCores } from '../lib/core-pressure.ts';
import { handshakeFailure } from '../lib/handshake-failure.ts';
import type { ListeningSockets } from '../lib/listening-sockets.ts';
import type { Logger } from '../lib/log.ts';
import { createTally } from '../lib/tally.ts';
import type { TlsKeys } from '../lib/tls.ts';
import type { HttpApp } from './app.ts';
import { createBusyPoll } from './busy-poll.ts';
import { endIdle, idleConnections, takeConnection } from './left-connections.ts';

export type ServerOptions = {
  bind: string;
  /** 0 lets the system choose. */
  port: number;
  /** https and wss, and nothing else. */
  tls: boolean;
  limits: {
    /** Longest that a client may take to send a whole request, in s. */
    request_timeout: number;
    /** Longest that a client may take to send the head of a request, and to begin at all, in s. */
    header_timeout: number;
    /** Bytes of all headers of a request together. */
    headers: number;
    /** How long an idle connection is kept for the next request, in s. */
    keep_alive: number;
    /** How long to look for the next request before sleeping, in µs; 0 never. */
    busy_poll: number;
  };
};

/** A server that listens. */
export interface HttpServer {
  /** Applies other times; open connections keep theirs. */
  limit(limits: ServerOptions['limits']): void;
  /** Its address, with the actual port. */
  readonly address: { address: string; port: number };
  /**
   * Accepts no more connections and resolves when every request is answered and every TLS handshake is done, or after so many
   * ms. WebSockets stay: who takes over here serves them when they come back.
   */
  leave(graceMs: number): Promise<void>;
  /** Closes all connections directly: the process ends. Behind {@link leave}. */
  cut(): void;
  /**
   * Stops accepting requests, sends 1001 to WebSockets, lets running requests finish and closes every connection; after
   * `graceMs` the rest is cut.
   */
  close(graceMs?: number): Promise<void>;
}

function limit(server: Server, limits: ServerOptions['limits']): void {
  // A client that sends its request a byte at a time is cut off after this long.
  server.requestTimeout = limits.request_timeout * 1000;
  server.headersTimeout = Math.min(limits.header_timeout, limits.request_timeout) * 1000;
  server.keepAliveTimeout = limits.keep_alive * 1000;
  server.maxHeadersCount = 100;
}

function listen(
  server: Server,
  { bind, port }: ServerOptions,
  held: ListeningSockets | undefined,
): Promise<{ address: string; port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const listens = (): void => {
      server.off('error', reject);
      const address = server.address();
      if (address && typeof address === 'object') resolve({ address: address.address, port: address.port });
      else reject(new Error('the server has no address'));
    };
    // A host name stands for addresses that may change: Node looks it up.
    if (!held || !isIP(bind)) server.listen(port, bind, listens);
    else server.listen({ fd: held.open('connections', { host: bind, port, ipv6Only: false }) }, listens);
  });
}

/** Needs of a server of the interface, beside its settings. */
type ServerDeps = {
  clock: Clock;
  log: Logger;
  tls: TlsKeys;
  /** Opens listening sockets that another process holds. */
  held?: ListeningSockets | undefined;
  /** Answers end when what they tell of is written; left out: at once. */
  changes?: Pick<TurnChanges, 'leave'> | undefined;
};

/** The parts of Node's options that certificates decide. */
const certified = ({ server }: TlsKeys) => {
  if (!server) throw new Error('there is no certificate to show (tls.certificates)');
  return server;
};

/** A TLS server uses changed certificates, and logs failed handshakes. */
function followCertificates(server: HttpsServer, { clock, log, tls }: ServerDeps): void {
  tls.onChanged(() => server.setSecureContext(certified(tls)));
  const refused = createTally(clock, log, 'clients did not get through the TLS handshake');
  server.on('tlsClientError', (error, socket) => {
    refused({ client: socket.remoteAddress, reason: handshakeFailure(error, socket) });
    socket.destroy();
  });
}

/** Whether anything follows the head of a request (RFC 9112 6.3). */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

/** Follows the requests that are being answered. */
class Answering {
  readonly #answers = new Set<ServerResponse>();
  #isLeaving = false;
  #lastAt = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Has a request answered. */
  begin(answer: ServerResponse, handle: () => unknown): void {
    this.#answers.add(answer);
    // Before its head is sent, which may be at once.
    if (this.#isLeaving) this.#lastOne(answer);
    const over = (): void => void this.#answers.delete(answer);
    void Promise.resolve(handle()).then(over, over);
  }

  /**
   * Tells clients with each answer that the connection ends. Resolves when no request has come or been answered for a
   * moment, and nothing else is busy. By then, clients that send requests one after another use a new connection.
   */
  async quiet(isBusy: () => boolean): Promise<void> {
    this.#isLeaving = true;
    for (const answer of this.#answers) this.#lastOne(answer);
    do await new Promise<void>((resolve) => void this.#clock.setTimeout(resolve, quietMs));
    while (this.#answers.size > 0 || isBusy() || this.#clock.monotonic() - this.#lastAt < quietMs);
  }

  #lastOne(answer: ServerResponse): void {
    this.#lastAt = this.#clock.monotonic();
    if (!answer.headersSent) answer.setHeader('connection', 'close');
  }
}

/**
 * Between two requests of a client that waits for each answer, in ms: also of one on a busy machine. Calls go on meanwhile, so a
 * longer wait only delays requests over new connections.
 */
const quietMs = 200;

/** Bodies that nobody reads are read away for a while. That costs a timer and four listeners: nothing is done without one. */
function listenerOf({ fetch }: HttpApp['app'], answering: Answering): RequestListener {
  const hostname = 'localhost';
  const withBody = getRequestListener(fetch, { hostname });
  const withoutBody = getRequestListener(fetch, { hostname, autoCleanupIncoming: false });
  return (incoming, outgoing) =>
    answering.begin(outgoing, () => (hasBody(incoming) ? withBody : withoutBody)(incoming, outgoing));
}

/** Serves the interface. Rejects with Node's error (`EADDRINUSE` …) when it cannot listen. */
export async function startHttpServer(
  { app, sockets, connections, unreadable }: HttpApp,
  options: ServerOptions,
  deps: ServerDeps,
): Promise<HttpServer> {
  const { clock, tls } = deps;
  let { limits } = options;
  const serverOptions = {
    ...{ maxHeaderSize: limits.headers, connectionsCheckingInterval: 1000 },
    ...(deps.changes && { ServerResponse: waitingAnswer(deps.changes) }),
  };
  const answering = new Answering(clock);
  const listener = listenerOf(app, answering);
  const handshakeTimeout = limits.header_timeout * 1000;
  const server: Server = options.tls
    ? createHttpsServer({ ...serverOptions, ...certified(tls), handshakeTimeout }, listener)
    : createHttpServer(serverOptions, listener);
  if (options.tls) followCertificates(server as HttpsServer, deps);
  limit(server, options.limits);
  sockets.attach(server);
  const busyPoll = createBusyPoll(clock, options.limits.busy_poll, watchCores(clock).areFree);
  server.on('request', () => busyPoll.awake());
  server.on('clientError', (error, socket) => unreadable(error, socket as Socket, limits));
  const address = await listen(server, options, deps.held);
  connections.attach(server);
  if (!options.tls) for (const descriptor of deps.held?.takeLeft() ?? []) takeConnection(server, descriptor);
  return {
    address,
    async leave(graceMs) {
      // Without closing idle connections, as `server.close` would: a request may be on its way over one.
      NetServer.prototype.close.call(server);
      await atMost(
        clock,
        graceMs,
        answering.quiet(() => connections.handshakes > 0),
      );
      // The keys of TLS are in this process.
      if (options.tls) endIdle(server, connections.sockets());
      else deps.held?.leave(idleConnections(server, connections.sockets()));
    },
    cut: connections.cut,
    limit: (next) => {
      limits = next;
      limit(server, next);
    },
    close: async (graceMs = 5000) => {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await sockets.close(graceMs);
      const cut = clock.setTimeout(() => server.closeAllConnections(), graceMs);
      await stopped;
      clock.clearTimeout(cut);
      connections.close();
    },
  };
}

/** Responses of a server that end when what they tell of is written. @param changes decides when that is */
const waitingAnswer = ({ leave }: Pick<TurnChanges, 'leave'>): typeof ServerResponse =>
  class WaitingAnswer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    // biome-ignore lint/suspicious/noExplicitAny: the overloads of Node
    override end(...given: any[]): this {
      leave(() => super.end(...given));
      return this;
    }
  };
