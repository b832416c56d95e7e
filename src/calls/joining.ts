import type { BridgeEntry } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import { isEnding, lifeOf } from '../machines/channel.ts';
import { AriError } from '../models/errors.ts';
import type { TransferResult } from '../models/transfer.ts';
import { plainEntry } from './plain-bridges.ts';
import type { Swaps } from './swaps.ts';
import type { Joining } from './transfer-events.ts';

/** Two calls of one party that are to be joined. */
type Calls = { first: ChannelEntry; second: ChannelEntry | undefined };
type Neighbours = { channels: Channels; bridges: Bridges; swaps: Swaps };

/** The result: the new partners, the reason of a failure, or a call that the second call has dialed. */
type Joined =
  | { destination: Joining['destination']; merged?: readonly [into: BridgeEntry, from: BridgeEntry] }
  | { early: { context: string; extension: string } }
  | { status: number; result: TransferResult };

/**
 * Joins the far parties of two calls of one party (RFC 5589 7). Those of the first move to the second. If the first has
 * none (an application or the dialplan), those of the second move there.
 */
export function joinCalls({ first, second }: Calls, neighbours: Neighbours): Joined {
  const { bridges, swaps } = neighbours;
  if (!second) return { status: 481, result: 'Fail' };
  if (second === first || bridges.bridgeOf(first.id) === (bridges.bridgeOf(second.id) ?? null))
    return { status: 603, result: 'Invalid' };
  const parties = swaps.othersWith(first);
  if (lifeOf(snapshotOf(second)) !== 'up') return beforeAnswer(second, parties);
  if (parties.length > 0 && (parties.length === 1 || bridges.bridgeOf(second.id)))
    return joinInto(first, second, parties, neighbours);
  const [other, ...more] = swaps.othersWith(second);
  if (!other || more.length > 0) return { status: 603, result: 'Invalid' };
  return joinInto(second, first, [other], neighbours);
}

/** A caller that is not answered yet can be called for once more; for one that is being called nothing can be done. */
function beforeAnswer(second: ChannelEntry, parties: readonly ChannelEntry[]): Joined {
  const isCaller = lifeOf(snapshotOf(second)) === 'ring';
  if (!isCaller || parties.length === 0) return { status: 481, result: 'Fail' };
  const { context, extension } = second.ownership.getSnapshot().context.start;
  return { early: { context, extension } };
}

/** Moves the partners of one call to the other. */
function joinInto(
  from: ChannelEntry,
  to: ChannelEntry,
  [party, ...others]: readonly ChannelEntry[],
  { channels, bridges, swaps }: Neighbours,
): Joined {
  if (!party) return { status: 603, result: 'Invalid' };
  const [left, into] = [bridges.bridgeOf(from.id), bridges.bridgeOf(to.id)];
  const app = swaps.applicationOf(to);
  const { appName } = snapshotOf(to).context.dialplan;
  if (!into && app !== undefined && swaps.applicationOf(party) !== undefined) {
    bridges.leave(party.id);
    channels.tell(party, { type: 'move', app, args: [] });
  } else swaps.replace(party, to, from);
  if (!into) return { destination: { destination_type: 'application', destination_application: app ?? appName } };
  for (const other of others) enter(other, into, bridges);
  const destination = { destination_type: 'bridge', destination_bridge: into.id } as const;
  return { destination, ...(left && others.length > 0 && { merged: [into, left] as const }) };
}

/** Lets one more in, where there is room. */
function enter(channel: ChannelEntry, bridge: BridgeEntry, bridges: Bridges): void {
  if (isEnding(snapshotOf(channel))) return;
  try {
    bridges.enter(bridge, channel, plainEntry);
  } catch (error) {
    if (!(error instanceof AriError)) throw error;
    bridges.leave(channel.id);
  }
}
