import { type BridgeEntry, isPart } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import type { CallPolicy } from '../actors/call-policy.ts';
import { type ChannelEntry, type ChannelFacts, snapshotOf } from '../actors/channel-entry.ts';
import type { ChannelViews } from '../actors/channel-views.ts';
import type { Channels } from '../actors/channels.ts';
import type { Actor, Runtime } from '../actors/spawn.ts';
import type { Bus } from '../bus/bus.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { lifeOf } from '../machines/channel.ts';
import type { TransferEvent, transferMachine } from '../machines/transfer.ts';
import type { CallElsewhere, CallSeen, NamedCall } from '../models/call-elsewhere.ts';
import type { TransferResult } from '../models/transfer.ts';
import { Cause } from '../telephony/causes.ts';
import type { Consultations } from './consultations.ts';
import { livingIn, type Swaps } from './swaps.ts';
import type { Notify } from './transfer-calls.ts';
import type { Joining, PartySnapshot } from './transfer-events.ts';

/** The table of transfers, and what every part of transferring asks of it. */

type TransferActor = Actor<typeof transferMachine>;

/** The part of a transfer outside its chart. */
export type TransferEntry = {
  actor: TransferActor;
  /** The transferor and its partners, as last seen. */
  party: PartySnapshot;
  joining: Joining | undefined;
  /** Gets progress reports instead of the technology. */
  notify: Notify | undefined;
  unwatch: (() => void)[];
};

/** The other nodes of a cluster, as far as transfers name calls there. */
export type CallsBeyond = {
  /** The call that a transfer names; undefined if no node has it. It never rejects. */
  find(named: NamedCall): Promise<CallElsewhere | undefined>;
  /**
   * Brings the party of a call into a bridge of this node, also out of a Dial.
   * @param app the application that it enters, unless it is in one
   * @throws (rejects) AriError
   */
  enter(bridge: BridgeEntry, channelId: string, app: string | undefined): Promise<void>;
  /** Ends a call whose parties were put through here. */
  end(call: CallElsewhere): void;
};

export type TransfersOptions = {
  bus: Bus;
  runtime: Runtime;
  ids: Ids;
  log: Logger;
  channels: Channels;
  /** Hears the requests of far sides, the targets, and departing transferors. */
  facts: ChannelFacts;
  views: Pick<ChannelViews, 'model'>;
  bridges: Bridges;
  swaps: Swaps;
  /** Consultation calls of attended transfers by keys. */
  consultations: Consultations;
  dialplan: Pick<Dialplan, 'hasExtension'>;
  /** How long the outcome of a transfer is waited for, in ms. */
  timeoutMs: number;
  /** Whether a transferor that has hung up is called back when the target fails. */
  callsBack?: boolean;
  /** Time that a transferor has to hang up once it knows the outcome, in ms. */
  byeTimeoutMs?: number;
  policy?: Pick<CallPolicy, 'events'>;
  /** Left out: this server is on its own. */
  beyond?: CallsBeyond | undefined;
};

/** The transfers that are under way. */
export type TransferTable = ReturnType<typeof createTransferTable>;

export function createTransferTable({ channels, bridges, swaps, views, byeTimeoutMs = 0 }: TransfersOptions) {
  const transfers = new SlotMap<string, TransferEntry>();
  const living = livingIn(channels);
  const send = (id: string, event: TransferEvent): void => transfers.get(id)?.actor.send(event);
  const hangUp = (channel: ChannelEntry | undefined): void => {
    if (channel) channels.tell(channel, { type: 'hangup', cause: Cause.normalClearing, by: 'server' });
  };
  return {
    transfers,
    send,
    fail: (id: string, status: number, result: TransferResult): void =>
      send(id, { type: 'target.failed', status, result }),
    /** A channel that is not ending. */
    living,
    hangUp,
    /** Ends a call of a phone, which has some time to do it itself. */
    endCall(channel: ChannelEntry | undefined): void {
      channel?.leg.expectEnd?.(byeTimeoutMs);
      hangUp(channel);
    },
    /** An answered call that a transfer at another node of the cluster names. */
    callSeen(channelId: string): CallSeen | undefined {
      const channel = living(channelId);
      if (!channel || lifeOf(snapshotOf(channel)) !== 'up') return undefined;
      const bridge = bridges.bridgeOf(channelId);
      const guests = [...(bridge?.guests.values() ?? [])].map((guest) => guest.channel);
      return {
        channel: views.model(channel),
        ...(bridge && { bridge: bridges.model(bridge) }),
        others: bridge && !isPart(bridge) ? [...swaps.othersWith(channel).map(views.model), ...guests] : [],
      };
    },
    /** The transfers that a channel asked for. */
    of: (channelId: string): TransferActor[] =>
      [...transfers.values()]
        .map(({ actor }) => actor)
        .filter((actor) => actor.getSnapshot().context.transferer === channelId),
    /** A channel, its bridge, and its partner if it has just one. */
    partyOf(channel: ChannelEntry): PartySnapshot {
      const bridge = bridges.bridgeOf(channel.id);
      const here = swaps.othersWith(channel).map(views.model);
      const [peer, ...others] = [...here, ...[...(bridge?.guests.values() ?? [])].map((guest) => guest.channel)];
      return {
        channel: views.model(channel),
        ...(bridge && { bridge: bridges.model(bridge) }),
        ...(peer && others.length === 0 && { peer }),
      };
    },
  };
}
