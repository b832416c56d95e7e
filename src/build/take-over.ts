import type { ClusterLink } from '../cluster/link.ts';
import { type ClaimedName, claimLostName } from '../cluster/named-link.ts';
import type { Config } from '../config/schema.ts';
import { atMost } from '../lib/at-most.ts';
import type { Clock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { NodeProcess } from './base.ts';
import { newEpoch, openLink } from './cluster.ts';
import { writeLostState } from './stand-in.ts';

/** Taking over the calls of a lost node, as an operator asks for it. */

type Services = { clock: Clock; log: Logger };

/** The name of a lost node was claimed, and its state is in the data directory. */
type TakenOver = NodeProcess & {
  /** The server that goes on answers itself, or there is none. */
  end(): Promise<void>;
};

/** Resolves when NATS is reached. @throws (rejects) Error when it is not within the time. */
async function untilUp(link: ClusterLink, timeoutMs: number, clock: Clock): Promise<void> {
  const up = new Promise<void>((resolve) => link.onState((state) => state === 'up' && resolve()));
  if (link.state !== 'up') await atMost(clock, timeoutMs, up);
  if (link.state !== 'up') throw new Error(`NATS cannot be reached (cluster.nats): ${link.reason}`);
}

/** Takes the name and the state of the lost node `cluster.name`. @throws (rejects) Error with the reason. */
export async function takeOver(config: Config, services: Services): Promise<TakenOver> {
  const { nats, name, cluster, request_timeout, replicate } = config.cluster;
  if (nats.length === 0 || !replicate) throw new Error('--take-over needs cluster.nats, and cluster.replicate: true');
  const { clock, log } = services;
  const link = openLink(config, services);
  const timeoutMs = request_timeout * 1000;
  let claimed: ClaimedName | undefined;
  const end = async (): Promise<void> => {
    claimed?.silence();
    await link.close();
  };
  try {
    await untilUp(link, timeoutMs, clock);
    const epoch = newEpoch(createIds(clock, '', name));
    // An operator says that it is lost: one that does not answer counts as lost too.
    const node = { cluster, name, timeoutMs, epoch, now: clock.now() };
    claimed = await claimLostName(link, node, (life) => life !== 'answers');
    if (!claimed) throw new Error(`the node '${name}' is unknown, or it answers`);
    await writeLostState(config, { link, claimed, mayReplace: false }, services);
    log.warn({ node: name }, 'the calls of a lost node are taken over');
    return { epoch: claimed.epoch, term: claimed.term, end };
  } catch (error) {
    await end();
    throw error;
  }
}
