import { controlledChannel } from '../actors/channel-control.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { TransferDump } from '../actors/dumps.ts';
import { type Beginning, spawn } from '../actors/spawn.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import {
  namesCallElsewhere,
  refuseTransferCommand,
  type TransferContext,
  transferMachine,
} from '../machines/transfer.ts';
import type { CallSeen } from '../models/call-elsewhere.ts';
import { AriError } from '../models/errors.ts';
import { type TransferRequest, transferHandlingIn } from '../telephony/driver.ts';
import { type KeyTransferor, type Notify, readTransferState } from './transfer-calls.ts';
import { createTransferDialing, createTransferWatch, type TransferWatch } from './transfer-dialing.ts';
import type { PartySnapshot } from './transfer-events.ts';
import { createTransferJoining } from './transfer-joining.ts';
import {
  createTransferTable,
  type TransferEntry,
  type TransfersOptions,
  type TransferTable,
} from './transfer-table.ts';

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
  /** An answered call that a transfer at another node of the cluster names. */
  callSeen(channelId: string): CallSeen | undefined;
  /** Ends a call whose parties were put through at another node: the phone has some time to do it itself. */
  endCall(channelId: string): void;
  dump(): TransferDump[];
  /** Takes transfers up again, after the channels and bridges they are about. */
  restore(dumps: readonly TransferDump[]): void;
  readonly size: number;
}

type Parts = {
  table: TransferTable;
  watch: TransferWatch;
  joining: ReturnType<typeof createTransferJoining>;
  tellTransferer(context: TransferContext, status: number, own?: Notify): void;
};

/** Binds the effects of the transfer chart. */
function bindEffects(options: TransfersOptions, { table, watch, joining, tellTransferer }: Parts) {
  const { channels, swaps, consultations } = options;
  const { living, hangUp, endCall } = table;
  const dialing = createTransferDialing(options, table, watch);

  /** The transferees, with the transferor's replacement. */
  const alert = ({ targetId, callBack: back }: TransferContext, type: 'ring' | 'ringStop'): void => {
    const stands = [back?.channelId, targetId].flatMap((id) => channels.find(id ?? '') ?? []);
    for (const other of stands.flatMap(swaps.othersWith)) channels.tell(other, { type });
  };

  return transferMachine.provide({
    actions: {
      tellTransferer: ({ context }, { status }) => tellTransferer(context, status),
      dialTarget: ({ context }) => dialing.dialTarget(context),
      joinParties: ({ context }) => joining.join(context),
      swapParticipant: ({ context }) => joining.take(context),
      beginTalk: ({ context: { id, transferer, targetId, consults } }) => {
        if (consults) consultations.begin({ id, transferer, targetId, ...consults });
      },
      endTalk: ({ context }) => consultations.end(context.id),
      alertTransferees: ({ context }) => alert(context, 'ring'),
      calmTransferees: ({ context }) => alert(context, 'ringStop'),
      endTransferer: ({ context: { transferer, request, byKeys } }) => {
        for (const channel of [living(transferer), living(request.replaces?.channelId ?? '')])
          if (byKeys) hangUp(channel);
          else endCall(channel);
      },
      callBack: ({ context }) => dialing.callBack(context),
      abandonCallBack: ({ context }) => dialing.abandon(context.callBack?.channelId),
      abandonTarget: ({ context }) => dialing.abandon(context.targetId),
    },
  });
}

type Start = (id: string, party: PartySnapshot, beginning: Beginning<TransferContext>, notify?: Notify) => void;

/** Starts the actors of transfers, and releases what they held. */
function createStart(options: TransfersOptions, parts: Parts): Start {
  const { runtime, consultations } = options;
  const { transfers, living, hangUp } = parts.table;
  const { joining, tellTransferer } = parts;
  const machine = onFirstUse(() => bindEffects(options, parts));

  const ended = (id: string, error: unknown): void => {
    const entry = transfers.get(id);
    transfers.delete(id);
    for (const unwatch of entry?.unwatch ?? []) unwatch();
    consultations.end(id);
    if (error === undefined || !entry) return;
    // No other part would report it, and the channel called for it would have no owner.
    const { context } = entry.actor.getSnapshot();
    tellTransferer(context, 500, entry.notify);
    hangUp(living(context.targetId));
  };

  return (id, party, beginning, notify) => {
    const entry: TransferEntry = { actor: undefined as never, party, joining: undefined, notify, unwatch: [] };
    spawn(machine(), {
      id,
      ...beginning,
      runtime,
      onCreated: (actor) => {
        entry.actor = actor;
        transfers.set(id, entry);
      },
      onEmitted: (fact, { context }) => joining.publish(entry, context, fact),
      onEnded: (error) => ended(id, error),
    });
  };
}

/** Dump and restore of all transfers. */
function createSaved({ channels, bridges }: TransfersOptions, parts: Parts, start: Start) {
  const { table, watch } = parts;
  const { transfers, partyOf } = table;
  return {
    dump: (): TransferDump[] => [...transfers.values()].map(({ actor }) => actor.dump() as TransferDump),

    restore(dumps: readonly TransferDump[]): void {
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
        // The answer of the other node is lost.
        if (from.value === 'joining' && namesCallElsewhere(from.context)) parts.joining.join(from.context);
        watch.bridge(id, bridges.find(consults?.waitingIn ?? '') ?? bridges.bridgeOf(seen.id));
        if (target) watch.target(id, target);
        if (returning) watch.callBack(id, returning);
      }
    },
  };
}

/** Makes the owner of all transfers. */
export function createTransfers(options: TransfersOptions): Transfers {
  const { log, channels, facts, bridges } = options;
  const table = createTransferTable(options);
  const { transfers, of, partyOf } = table;
  const watch = createTransferWatch(options, table);
  const parts: Parts = {
    table,
    watch,
    joining: createTransferJoining(options, table),
    tellTransferer({ id, transferer, request, byKeys }, status, own) {
      const tell = own ?? transfers.get(id)?.notify;
      if (tell) tell(status);
      else if (!byKeys) channels.find(transferer)?.leg.tellTransfer(request.id, status);
    },
  };
  const start = createStart(options, parts);

  const ask: Transfers['ask'] = (channel, request, transferor) => {
    const input = inputOf(channel, request, transferor, { ...options, waitingIn: bridges.bridgeOf(channel.id)?.id });
    for (const earlier of of(channel.id)) earlier.send({ type: 'transferer.asksAgain' });
    const attended = Boolean(request.replaces ?? transferor?.consults);
    log.info(
      { channel: channel.id, target: request.target, attended, handling: input.handling },
      'a party requested a transfer',
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
      if (value === 'handedOver' && context.targetId === channelId) watch.lookAtTarget(context.id, stand!);
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

    callSeen: table.callSeen,
    endCall: (channelId) => table.endCall(table.living(channelId)),
    ...createSaved(options, parts, start),

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
