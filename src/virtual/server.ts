import type { ServerIo } from '../build/base.ts';
import type { Config } from '../config/schema.ts';
import type { HttpApp } from '../http/app.ts';
import type { HttpServer } from '../http/server.ts';
import { type CountedIds, markFor } from '../lib/ids.ts';
import type { Logging } from '../logging.ts';
import { type RunningServer, startServer } from '../main.ts';
import type { OpenFiles } from '../media/file/open-files.ts';
import { startInline } from '../media/inline-thread.ts';
import type { MediaThread, StartThread } from '../media/start-worker.ts';
import { createVirtualMachine } from './machine.ts';
import type { ManualClock } from './manual-clock.ts';
import type { VirtualHost } from './network.ts';
import { createRandom, createRandom32, createSeededIds } from './random.ts';

type VirtualServerOptions = {
  /** SIP over UDP and audio must be on the host's address. The data directory is a real one. */
  config: Config;
  clock: ManualClock;
  host: VirtualHost;
  logging: Logging;
  /** Seed of random numbers. */
  seed?: number;
  /** Source of ids; default: from the seed. */
  ids?: CountedIds;
  /** Serves the interface on real sockets as well; left out: only `ask` reaches it. */
  serveHttp?: ServerIo['serveHttp'];
  /** Hears of the WebSockets that the server opens to applications. */
  hearOutbound?: ServerIo['hearOutbound'];
  /** Writes to the file of the state store. */
  writeState?: ServerIo['writeState'];
  /** Hears every event. */
  hear?: ServerIo['hear'];
  /** Connects it with the other nodes of a cluster. */
  clusterLink?: ServerIo['clusterLink'];
  /** Data (`dump`) of a closed or failed server to continue from. */
  from?: unknown;
};

/** A whole server on simulated time and a simulated network. */
export type VirtualServer = RunningServer & {
  /** Ends the media threads, as a fault in them would. */
  endMediaThreads(): Promise<void>;
  /** Fills the disk for recordings, or makes room: what is written then fails as on a full disk. */
  fillDisk(on: boolean): void;
  /** Asks the interface, as over HTTP but without a socket; `authorization` is up to the request. */
  ask(request: Request): Promise<Response>;
  /** Simulates a power failure: no messages, no orderly close; its ports are free. */
  powerOff(): void;
  /** After a power failure: cuts the connections of its clients, and frees the address that `serveHttp` opened. */
  abandon(): Promise<void>;
};

/**
 * Starts a whole server in this process without system sockets and timers. Calls, audio and requests happen as
 * simulated time is moved, reproducibly. WebSockets can only connect to it with `serveHttp`.
 */
export async function startVirtualServer(options: VirtualServerOptions): Promise<VirtualServer> {
  const { host, logging, seed = 1, from } = options;
  // As many as the machine has would not be the same every time.
  const media = { ...options.config.media, threads: options.config.media.threads || 1 };
  const config = { ...options.config, media };
  const random = createRandom(seed);
  const machine = createVirtualMachine(options.clock, host);
  const { clock } = machine;
  const opened: OpenFiles[] = [];
  const threads: MediaThread[] = [];
  const random32 = createRandom32(random);
  /** A media thread whose timers and sockets end with it, as those of a real thread do. */
  const startThread: StartThread = (start) => {
    const own = createVirtualMachine(clock, { ...host, sockets: machine.sockets });
    const thread = startInline({ clock: own.clock, sockets: own.sockets, random32 }, opened)(start);
    return {
      ...thread,
      terminate() {
        own.powerOff();
        return thread.terminate();
      },
    };
  };
  let diskIsFull = false;
  let app: HttpApp['app'] | undefined;
  let http: HttpServer | undefined;
  const io: ServerIo = {
    clock,
    logging,
    ids: options.ids ?? createSeededIds(clock, random, markFor(config.cluster.name)),
    openUdp: machine.openUdp,
    writeState: options.writeState,
    ...(options.hear && { hear: options.hear }),
    ...(options.clusterLink && { clusterLink: options.clusterLink }),
    ...(options.hearOutbound && { hearOutbound: options.hearOutbound }),
    resolveHost: (name) => Promise.reject(new Error(`there are no names in a virtual network: ${name}`)),
    startMediaThread: (start) => {
      const thread = startThread(start);
      for (const files of opened) files.diskIsFull = diskIsFull;
      threads.push(thread);
      return thread;
    },
    serveHttp: async (served, ...rest) => {
      app = served.app;
      if (options.serveHttp) return (http = await options.serveHttp(served, ...rest));
      return {
        address: { address: host.address, port: config.http.port },
        limit: () => {},
        leave: async () => {},
        cut: () => {},
        close: async () => served.connections.close(),
      };
    },
  };
  const running = await startServer(config, io, from);
  return {
    ...running,
    powerOff() {
      machine.powerOff();
      // The system closes the files of a process that is gone.
      for (const files of opened) void files.closeAll();
    },
    abandon: async () => http?.close(0),
    async endMediaThreads() {
      await Promise.all(threads.splice(0).map((thread) => thread.terminate()));
    },
    fillDisk(on) {
      diskIsFull = on;
      for (const files of opened) files.diskIsFull = on;
    },
    ask: async (request) => (app ? app.request(request, undefined, {}) : new Response()),
  };
}
