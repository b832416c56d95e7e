import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import { controlledChannel } from '../actors/channel-control.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import { type ChannelFacts, hearChanges } from '../actors/channel-facts.ts';
import type { ChannelViews } from '../actors/channel-views.ts';
import type { Channels } from '../actors/channels.ts';
import type { TransferDump } from '../actors/dumps.ts';
import { type Actor, type Beginning, type Runtime, spawn } from '../actors/spawn.ts';
import type { Bus } from '../bus/bus.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type ChannelSnapshot, isEnding, lifeOf } from '../machines/channel.ts';
import { noTimeout, ownVariable } from '../machines/channel-setup.ts';
import {
  failureStatus,
  refuseTransferCommand,
  type TransferContext,
  type TransferEvent,
  type TransferFact,
  transferMachine,
} from '../machines/transfer.ts';
import { AriError } from '../models/errors.ts';
import type { TransferResult } from '../models/transfer.ts';
import { Cause } from '../telephony/causes.ts';
import { DriverError, type TransferRequest, transferHandlingIn } from '../telephony/driver.ts';
import type { Consultations } from './consultations.ts';
import { joinCalls } from './joining.ts';
import { livingIn, type Swaps } from './swaps.ts';
import {
  createTransferCalls,
  failureCauseOf,
  type KeyTransferor,
  type Notify,
  readTransferState,
} from './transfer-calls.ts';
import {
  askedEvent,
  blindEvent,
  type Joining,
  joinedEvent,
  type PartySnapshot,
  partyTopics,
} from './transfer-events.ts';

type TransferActor = Actor<typeof transferMachine>;

/** The part of a transfer outside its chart. */
type Entry = {
  actor: TransferActor;
  /** The transferor and its partners, as last seen. */
  party: PartySnapshot;
  joining: Joining | undefined;
  /** Gets progress reports instead of the technology. */
  notify: Notify | undefined;
  unwatch: (() => void)[];
};

type TransfersOptions = {
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
  /** Publishes events as Asterisk does: subscribers to all events get none of transfers. */
  asteriskEvents?: boolean;
};

/** Owns the transfers that parties ask for. */
export interface Transfers {
  /**
   * The far side of a channel requests a transfer.
   * @param transferor gets progress reports; left out: the channel's technology.
   */
  ask(channel: ChannelEntry, request: TransferRequest, transferor?: KeyTransferor): void;
  /**
   * Reconnects a transferor by keys with its transfer after a restore. A ringing target is reported directly.
   * @returns false without a transfer.
   */
  hear(channel: ChannelEntry, notify: Notify): boolean;
  /** Ends the consultation: the transferor completes or aborts the transfer. */
  decide(channel: ChannelEntry, what: 'completes' | 'aborts'): void;
  /**
   * An application says how a transfer goes that was offered to it.
   * @throws AriError channelNotFound, channelNotInStasis, calleeNotFound (nothing is being transferred),
   *   transferStatesRequired, transferStatesInvalid, channelInvalidState (it is carried out here).
   */
  transferProgress(channelId: string, request: { states?: string | undefined }): void;
  dump(): TransferDump[];
  /** Takes transfers up again, after the channels and bridges they are about. */
  restore(dumps: readonly TransferDump[]): void;
  readonly size: number;
}

const nowhere: Pick<Joining, 'destination'> = { destination: { destination_type: 'fail' } };

/** Makes the owner of all transfers. */
export function createTransfers(options: TransfersOptions): Transfers {
  const { bus, runtime, log, channels, facts, views, bridges, swaps, consultations, dialplan } = options;
  const { byeTimeoutMs = 0, asteriskEvents = false } = options;
  const transfers = new SlotMap<string, Entry>();
  const calls = createTransferCalls({ channels, swaps });

  const partyOf = (channel: ChannelEntry): PartySnapshot => {
    const bridge = bridges.bridgeOf(channel.id);
    const [peer, ...others] = swaps.othersWith(channel);
    return {
      channel: views.model(channel),
      ...(bridge && { bridge: bridges.model(bridge) }),
      ...(peer && others.length === 0 && { peer: views.model(peer) }),
    };
  };

  const living = livingIn(channels);

  const send = (id: string, event: TransferEvent): void => transfers.get(id)?.actor.send(event);
  const fail = (id: string, status: number, result: TransferResult): void =>
    send(id, { type: 'target.failed', status, result });
  const end = (channel: ChannelEntry | undefined): void => {
    if (channel) channels.tell(channel, { type: 'hangup', cause: Cause.normalClearing, by: 'server' });
  };

  /* ---- Effects -------------------------------------------------------------------------------------------------- */

  const dialTarget = (context: TransferContext): void => {
    const { id, transferer: transfererId, extension } = context;
    const transferer = living(transfererId);
    if (!transferer || swaps.othersWith(transferer).length === 0) return void fail(id, 603, 'Invalid');
    // Such an extension would be read as another one, in another context.
    const exists = !/[/@]/.test(extension) && dialplan.hasExtension(context.context, extension);
    if (!exists) return void fail(id, 404, 'Fail');
    watchBridge(id, bridges.bridgeOf(transferer.id));
    try {
      const target = calls.openTarget(transferer, context);
      watchTarget(id, target);
      channels.tell(target, { type: 'dial', timeoutMs: noTimeout });
    } catch (error) {
      if (!(error instanceof DriverError || error instanceof AriError)) throw error;
      log.info(
        { channel: transfererId, extension, reason: error.message },
        'the target of a transfer cannot be called',
      );
      fail(id, 503, 'Fail');
    }
  };

  /** Calls the transferor back, in place of the target, or of itself if it has just ended. */
  const callBack = ({ id, transferer, targetId, callBack: back, timeoutMs: patience }: TransferContext): void => {
    const stands = [targetId, transferer].flatMap((each) => channels.find(each) ?? []);
    const old = stands.find((each) => swaps.othersWith(each).length > 0);
    const [transferee] = old ? swaps.othersWith(old) : [];
    if (!old || !transferee || !back) return void send(id, { type: 'transferer.lost' });
    try {
      const newcomer = calls.openCallBack(back, transferee);
      swaps.replace(newcomer, old);
      watchCallBack(id, newcomer);
      channels.tell(newcomer, { type: 'dial', timeoutMs: patience });
      log.info({ channel: newcomer.id, target: back.target }, 'who asked for a transfer is called back');
    } catch (error) {
      if (!(error instanceof DriverError || error instanceof AriError)) throw error;
      log.info({ target: back.target, reason: error.message }, 'who asked for a transfer cannot be called back');
      send(id, { type: 'transferer.lost' });
    }
  };

  const watchChannel = (id: string, channel: ChannelEntry, look: (snapshot: ChannelSnapshot) => void): void => {
    transfers.get(id)?.unwatch.push(hearChanges(facts, channel.id, look));
  };

  const watchCallBack = (id: string, channel: ChannelEntry): void => {
    watchChannel(id, channel, (snapshot) => {
      if (isEnding(snapshot)) send(id, { type: 'transferer.lost' });
      else if (lifeOf(snapshot) === 'up') send(id, { type: 'transferer.returned' });
    });
  };

  const lookAtTarget = (
    id: string,
    target: ChannelEntry,
    inDialplan = channels.find(target.companionId ?? ''),
  ): void => {
    const snapshot = snapshotOf(target);
    if (isEnding(snapshot)) fail(id, failureStatus(failureCauseOf(target, inDialplan)), 'Fail');
    else if (lifeOf(snapshot) === 'ringing') send(id, { type: 'target.ringing' });
    else if (lifeOf(snapshot) === 'up') send(id, { type: 'target.answered' });
  };

  const watchTarget = (id: string, target: ChannelEntry): void => {
    const inDialplan = channels.find(target.companionId ?? '');
    watchChannel(id, target, () => lookAtTarget(id, target, inDialplan));
  };

  /** Reports that no transferee is left. */
  const watchBridge = (id: string, bridge: BridgeEntry | undefined): void => {
    const entry = transfers.get(id);
    if (!bridge || !entry) return;
    const { transferer, targetId, callBack: back } = entry.actor.getSnapshot().context;
    const own = new Set([transferer, targetId, back?.channelId]);
    const look = ({ context: { members } }: ReturnType<typeof bridges.snapshot>): void => {
      const isElsewhere = entry.actor.getSnapshot().value === 'consulting';
      const isThere = isElsewhere || members.some(({ channelId }) => own.has(channelId));
      const isOther = members.some(({ channelId }) => !own.has(channelId));
      if (!isThere || !isOther) send(id, { type: 'transferees.left' });
    };
    entry.unwatch.push(hearBridge(bridges, bridge.id, look));
  };

  const beginTalk = ({ id, transferer, targetId, consults }: TransferContext): void => {
    if (consults) consultations.begin({ id, transferer, targetId, ...consults });
  };

  consultations.onReport((id, report) => {
    const entry = transfers.get(id);
    if (report.type === 'refused') fail(id, 503, 'Fail');
    else if (report.type === 'parted') send(id, { type: 'transferer.aborts' });
    else if (report.type === 'incomplete' || !entry) send(id, { type: 'parties.refused', status: 480, result: 'Fail' });
    else {
      const { into, from, parties } = report;
      entry.joining = { ...parties, destination: { destination_type: 'bridge', destination_bridge: into.id } };
      publishMerged([into, from]);
      bridges.destroy(from);
      send(id, { type: 'parties.joined' });
    }
  });

  const join = (context: TransferContext): void => {
    const { id, transferer, request, consults } = context;
    const [first, second] = [living(transferer), living(request.replaces?.channelId ?? '')];
    const entry = transfers.get(id);
    if (consults) return void consultations.complete(id);
    if (!first || !entry) return;
    const before = { first: partyOf(first), ...(second && { second: partyOf(second) }) };
    const joined = joinCalls({ first, second }, { channels, bridges, swaps });
    entry.joining = {
      ...before,
      destination: 'destination' in joined ? joined.destination : { destination_type: 'fail' },
    };
    if ('destination' in joined) {
      if (joined.merged) publishMerged(joined.merged);
      send(id, { type: 'parties.joined' });
    } else if ('early' in joined) {
      end(second);
      send(id, { type: 'parties.early', ...joined.early });
    } else send(id, { type: 'parties.refused', ...joined });
  };

  const publishMerged = ([into, from]: readonly [BridgeEntry, BridgeEntry]): void =>
    bus.publish({
      event: { type: 'BridgeMerged', bridge: bridges.model(into), bridge_from: bridges.model(from) },
      topics: [...into.topics, ...from.topics],
    });

  const abandon = (channelId = ''): void => {
    const called = living(channelId);
    if (called) channels.tell(called, { type: 'hangup', cause: Cause.normalClearing, cancels: true, by: 'server' });
  };

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

  /** The transferees, with the transferor's replacement. */
  const alert = ({ targetId, callBack: back }: TransferContext, type: 'ring' | 'ringStop'): void => {
    const stands = [back?.channelId, targetId].flatMap((id) => channels.find(id ?? '') ?? []);
    for (const other of stands.flatMap(swaps.othersWith)) channels.tell(other, { type });
  };

  const tellTransferer = ({ id, transferer, request, byKeys }: TransferContext, status: number, own?: Notify): void => {
    const tell = own ?? transfers.get(id)?.notify;
    if (tell) tell(status);
    else if (!byKeys) channels.find(transferer)?.leg.tellTransfer(request.id, status);
  };

  const machine = transferMachine.provide({
    actions: {
      tellTransferer: ({ context }, { status }) => tellTransferer(context, status),
      dialTarget: ({ context }) => dialTarget(context),
      joinParties: ({ context }) => join(context),
      takePlace: ({ context }) => take(context),
      beginTalk: ({ context }) => beginTalk(context),
      endTalk: ({ context }) => consultations.end(context.id),
      alertTransferees: ({ context }) => alert(context, 'ring'),
      calmTransferees: ({ context }) => alert(context, 'ringStop'),
      endTransferer: ({ context: { transferer, request, byKeys } }) => {
        for (const channel of [living(transferer), living(request.replaces?.channelId ?? '')]) {
          if (!byKeys) channel?.leg.expectEnd?.(byeTimeoutMs);
          end(channel);
        }
      },
      callBack: ({ context }) => callBack(context),
      abandonCallBack: ({ context }) => abandon(context.callBack?.channelId),
      abandonTarget: ({ context }) => abandon(context.targetId),
    },
  });

  /* ---- Facts ---------------------------------------------------------------------------------------------------- */

  const publish = (entry: Entry, context: TransferContext, fact: TransferFact): void => {
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
      return void bus.publish({ event, topics: partyTopics([party], !asteriskEvents) });
    }
    const seen = entry.joining ?? consultations.parties(context.id) ?? { first: party };
    const { destination } = fact.result === 'Success' && entry.joining ? entry.joining : nowhere;
    const joining: Joining = { ...seen, destination };
    const event = joinedEvent(fact.result, joining);
    const { first, second = first } = joining;
    bus.publish({ event, topics: partyTopics([first, second], !asteriskEvents) });
  };

  const ended = (id: string, error: unknown): void => {
    const entry = transfers.get(id);
    transfers.delete(id);
    for (const unwatch of entry?.unwatch ?? []) unwatch();
    consultations.end(id);
    if (error === undefined || !entry) return;
    // No other part would report it, and the channel called for it would have no owner.
    const { context } = entry.actor.getSnapshot();
    tellTransferer(context, 500, entry.notify);
    end(living(context.targetId));
  };

  const start = (id: string, party: PartySnapshot, beginning: Beginning<TransferContext>, notify?: Notify): void => {
    const entry: Entry = { actor: undefined as never, party, joining: undefined, notify, unwatch: [] };
    spawn(machine, {
      id,
      ...beginning,
      runtime,
      onCreated: (actor) => {
        entry.actor = actor;
        transfers.set(id, entry);
      },
      onEmitted: (fact, { context }) => publish(entry, context, fact),
      onEnded: (error) => ended(id, error),
    });
  };

  const of = (channelId: string): TransferActor[] =>
    [...transfers.values()]
      .map(({ actor }) => actor)
      .filter((actor) => actor.getSnapshot().context.transferer === channelId);

  const ask: Transfers['ask'] = (channel, request, transferor) => {
    const input = inputOf(channel, request, transferor, { ...options, waitingIn: bridges.bridgeOf(channel.id)?.id });
    for (const earlier of of(channel.id)) earlier.send({ type: 'transferer.asksAgain' });
    const attended = Boolean(request.replaces ?? transferor?.consults);
    log.info(
      { channel: channel.id, target: request.target, attended, handling: input.handling },
      'a party asks for a transfer',
    );
    start(input.id, partyOf(channel), { input }, transferor?.notify);
  };

  /** A channel is about to end, or to leave its application. */
  const departing = ({ id: channelId }: ChannelEntry): void => {
    const stand = channels.find(channelId);
    const hungUp = stand !== undefined && snapshotOf(stand).context.endedBy === 'farSide';
    for (const actor of of(channelId)) actor.send({ type: 'transferer.left', hungUp });
    // A channel that stands in for the transferor stays until its replacement has come.
    for (const { actor } of stand ? [...transfers.values()] : []) {
      const { value, context } = actor.getSnapshot();
      if (value === 'handedOver' && context.targetId === channelId) lookAtTarget(context.id, stand!);
    }
  };

  facts.on('transfer.asked', (channel, { transfer }) => ask(channel, transfer));
  facts.on('channel.ending', departing);
  facts.on('channel.departing', departing);

  return {
    ask,

    hear(channel, notify) {
      const asked = [...transfers.values()].find(({ actor }) => {
        const { transferer, byKeys } = actor.getSnapshot().context;
        return byKeys && transferer === channel.id;
      });
      if (!asked) return false;
      asked.notify = notify;
      if (asked.actor.getSnapshot().value === 'ringing') notify(180);
      return true;
    },

    decide(channel, what) {
      for (const actor of of(channel.id))
        if (actor.getSnapshot().context.consults) actor.send({ type: `transferer.${what}` });
    },

    transferProgress(channelId, { states }) {
      const channel = controlledChannel(channels, channelId, 'transferProgress');
      const pending = of(channel.id);
      if (pending.length === 0) throw new AriError('calleeNotFound');
      const type = readTransferState(states);
      const actor = pending.find((each) => refuseTransferCommand(each.getSnapshot(), type) === undefined);
      if (!actor) throw new AriError('channelInvalidState');
      actor.send({ type });
    },

    dump: () => [...transfers.values()].map(({ actor }) => actor.dump() as TransferDump),

    restore(dumps) {
      for (const from of dumps) {
        const { id, transferer, targetId, callBack: back } = from.context;
        const channel = channels.find(transferer);
        const target = channels.find(targetId);
        const returning = channels.find(back?.channelId ?? '');
        const seen = channel ?? target ?? returning;
        // If none could be restored, their ends are reported.
        if (!seen) continue;
        start(id, partyOf(seen), { from });
        const { consults } = from.context;
        watchBridge(id, bridges.find(consults?.waitingIn ?? '') ?? bridges.bridgeOf(seen.id));
        if (target) watchTarget(id, target);
        if (returning) watchCallBack(id, returning);
      }
    },

    get size() {
      return transfers.size;
    },
  };
}

/** @param waitingIn the bridge of a party that consults the target */
function inputOf(
  channel: ChannelEntry,
  request: TransferRequest,
  { consults, notify }: Partial<KeyTransferor> = {},
  {
    ids,
    channels,
    callsBack,
    timeoutMs,
    byeTimeoutMs = 0,
    waitingIn = '',
  }: TransfersOptions & { waitingIn?: string | undefined },
): TransferContext {
  const { variables, transferHandling, endpoint } = snapshotOf(channel).context;
  const byKeys = notify !== undefined;
  // Only this server can set up a consultation in the same call.
  const handling = consults ? 'core' : (transferHandling ?? transferHandlingIn(variables) ?? request.handling);
  return {
    ...{ id: ids.uuid(), transferer: channel.id, request, handling, targetId: channels.freshId() },
    context: ownVariable(variables, 'TRANSFER_CONTEXT') || request.context,
    timeoutMs: consults?.timeoutMs ?? timeoutMs,
    ...(callsBack && endpoint && { callBack: { channelId: channels.freshId(), target: endpoint.join('/') } }),
    // People press keys, and hang up when they want to.
    ...(byeTimeoutMs > 0 && !byKeys && { hangupTimeMs: byeTimeoutMs }),
    ...(byKeys && { byKeys }),
    ...(consults && { consults: { bridgeId: ids.uuid(), waitingIn } }),
  } as TransferContext;
}
