import type { Channels } from '../actors/channels.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { packageVersion as version } from '../config/package-files.ts';
import type { SipDriver } from '../drivers/sip/driver.ts';
import type { Owners } from '../http/deps.ts';
import { type PhaseChange, takesCalls } from '../machines/lifecycle.ts';
import { AriError } from '../models/errors.ts';
import type { ServerInfo } from '../models/server-info.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { StateStore } from '../stores/state-store.ts';
import type { Base } from './base.ts';
import type { State } from './state.ts';

/** The parts of a server that take calls. */
type CallTakers = { channels: Pick<Channels, 'enter' | 'size'>; sip: Pick<SipDriver, 'enter'> };

type Figures = Omit<ServerInfo, 'name' | 'version' | 'started' | 'draining' | 'channels' | 'cluster' | 'state_store'>;

/** Changes the phase of a whole server. */
export function enterPhase({ lifecycle, log }: Base, { channels, sip }: CallTakers, change: PhaseChange): void {
  if (!lifecycle.send({ type: change })) return;
  channels.enter(change);
  sip.enter(change);
  if (change === 'cordon') log.info({ channels: channels.size }, 'the server is drained: it takes no new calls');
  if (change === 'isolate')
    log.error({ channels: channels.size }, 'NATS cannot be reached: the node takes no new calls until it is back');
  if (takesCalls(lifecycle.state)) log.info({ channels: channels.size }, 'the server takes new calls again');
}

/** Has the next version take over. @throws AriError (rejects) */
async function upgrade({ io, stateStore }: Base): Promise<void> {
  const refuse = (reason: string) => new AriError('upgradeImpossible', { reason });
  if (!io.supervised) throw refuse('it was not started with --supervised');
  if (!stateStore) throw refuse('it has no state store (state_store.on)');
  await io.supervised.upgrade().catch((error: Error) => {
    throw refuse(error.message);
  });
}

/** Has another node go on with all calls, and ends this server. @throws AriError (rejects) */
async function moveCalls(base: Base, takers: CallTakers, cluster: Cluster | undefined): Promise<void> {
  const { io, lifecycle, log, config } = base;
  const refuse = (reason: string) => new AriError('moveImpossible', { reason });
  if (!cluster || !io.moveCalls) throw refuse('it is no node of a cluster');
  const reason = await cluster.whyNotMoved(config.cluster.request_timeout * 1000);
  if (reason !== undefined) throw refuse(reason);
  if (lifecycle.state === 'draining') throw refuse('it is about to end');
  log.info({ channels: takers.channels.size }, 'another node is to go on with the calls of this server, which ends');
  enterPhase(base, takers, 'drain');
  io.moveCalls();
}

function stateStoreInfo({ size, failure }: StateStore): NonNullable<ServerInfo['state_store']> {
  return { octets: size, ...(failure && { failing_since: formatTimestamp(failure.since), reason: failure.reason }) };
}

/** The server as the interface shows and controls it. @param figures reads what changes without a command. */
export function createServerOwner(
  base: Base,
  { cluster, ...takers }: CallTakers & Pick<State, 'cluster'>,
  figures: () => Promise<Figures>,
): Owners['server'] {
  const started = formatTimestamp(base.clock.now());
  const get = async (): Promise<ServerInfo> => ({
    ...{ name: 'Hookswitch', version, started, draining: !takesCalls(base.lifecycle.state) },
    channels: takers.channels.size,
    ...(base.config.cluster.nats.length > 0 && { cluster: base.config.cluster.name }),
    ...(base.stateStore && { state_store: stateStoreInfo(base.stateStore) }),
    ...(await figures()),
  });
  const enter = (change: PhaseChange) => {
    enterPhase(base, takers, change);
    return get();
  };
  return {
    ...{ get, upgrade: () => upgrade(base), moveCalls: () => moveCalls(base, takers, cluster) },
    ...{ drain: () => enter('cordon'), undrain: () => enter('uncordon') },
  };
}
