import type { Bridges } from '../actors/bridges.ts';
import type { CallPolicy } from '../actors/call-policy.ts';
import type { ChannelEntry, ChannelFacts } from '../actors/channel-entry.ts';
import type { ChannelViews } from '../actors/channel-views.ts';
import type { Channels } from '../actors/channels.ts';
import type { Actor, Runtime } from '../actors/spawn.ts';
import type { Bus } from '../bus/bus.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { TransferEvent, transferMachine } from '../machines/transfer.ts';
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
};

/** The transfers that are under way. */
export type TransferTable = ReturnType<typeof createTransferTable>;

export function createTransferTable({ channels, bridges, swaps, views }: TransfersOptions) {
  const transfers = new SlotMap<string, TransferEntry>();
  const send = (id: string, event: TransferEvent): void => transfers.get(id)?.actor.send(event);
  return {
    transfers,
    send,
    fail: (id: string, status: number, result: TransferResult): void =>
      send(id, { type: 'target.failed', status, result }),
    /** A channel that is not ending. */
    living: livingIn(channels),
    hangUp(channel: ChannelEntry | undefined): void {
      if (channel) channels.tell(channel, { type: 'hangup', cause: Cause.normalClearing, by: 'server' });
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
