import { join } from 'node:path';
import type { ClusterLink } from '../cluster/link.ts';
import type { ClaimedName } from '../cluster/named-link.ts';
import { readReplica, stateSubject } from '../cluster/replica.ts';
import type { StandIn } from '../cluster/takeovers.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { prepareDirectory } from '../stores/durable-file.ts';
import { type Base, openState } from './base.ts';
import { serverDataVersion } from './server-data.ts';

type Services = { clock: Clock; log: Logger };

/**
 * Writes the state of a lost node to the data directory.
 * @param mayReplace the state that is there is of no use. @returns whether there are calls. @throws (rejects) Error with the reason.
 */
export async function writeLostState(
  config: Config,
  { link, claimed, mayReplace }: { link: Pick<ClusterLink, 'kept'>; claimed: ClaimedName; mayReplace: boolean },
  services: Services,
): Promise<boolean> {
  const { cluster, name } = config.cluster;
  const read = (epoch: string) => readReplica(link, stateSubject(cluster, name), { epoch, version: serverDataVersion });
  let kept: Awaited<ReturnType<typeof read>>;
  for (const epoch of claimed.after) kept ??= await read(epoch);
  if (!kept) throw new Error(`NATS has no state of the node '${name}' (cluster.replicate)`);
  const { data_directory: directory } = config.general;
  prepareDirectory(directory);
  let store = openState(config, services);
  try {
    if (store.left.size > 0 && !mayReplace)
      throw new Error(`the data directory ${directory} has a state already; use an empty one`);
    if (store.left.size > 0) {
      store.setAside();
      store = openState(config, services);
    }
    store.commit(kept.entries, kept.events);
  } finally {
    store.close();
  }
  return kept.entries.some(([key]) => key.startsWith('calls.channels '));
}

/** The configuration of a stand-in: that of this server, with the name of the node and ports that are free. */
function configOf(config: Config, node: string): Config {
  const { general, http, sip, media, cluster, applications } = config;
  const perCall = Object.entries(applications).filter(([, { type }]) => type === 'per_call');
  return {
    ...config,
    general: { ...general, data_directory: join(general.data_directory, 'stand-ins', node), entity_id: '' },
    http: { ...http, bind: '127.0.0.1', port: 0, tls: false },
    sip: { ...sip, transports: sip.transports.map((each) => ({ ...each, port: 0 })) },
    // Browsers find this server at these ports, and calls of theirs do not move.
    media: { ...media, webrtc: { ...media.webrtc, udp_port: 0, tcp: { ...media.webrtc.tcp, port: 0 } } },
    cluster: { ...cluster, name: node, stand_ins: 0 },
    // This server has those that stay open.
    applications: Object.fromEntries(perCall),
  };
}

/** Goes on with the calls of a lost node, in this process; undefined if it has none. @throws (rejects) Error with the reason. */
export async function startStandIn(
  base: Base,
  { node, claimed, link }: { node: string; claimed: ClaimedName; link: Pick<ClusterLink, 'kept'> },
): Promise<StandIn | undefined> {
  const { clock, io, log, logChannels } = base;
  const config = configOf(base.config, node);
  if (!(await writeLostState(config, { link, claimed, mayReplace: true }, { clock, log }))) return undefined;
  let fence = (): void => {};
  const fenced = new Promise<void>((resolve) => {
    fence = resolve;
  });
  const server = await io.startServer!(config, {
    // The files stay open for this server.
    logging: { log, logChannels: { ...logChannels, close: async () => {} } },
    standIn: { epoch: claimed.epoch, term: claimed.term },
    fenced: () => fence(),
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= server.close());
  const failed = (error: unknown): void => log.error({ node, error }, 'a stand-in did not end in an orderly way');
  return {
    ended: Promise.race([server.idle(), fenced]).then(close).catch(failed),
    stop: () => server.drain().then(close),
  };
}
