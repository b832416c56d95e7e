import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ServerIo } from '../../../src/build/base.ts';
import { startHttpServer } from '../../../src/http/server.ts';
import { ProgramWatch } from './program-watch.ts';

/** Quiet looks until programs are asked whether they work: asking costs more than a step of simulated time. */
const looksUntilRest = 10;

/** An empty ping, and the octets of the pong that answers it: what a client sends is masked (RFC 6455 5.2). */
const toClient = { ping: Buffer.from([0x89, 0]), pongOctets: 6 };
const toServer = { ping: Buffer.from([0x89, 0x80, 0, 0, 0, 0]), pongOctets: 2 };
/** How long a client may take to answer a ping, in ms of real time. */
const pongMs = 2_000;
/** Answered pings after which a program has had time for a request: its event loop has turned as often. */
const turns = 4;

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A program with a WebSocket, which it or the server has opened. */
type Client = {
  socket: Socket;
  app: string;
  probe: typeof toClient;
  /** It has not answered a ping. */
  isDeaf?: boolean;
};

/** Hears of requests, before they are carried out and when they are answered. */
type RequestHook = { before(request: Request): Promise<Request>; after(request: Request, status: number): void };

/**
 * Serves the interface on 127.0.0.1 and notices what goes over its connections. So a test can wait until the programs
 * that use it have nothing more to do: what was sent to them has arrived (they answer pings), no request is under way, no
 * thread of a program that the test has started works, and nothing comes for `quietMs`.
 */
export class HttpWatch {
  readonly #sockets = new Set<Socket>();
  readonly #clients = new Set<Client>();
  #looks = 0;
  readonly #quietMs: number;
  /** The programs that the test has started. */
  readonly programs = new ProgramWatch();
  #running = 0;
  /** Octets of pings and pongs. */
  #probed = 0;
  /** Octets of connections that have ended. */
  #past = 0;
  #requests = 0;
  #settled = -1;
  #port = 0;
  hook: RequestHook | undefined;
  /** The hook keeps requests back: programs that wait for their answers count as quiet. */
  held = false;

  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** A port once chosen is kept over restarts, so that programs find the server again. */
  readonly serve: NonNullable<ServerIo['serveHttp']> = async (served, options, deps) => {
    const app = {
      fetch: async (...[asked, ...rest]: Parameters<typeof served.app.fetch>) => {
        this.#running++;
        this.#requests++;
        try {
          const request = this.hook ? await this.hook.before(asked) : asked;
          const response = await served.app.fetch(request, ...rest);
          this.hook?.after(request, response.status);
          return response;
        } finally {
          this.#running--;
        }
      },
    } as typeof served.app;
    const connections: typeof served.connections = Object.create(served.connections);
    connections.attach = (server) => {
      this.#follow(server as Server);
      served.connections.attach(server);
    };
    // Simulated time stands still while the event loop polls.
    const limits = { ...options.limits, busy_poll: 0 };
    const http = await startHttpServer({ ...served, app, connections }, { ...options, limits, port: this.#port }, deps);
    this.#port = http.address.port;
    return http;
  };

  /** Follows a WebSocket that the server has opened to a program. */
  readonly hearOutbound: NonNullable<ServerIo['hearOutbound']> = (socket, applications) => {
    this.#count(socket);
    this.#add({ socket, app: applications.join(','), probe: toServer });
  };

  /** Requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** The applications of each WebSocket. */
  get apps(): string[][] {
    return [...this.#clients].map(({ app }) => app.split(','));
  }

  /** Cuts the WebSockets of an application. @returns how many. */
  drop(app: string): number {
    const cut = [...this.#clients].filter((client) => client.app.split(',').includes(app));
    for (const { socket } of cut) socket.destroy();
    return cut.length;
  }

  /** Cuts every connection, as the end of the process would. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  isConnected(app?: string): boolean {
    return [...this.#clients].some((client) => app === undefined || client.app.split(',').includes(app));
  }

  /** Waits, in real time, until the programs are quiet. @returns whether they had anything to do. */
  async settle(): Promise<boolean> {
    if (this.held) return false;
    if (this.#running === 0 && this.#octets() === this.#settled) {
      // A program that gets no turn of the processor is not quiet.
      if (++this.#looks % looksUntilRest !== 0) return false;
      await this.programs.atRest();
      await this.#arrived();
      if (this.#running === 0 && this.#octets() === this.#settled) return false;
    }
    for (;;) {
      await this.#arrived();
      const before = this.#octets();
      await later(this.#quietMs);
      await this.programs.atRest();
      for (let turn = 0; turn < turns; turn++) await this.#arrived();
      if (this.held) return false;
      if (this.#octets() === before && this.#running === 0) break;
    }
    this.#settled = this.#octets();
    return true;
  }

  /** Everything sent over WebSockets has arrived. */
  async #arrived(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => this.#ping(client)));
  }

  /** Sends a ping, and waits for the pong. */
  async #ping(client: Client): Promise<void> {
    const { socket, probe } = client;
    if (client.isDeaf || socket.destroyed) return;
    const wanted = socket.bytesRead + probe.pongOctets;
    socket.write(probe.ping);
    this.#probed += probe.ping.length + probe.pongOctets;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        socket.off('data', look).off('close', end);
        resolve();
      };
      const look = () => {
        if (socket.bytesRead >= wanted) end();
      };
      const timer = setTimeout(() => {
        client.isDeaf = true;
        end();
      }, pongMs);
      socket.on('data', look).once('close', end);
    });
  }

  /** Octets of everything but pings. */
  #octets(): number {
    let octets = this.#past - this.#probed;
    for (const { bytesRead, bytesWritten } of this.#sockets) octets += bytesRead + bytesWritten;
    return octets;
  }

  #count(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#past += socket.bytesRead + socket.bytesWritten;
    });
  }

  #add(client: Client): void {
    this.#clients.add(client);
    client.socket.once('close', () => this.#clients.delete(client));
  }

  #follow(server: Server): void {
    server.on('connection', (socket: Socket) => this.#count(socket));
    server.prependListener('upgrade', (request, socket: Socket) => {
      const app = new URL(request.url ?? '', 'http://localhost').searchParams.get('app');
      if (app === null) return;
      // The handshake comes first: a ping before it would not be understood.
      const open = () => {
        if (socket.destroyed) return;
        if (socket.bytesWritten > 0) this.#add({ socket, app, probe: toClient });
        else setImmediate(open);
      };
      open();
    });
  }
}
