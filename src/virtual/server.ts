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
  /** What chance follows from. */
  seed?: number;
  /** Where identifiers come from; they follow from the seed when left out. */
  ids?: CountedIds;
  /** What a server saved (`dump`) that is closed or has lost its power: this one goes on with it. */
  from?: unknown;
};

/** A whole server on simulated time and a simulated network. */
export type VirtualServer = RunningServer & {
  /** Asks the interface, as over HTTP but without a socket; `authorization` is up to the request. */
  ask(request: Request): Promise<Response>;
  /** Ends it as a power failure would: nobody is told, nothing is closed properly, its ports are free. */
  powerOff(): void;
};

/**
 * Starts a whole server in this process that opens no socket and sets no timer of the system: calls, audio and
 * requests happen as simulated time is moved, the same every time. Nobody can connect a WebSocket to it.
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
