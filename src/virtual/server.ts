import type { ServerIo } from '../build/base.ts';
import type { Config } from '../config/schema.ts';
import type { HttpApp } from '../http/app.ts';
import type { CountedIds } from '../lib/ids.ts';
import type { Logging } from '../logging.ts';
import { type RunningServer, startServer } from '../main.ts';
import type { OpenFiles } from '../media/file/open-files.ts';
import { startInline } from '../media/inline-thread.ts';
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
  /** Data (`dump`) of a closed or failed server to continue from. */
  from?: unknown;
};

/** A whole server on simulated time and a simulated network. */
export type VirtualServer = RunningServer & {
  /** Asks the interface, as over HTTP but without a socket; `authorization` is up to the request. */
  ask(request: Request): Promise<Response>;
  /** Simulates a power failure: no messages, no orderly close; its ports are free. */
  powerOff(): void;
};

/**
 * Starts a whole server in this process without system sockets and timers. Calls, audio and requests happen as
 * simulated time is moved, reproducibly. WebSockets cannot connect to it.
 */
export async function startVirtualServer(options: VirtualServerOptions): Promise<VirtualServer> {
  const { host, logging, seed = 1, from } = options;
  // As many as the machine has would not be the same every time.
  const media = { ...options.config.media, threads: options.config.media.threads || 1 };
  const config = { ...options.config, media };
  const random = createRandom(seed);
  const machine = createVirtualMachine(options.clock, host);
  const { clock, sockets } = machine;
  const opened: OpenFiles[] = [];
  let app: HttpApp['app'] | undefined;
  const io: ServerIo = {
    clock,
    logging,
    ids: options.ids ?? createSeededIds(clock, random),
    openUdp: machine.openUdp,
    resolveHost: (name) => Promise.reject(new Error(`there are no names in a virtual network: ${name}`)),
    startMediaThread: startInline({ clock, sockets, random32: createRandom32(random) }, opened),
    serveHttp: async (served) => {
      app = served.app;
      return {
        address: { address: host.address, port: config.http.port },
        limit: () => {},
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
    ask: async (request) => (app ? app.request(request, undefined, {}) : new Response()),
  };
}
