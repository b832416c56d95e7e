import type { BridgeContext } from '../machines/bridge.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import { callOf, type LinkedCall } from '../machines/channel-vocabulary.ts';
import type { Meeting, MetMember } from '../models/bridge-link.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import type { Channels } from './channels.ts';

/** Exchange of identities between channels that meet in a bridge. */

type Tells = Pick<Channels, 'tell'>;

/** What a member learns. Its call at this node is known here alone. */
type Meets =
  | Exclude<Meeting, { type: 'linked.set' | 'music.set' }>
  | { type: 'linked.set'; linked: LinkedCall }
  | { type: 'peerAccount.set'; peerAccount: string };

/** A member as the others meet it. */
export interface Met extends MetMember {
  readonly id: string;
  readonly name: string;
  /** The id of its call in its technology. */
  readonly protocolId: string;
  /** Whether it is at this node of the cluster. */
  readonly isHere: boolean;
  readonly linked: LinkedCall;
  /** The value of a variable; of a channel of another node, the one that was told last. */
  variable(name: string): string | undefined;
  tell(event: Meets): void;
}

/** A member at this node. */
export class MetChannel implements Met {
  readonly isHere = true;
  readonly #channels: Tells;
  readonly #channel: ChannelEntry;

  constructor(channels: Tells, channel: ChannelEntry) {
    this.#channels = channels;
    this.#channel = channel;
  }

  get #context() {
    return snapshotOf(this.#channel).context;
  }
  get id(): string {
    return this.#channel.id;
  }
  get name(): string {
    return this.#channel.name;
  }
  get protocolId(): string {
    return this.#channel.leg.protocolId;
  }
  get linked(): LinkedCall {
    return this.#context.linked;
  }
  get accountCode(): string {
    return this.#context.accountCode;
  }
  get caller(): MetMember['caller'] {
    return this.#context.caller;
  }
  variable(name: string): string | undefined {
    return ownVariable(this.#context.variables, name);
  }
  tell(event: Meets): void {
    const isVariable = event.type === 'variable.set';
    this.#channels.tell(this.#channel, isVariable ? { ...event, value: event.value ?? undefined } : event);
  }
}

/**
 * Connects the members of a mixing bridge after one entered (`newcomer`) or left. They become one call (linkedid,
 * account). If there are two, each becomes the other's connected line.
 */
export function meet(
  bridge: Pick<BridgeContext, 'type' | 'members'>,
  present: readonly Met[],
  newcomer?: string,
): void {
  if (bridge.type !== 'mixing') return void forgetPeers(present);
  if (newcomer !== undefined) join(present);
  const [one, other] = present;
  if (present.length === 2 && one && other) {
    presentEachOther(bridge, [one, other]);
    shareAccounts(one, other);
    shareAccounts(other, one);
  }
  namePeers(present);
}

function presentEachOther(bridge: Pick<BridgeContext, 'members'>, [one, other]: readonly [Met, Met]): void {
  const inhibited = new Set(
    bridge.members.filter((member) => member.inhibitsConnectedLine).map((each) => each.channelId),
  );
  if (inhibited.has(one.id) || inhibited.has(other.id)) return;
  introduce(one, other);
  introduce(other, one);
}

/** Shows one to the other, when it says who it is. */
function introduce(one: Met, other: Met): void {
  const { name, number, presentation = 0 } = one.caller;
  if (name !== '' || number !== '') other.tell({ type: 'connected.set', party: { name, number, presentation } });
}

/** Tells one the account of the other, if it has one. */
function shareAccounts(one: Met, { accountCode }: Met): void {
  if (one.isHere && accountCode !== '') one.tell({ type: 'peerAccount.set', peerAccount: accountCode });
}

/** Others that the variable BRIDGEPEER names at most. */
const mostPeers = 10;

/** Each learns the names of the others, and of two also the id of the other's call in its technology. */
function namePeers(present: readonly Met[]): void {
  if (present.length < 2) return void forgetPeers(present);
  const set = (one: Met, name: string, value: string | undefined): void => {
    if (one.variable(name) !== value) one.tell({ type: 'variable.set', name, value: value ?? null });
  };
  const first = present.slice(0, mostPeers + 1);
  for (const one of present) {
    const others = first.filter((other) => other !== one).slice(0, mostPeers);
    set(one, 'BRIDGEPEER', others.map(({ name }) => name).join(','));
    const callId = present.length === 2 ? others[0]?.protocolId : undefined;
    set(one, 'BRIDGEPVTCALLID', callId || undefined);
  }
}

/** Removes the names of their peers: of who leaves, is alone, or only waits. */
export function forgetPeers(present: readonly Met[]): void {
  for (const one of present)
    for (const name of ['BRIDGEPEER', 'BRIDGEPVTCALLID'])
      if (one.variable(name) !== undefined) one.tell({ type: 'variable.set', name, value: null });
}

const older = (one: Met, other: Met): Met => (other.linked.since < one.linked.since ? other : one);

/**
 * All members join the oldest of their calls. A member without an account code gets that of the first member that has
 * one.
 */
function join(present: readonly Met[]): void {
  const [first, ...rest] = present;
  if (!first) return;
  const oldest = rest.reduce(older, first);
  const { id, since } = oldest.linked;
  const here = present.filter(({ isHere }) => isHere);
  // The calls of this node stay one call here.
  const own = oldest.isHere || here.length === 0 ? undefined : callOf(here.reduce(older).linked);
  const linked = oldest.isHere ? oldest.linked : { id, since, ...(own !== undefined && { own }) };
  const { accountCode } = present.find((each) => each.accountCode !== '') ?? first;
  for (const one of present) {
    const isAccounted = one.accountCode !== '';
    if (one.linked.id !== id) one.tell({ type: 'linked.set', linked: one.isHere ? linked : { id, since } });
    if (accountCode !== '' && !isAccounted) one.tell({ type: 'accountCode.set', accountCode });
  }
}
