import type { Config } from '../config/schema.ts';
import type { HttpApp } from '../http/app.ts';
import type { Logging } from '../logging.ts';
import { type RunningServer, startServer } from '../main.ts';
import { startInline } from '../media/inline-thread.ts';
import type { ManualClock } from './manual-clock.ts';
import type { VirtualHost } from './network.ts';
import { createRandom, createRandom32, createSeededIds } from './random.ts';

export type VirtualServerOptions = {
  /** SIP over UDP and audio must be on the host's address. The data directory is a real one. */
  config: Config;
  clock: ManualClock;
  host: VirtualHost;
  logging: Logging;
  /** What chance follows from. */
  seed?: number;
};

/** A whole server on simulated time and a simulated network. */
export type VirtualServer = RunningServer & {
  /** Asks the interface, as over HTTP but without a socket; `authorization` is up to the request. */
  ask(request: Request): Promise<Response>;
};

/**
 * Starts a whole server in this process that opens no socket and sets no timer of the system: calls, audio and
 * requests happen as simulated time is moved, the same every time. Nobody can connect a WebSocket to it.
 */
export async function startVirtualServer(options: VirtualServerOptions): Promise<VirtualServer> {
  const { config, clock, host, logging, seed = 1 } = options;
  const random = createRandom(seed);
  let app: HttpApp['app'] | undefined;
  const running = await startServer(config, {
    clock,
    logging,
    ids: createSeededIds(clock, random),
    openUdp: host.openUdp,
    resolveHost: (name) => Promise.reject(new Error(`there are no names in a virtual network: ${name}`)),
    startMediaThread: startInline({ clock, sockets: host.sockets, random32: createRandom32(random) }),
    serveHttp: async (served) => {
      app = served.app;
      return {
        address: { address: host.address, port: config.http.port },
        limit: () => {},
        close: async () => served.connections.close(),
      };
    },
  });
  return { ...running, ask: async (request) => (app ? app.request(request, undefined, {}) : new Response()) };
}
