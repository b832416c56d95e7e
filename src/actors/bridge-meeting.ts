import type { BridgeContext } from '../machines/bridge.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import type { Channels } from './channels.ts';

/** Exchange of identities between channels that meet in a bridge. */

type Present = { channel: ChannelEntry };
type Tells = Pick<Channels, 'tell'>;

/** A bridge, and whether members of it are at other nodes of the cluster: those have their own calls and lines. */
type MetIn = Pick<BridgeContext, 'type' | 'members'> & { readonly spansNodes: boolean };

/**
 * Connects the members of a mixing bridge after one entered (`newcomer`) or left. They become one call (linkedid,
 * account). If there are two, each becomes the other's connected line.
 */
export function meet(channels: Tells, bridge: MetIn, present: readonly Present[], newcomer?: string): void {
  if (bridge.type !== 'mixing') return void forgetPeers(channels, present);
  if (newcomer !== undefined) join(channels, present);
  const [one, other] = present;
  if (present.length !== 2 || !one || !other || bridge.spansNodes) return void namePeers(channels, present);
  presentEachOther(channels, bridge, [one, other]);
  namePeers(channels, present);
}

function presentEachOther(
  channels: Tells,
  bridge: Pick<BridgeContext, 'members'>,
  [one, other]: readonly [Present, Present],
): void {
  const inhibited = new Set(
    bridge.members.filter((member) => member.inhibitsConnectedLine).map((each) => each.channelId),
  );
  if (inhibited.has(one.channel.id) || inhibited.has(other.channel.id)) return;
  introduce(channels, one, other);
  introduce(channels, other, one);
}

/** Shows one to the other, when it says who it is. */
function introduce(channels: Tells, one: Present, other: Present): void {
  const { name, number, presentation = 0 } = snapshotOf(one.channel).context.caller;
  if (name !== '' || number !== '')
    channels.tell(other.channel, { type: 'connected.set', party: { name, number, presentation } });
}

/** Others that the variable BRIDGEPEER names at most. */
const mostPeers = 10;

/** Each learns the names of the others, and of two also the id of the other's call in its technology. */
function namePeers(channels: Tells, present: readonly Present[]): void {
  if (present.length < 2) return;
  const set = ({ channel }: Present, name: string, value: string | undefined): void => {
    if (ownVariable(snapshotOf(channel).context.variables, name) !== value)
      channels.tell(channel, { type: 'variable.set', name, value });
  };
  const first = present.slice(0, mostPeers + 1);
  for (const one of present) {
    const others = first.filter((other) => other !== one).slice(0, mostPeers);
    set(one, 'BRIDGEPEER', others.map(({ channel }) => channel.name).join(','));
    const callId = present.length === 2 ? others[0]?.channel.leg.protocolId : undefined;
    set(one, 'BRIDGEPVTCALLID', callId || undefined);
  }
}

/** Members have no peer if all of them only wait. */
function forgetPeers(channels: Tells, present: readonly Present[]): void {
  for (const { channel } of present)
    for (const name of ['BRIDGEPEER', 'BRIDGEPVTCALLID'])
      if (ownVariable(snapshotOf(channel).context.variables, name) !== undefined)
        channels.tell(channel, { type: 'variable.set', name, value: undefined });
}

/**
 * All members join the oldest of their calls. A member without an account code gets that of the first member that has
 * one.
 */
function join(channels: Tells, present: readonly Present[]): void {
  const contexts = present.map(({ channel }) => snapshotOf(channel).context);
  const [first, ...rest] = contexts.map(({ linked }) => linked);
  if (!first) return;
  const oldest = rest.reduce((one, other) => (other.since < one.since ? other : one), first);
  const accountCode = contexts.find((context) => context.accountCode !== '')?.accountCode;
  present.forEach(({ channel }, at) => {
    if (contexts[at]?.linked.id !== oldest.id) channels.tell(channel, { type: 'linked.set', linked: oldest });
    if (accountCode !== undefined && contexts[at]?.accountCode === '')
      channels.tell(channel, { type: 'accountCode.set', accountCode });
  });
}
