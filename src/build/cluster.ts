import type { Applications } from '../actors/applications.ts';
import type { ObjectOwnership } from '../actors/object-ownership.ts';
import { type Cluster, createCluster } from '../cluster/cluster.ts';
import type { ClusterLink } from '../cluster/link.ts';
import { createNatsLink } from '../cluster/nats-link.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Base } from './base.ts';
import { savedAt } from './saved-state.ts';
import { serverDataVersion } from './server-data.ts';
import { startStandIn } from './stand-in.ts';

const kilo = 1024;
const mega = kilo * kilo;

const settingsOf = ({ cluster }: Config) => ({
  ...{ name: cluster.name, cluster: cluster.cluster, requestTimeoutMs: cluster.request_timeout * 1000 },
  ...{ heartbeatMs: cluster.heartbeat * 1000, suspectAfterMs: cluster.suspect_after * 1000 },
  ...{ awayAfterMs: cluster.away_after * 1000, retryMs: cluster.retry * 1000 },
  registerAfterMs: cluster.register_after * 1000,
  isolatedAfterMs: cluster.replicate ? cluster.isolated_after * 1000 : 0,
  ...{
    awaitMs: cluster.resume_within * 1000,
    movedOctets: cluster.moved_events * mega,
    requests: cluster.requests,
    octets: cluster.octets * mega,
  },
  ...{
    piece: cluster.piece * kilo,
    streams: cluster.streams,
    ids: cluster.ids,
    nodes: cluster.nodes,
    states: cluster.states,
  },
});

/** Names a process. */
export const newEpoch = (ids: Pick<Base['ids'], 'secret'>): string => ids.secret(12);

/** Connects with NATS, as the configuration says. */
export function openLink({ cluster, http }: Config, { clock, log }: { clock: Clock; log: Logger }): ClusterLink {
  const { user, password, ca, certificate, key } = cluster;
  return createNatsLink(
    {
      ...{ servers: cluster.nats, cluster: cluster.cluster, name: cluster.name, user, password, ca, certificate, key },
      ...{ retryMs: cluster.retry * 1000, timeoutMs: cluster.request_timeout * 1000 },
      mostUnsent: cluster.unsent * mega,
      reservedMs: http.idempotency.lifetime * 1000,
      states: { octets: cluster.replicate ? cluster.replica_size * mega : 0, replicas: cluster.replicas },
    },
    { clock, log: log.child({ part: 'cluster' }) },
  );
}

/** What becomes of the calls when another server has gone on with them. */
const fencing = ({ from, stateStore, io }: Base) => ({
  savedAt: from !== undefined && from.calls.channels.length > 0 && !io.standIn ? savedAt(stateStore) : undefined,
  overtaken(): void {
    // The next process must not find them.
    stateStore?.setAside();
    io.fenced?.();
  },
});

/** How this node goes on with the calls of others. */
const takingOver = (base: Base): NonNullable<Parameters<typeof createCluster>[0]['takesOver']> => {
  const { take_over_after, take_over_silent_after, stand_ins } = base.config.cluster;
  return {
    ...{ afterMs: take_over_after * 1000, silentAfterMs: take_over_silent_after * 1000, most: stand_ins },
    start: (node, claimed, link) => startStandIn(base, { node, claimed, link }),
  };
};

/** Makes this server a node of a cluster; undefined if it is on its own. It takes part when `serveCluster` is called. */
export function buildCluster(
  base: Base,
  applications: Applications,
  { callOf }: Pick<ObjectOwnership, 'callOf'>,
): Cluster | undefined {
  const { config, clock, ids, log, scope, tables, limitCounts, recorder, stateStore, io } = base;
  if (config.cluster.nats.length === 0) return undefined;
  const { replicate, replica_interval, replica_unsent } = config.cluster;
  const cluster = createCluster({
    ...{
      settings: settingsOf(config),
      link: io.clusterLink ?? openLink(config, base),
      clock,
      log: log.child({ part: 'cluster' }),
    },
    ...{ tables, applications, callOf, newId: () => newEpoch(ids), hit: limitCounts.hit, process: io.standIn },
    ...(replicate && fencing(base)),
    ...(replicate && io.startServer && { takesOver: takingOver(base) }),
    ...(replicate &&
      stateStore && {
        replicated: {
          ...{ source: stateStore, version: serverDataVersion },
          ...{ intervalMs: replica_interval * 1000, mostWaiting: replica_unsent * mega },
        },
      }),
    async recorded() {
      if (recorder.isBehind) await recorder.settled();
    },
  });
  scope.defer(() => cluster.close());
  return cluster;
}
