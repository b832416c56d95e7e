import { type BridgeEntry, isPart } from '../actors/bridge-entry.ts';
import { ownCallPolicy } from '../actors/call-policy.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import { namesCallElsewhere, type TransferContext, type TransferFact } from '../machines/transfer.ts';
import type { CallSeen } from '../models/call-elsewhere.ts';
import type { TransferResult } from '../models/transfer.ts';
import { joinCalls } from './joining.ts';
import { askedEvent, blindEvent, type Joining, joinedEvent, partyTopics } from './transfer-events.ts';
import type { CallsBeyond, TransferEntry, TransfersOptions, TransferTable } from './transfer-table.ts';

const nowhere: Pick<Joining, 'destination'> = { destination: { destination_type: 'fail' } };

const publishMerged = (
  { bus, bridges }: Pick<TransfersOptions, 'bus' | 'bridges'>,
  [into, from]: readonly [BridgeEntry, BridgeEntry],
): void =>
  bus.publish({
    event: { type: 'BridgeMerged', bridge: bridges.model(into), bridge_from: bridges.model(from) },
    topics: [...into.topics, ...from.topics],
  });

/**
 * Joins the calls of a transferor whose second one is at another node of the cluster, or the parties of both: the far side of
 * the second enters the bridge of the first, which this node must have.
 */
function createJoiningElsewhere(
  { bridges, channels, swaps, log }: TransfersOptions,
  { transfers, send, callSeen, endCall, living }: TransferTable,
  beyond: CallsBeyond,
) {
  const bridgeOf = (transferer: string): BridgeEntry | undefined => {
    const bridge = bridges.bridgeOf(transferer);
    return bridge && !isPart(bridge) ? bridge : undefined;
  };

  /** The second call. One of this node has no `node`. */
  const find = async ({
    transferer,
    request,
  }: TransferContext): Promise<(CallSeen & { node?: string }) | undefined> => {
    const { replaces } = request;
    if (replaces?.channelId !== undefined) return callSeen(replaces.channelId);
    const [, endpoint = ''] = snapshotOf(channels.find(transferer)!).context.endpoint ?? [];
    return replaces && beyond.find({ endpoint, ...replaces });
  };

  const join = async (
    entry: TransferEntry,
    context: TransferContext,
  ): Promise<{ status: number; result: TransferResult } | undefined> => {
    const { id, transferer } = context;
    const bridge = bridgeOf(transferer);
    const app = swaps.applicationOf(channels.find(transferer)!);
    const call = await find(context);
    if (!call) return { status: 481, result: 'Fail' };
    const [peer, ...more] = call.others;
    entry.joining = {
      ...{ first: entry.party, second: { ...call, ...(peer && more.length === 0 && { peer }) } },
      destination: bridge ? { destination_type: 'bridge', destination_bridge: bridge.id } : nowhere.destination,
    };
    if (!bridge || !peer || more.length > 0) return { status: 603, result: 'Invalid' };
    // The transferee may have left meanwhile.
    if (!transfers.has(id)) return undefined;
    await beyond.enter(bridge, peer.id, app);
    const { node } = call;
    if (node === undefined) endCall(living(call.channel.id));
    else beyond.end({ ...call, node });
    return undefined;
  };

  return (entry: TransferEntry, context: TransferContext): void => {
    const { id, transferer } = context;
    const settle = swaps.expectInstead(channels.find(transferer)!);
    join(entry, context)
      .catch((error) => {
        log.info({ transfer: id, error }, 'a call of another node could not be joined');
        return { status: 603, result: 'Invalid' } as const;
      })
      .then((refused) => {
        settle(refused === undefined);
        send(id, refused ? { type: 'parties.refused', ...refused } : { type: 'parties.joined' });
      });
  };
}

/** Effects of the transfer chart that join the parties, and the events of a transfer. */
export function createTransferJoining(options: TransfersOptions, table: TransferTable) {
  const { bus, channels, views, bridges, swaps, consultations, policy = ownCallPolicy } = options;
  const { transfers, send, fail, living, hangUp, partyOf } = table;

  consultations.onReport((id, report) => {
    const entry = transfers.get(id);
    if (report.type === 'refused') fail(id, 503, 'Fail');
    else if (report.type === 'parted') send(id, { type: 'transferer.aborts' });
    else if (report.type === 'incomplete' || !entry) send(id, { type: 'parties.refused', status: 480, result: 'Fail' });
    else {
      const { into, from, parties } = report;
      entry.joining = { ...parties, destination: { destination_type: 'bridge', destination_bridge: into.id } };
      publishMerged(options, [into, from]);
      bridges.destroy(from);
      send(id, { type: 'parties.joined' });
    }
  });

  const joinElsewhere = options.beyond && createJoiningElsewhere(options, table, options.beyond);

  /** Whether the parties of both calls are at other nodes. */
  const haveGuestsOnly = (...calls: (ChannelEntry | undefined)[]): boolean =>
    calls.every((call) => call && swaps.hasOthers(call) && swaps.othersWith(call).length === 0);

  /** Effect: makes one call of both calls of the transferor. */
  const join = (context: TransferContext): void => {
    const { id, transferer, request, consults } = context;
    const [first, second] = [living(transferer), living(request.replaces?.channelId ?? '')];
    const entry = transfers.get(id);
    if (consults) return void consultations.complete(id);
    if (!first || !entry) return;
    if (joinElsewhere && (namesCallElsewhere(context) || haveGuestsOnly(first, second)))
      return void joinElsewhere(entry, context);
    const before = { first: partyOf(first), ...(second && { second: partyOf(second) }) };
    const joined = joinCalls({ first, second }, { channels, bridges, swaps });
    entry.joining = {
      ...before,
      destination: 'destination' in joined ? joined.destination : { destination_type: 'fail' },
    };
    if ('destination' in joined) {
      if (joined.merged) publishMerged(options, joined.merged);
      send(id, { type: 'parties.joined' });
    } else if ('early' in joined) {
      hangUp(second);
      send(id, { type: 'parties.early', ...joined.early });
    } else send(id, { type: 'parties.refused', ...joined });
  };

  /** Effect: the target takes the place of the transferor. */
  const take = ({ id, transferer, targetId, consults }: TransferContext): void => {
    const [old, newcomer] = [channels.find(transferer), living(targetId)];
    const entry = transfers.get(id);
    if (!old || !newcomer || !entry) return;
    const { channel } = entry.party;
    if (consults)
      entry.joining = {
        ...{ first: entry.party, second: { channel, peer: views.model(newcomer) } },
        destination: { destination_type: 'bridge', destination_bridge: consults.waitingIn },
      };
    swaps.replace(newcomer, old);
  };

  const publish = (entry: TransferEntry, context: TransferContext, fact: TransferFact): void => {
    const channel = channels.find(context.transferer);
    if (channel && bridges.bridgeOf(channel.id)) entry.party = partyOf(channel);
    const { party } = entry;
    if (fact.type === 'ChannelTransfer') {
      const second = channels.find(context.request.replaces?.channelId ?? '');
      const event = askedEvent(context, fact, party, second && partyOf(second));
      return void bus.publish({ event, topics: channel?.topics ?? [] });
    }
    if (fact.type === 'BridgeBlindTransfer') {
      const target = channels.find(context.targetId);
      const replacing = fact.result === 'Success' && target ? views.model(target) : undefined;
      const event = blindEvent(context, fact.result, party, replacing);
      return void bus.publish({ event, topics: partyTopics([party], policy.events.transfersToAll) });
    }
    const seen = entry.joining ?? consultations.parties(context.id) ?? { first: party };
    const { destination } = fact.result === 'Success' && entry.joining ? entry.joining : nowhere;
    const joining: Joining = { ...seen, destination };
    const event = joinedEvent(fact.result, joining);
    const { first, second = first } = joining;
    bus.publish({ event, topics: partyTopics([first, second], policy.events.transfersToAll) });
  };

  return { join, take, publish };
}
