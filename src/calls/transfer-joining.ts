import { type BridgeEntry, isPart } from '../actors/bridge-entry.ts';
import { ownCallPolicy } from '../actors/call-policy.ts';
import { snapshotOf } from '../actors/channel-entry.ts';
import { namesCallElsewhere, type TransferContext, type TransferFact } from '../machines/transfer.ts';
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
 * Joins the calls of a transferor whose second one is at another node of the cluster: its far side enters the bridge of
 * the first. Both far sides have to be in applications.
 */
function createJoiningElsewhere(
  { bridges, channels, log }: TransfersOptions,
  { transfers, send }: TransferTable,
  beyond: CallsBeyond,
) {
  /** Only a channel in an application may enter a bridge of another node. */
  const bridgeOf = (transferer: string): BridgeEntry | undefined => {
    const bridge = bridges.bridgeOf(transferer);
    return bridge && !isPart(bridge) && bridges.snapshot(bridge).context.class === 'stasis' ? bridge : undefined;
  };

  const join = async (
    entry: TransferEntry,
    { id, transferer, request }: TransferContext,
  ): Promise<{ status: number; result: TransferResult } | undefined> => {
    const [, endpoint = ''] = snapshotOf(channels.find(transferer)!).context.endpoint ?? [];
    const bridge = bridgeOf(transferer);
    const call = request.replaces && (await beyond.find({ endpoint, ...request.replaces }));
    if (!call) return { status: 481, result: 'Fail' };
    const [peer, ...more] = call.others;
    entry.joining = {
      ...{ first: entry.party, second: { ...call, ...(peer && more.length === 0 && { peer }) } },
      destination: bridge ? { destination_type: 'bridge', destination_bridge: bridge.id } : nowhere.destination,
    };
    if (!bridge || !peer || more.length > 0) return { status: 603, result: 'Invalid' };
    // The transferee may have left meanwhile.
    if (!transfers.has(id)) return undefined;
    await beyond.enter(bridge.id, peer.id);
    beyond.end(call);
    return undefined;
  };

  return (entry: TransferEntry, context: TransferContext): void => {
    const { id } = context;
    join(entry, context).then(
      (refused) => send(id, refused ? { type: 'parties.refused', ...refused } : { type: 'parties.joined' }),
      (error) => {
        log.info({ transfer: id, error }, 'a call of another node could not be joined');
        send(id, { type: 'parties.refused', status: 603, result: 'Invalid' });
      },
    );
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

  /** Effect: makes one call of both calls of the transferor. */
  const join = (context: TransferContext): void => {
    const { id, transferer, request, consults } = context;
    const [first, second] = [living(transferer), living(request.replaces?.channelId ?? '')];
    const entry = transfers.get(id);
    if (consults) return void consultations.complete(id);
    if (!first || !entry) return;
    if (joinElsewhere && namesCallElsewhere(context)) return void joinElsewhere(entry, context);
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
