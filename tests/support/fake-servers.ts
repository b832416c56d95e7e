import type { Channels } from '../../src/actors/channels.ts';
import { createExternalConnections } from '../../src/actors/external-connections.ts';
import { tellLearned } from '../../src/actors/external-media.ts';
import type { Runtime } from '../../src/actors/spawn.ts';
import { createExternalDriver } from '../../src/drivers/external/external.ts';
import type { Ids } from '../../src/lib/ids.ts';
import type { ExternalReport, ExternalSession } from '../../src/telephony/external.ts';
import { FakeMedia } from './fake-audio.ts';

/** The end of a connection to a server; the test tells what the server does. */
export class FakeServer extends FakeMedia implements ExternalSession {
  readonly hears: (report: ExternalReport) => void;
  readonly #closed: () => void;

  constructor(id: string, hears: (report: ExternalReport) => void, closed: () => void) {
    super(id, () => {});
    this.hears = hears;
    this.#closed = closed;
  }

  attach(): void {}

  persist(): void {}
  reconnect(): void {}

  override close(): void {
    super.close();
    this.#closed();
  }
}

/** Channels whose far side is a server (`AudioSocket/host:port/uuid`), with everything real but the connection. */
export function createFakeServers({ channels, runtime, ids }: { channels: Channels; runtime: Runtime; ids: Ids }) {
  const { log } = runtime;
  /** Those that are open, by the id of their channel. */
  const servers = new Map<string, FakeServer>();
  const connections = createExternalConnections({
    ...{ runtime, log, most: 100 },
    ...{ connectionTimeoutMs: 3_000, arrivalTimeoutMs: 30_000, resumption: { attempts: 1, intervalMs: 1_000 } },
  });
  const driver = createExternalDriver({
    media: {
      openRtp: () => Promise.reject(new Error('there is no RTP here')),
      reopenRtp: () => Promise.reject(new Error('there is no RTP here')),
      openExternal(id, _request, told) {
        const server = new FakeServer(id, told, () => servers.delete(id));
        servers.set(id, server);
        return server;
      },
    },
    ...{ ids, log, connections },
    webSockets: new Map(),
    resolveHost: (host) => Promise.reject(new Error(`there is no ${host}`)),
    localAddress: () => '127.0.0.1',
    learned: (channelId, variables) => tellLearned(channels, channelId, variables),
  });
  for (const each of driver.drivers) channels.addDriver(each);
  return { servers, connections, driver };
}
