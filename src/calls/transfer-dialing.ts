import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import { type ChannelEntry, hearChanges, snapshotOf } from '../actors/channel-entry.ts';
import { type ChannelSnapshot, isEnding, lifeOf } from '../machines/channel.ts';
import { noTimeout } from '../machines/channel-setup.ts';
import { failureStatus, type TransferContext } from '../machines/transfer.ts';
import { AriError } from '../models/errors.ts';
import { Cause } from '../telephony/causes.ts';
import { DriverError } from '../telephony/driver.ts';
import { createTransferCalls, failureCauseOf } from './transfer-calls.ts';
import type { TransfersOptions, TransferTable } from './transfer-table.ts';

/** Watches the channels and the bridge of a transfer, and reports their changes to its chart. */
export type TransferWatch = ReturnType<typeof createTransferWatch>;

export function createTransferWatch({ facts, channels, bridges }: TransfersOptions, table: TransferTable) {
  const { transfers, send, fail } = table;

  const watchChannel = (id: string, channel: ChannelEntry, look: (snapshot: ChannelSnapshot) => void): void => {
    transfers.get(id)?.unwatch.push(hearChanges(facts, channel.id, look));
  };

  /** Reports how far the call to the target is. */
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

  return {
    lookAtTarget,
    target(id: string, target: ChannelEntry): void {
      const inDialplan = channels.find(target.companionId ?? '');
      watchChannel(id, target, () => lookAtTarget(id, target, inDialplan));
    },
    callBack(id: string, channel: ChannelEntry): void {
      watchChannel(id, channel, (snapshot) => {
        if (isEnding(snapshot)) send(id, { type: 'transferer.lost' });
        else if (lifeOf(snapshot) === 'up') send(id, { type: 'transferer.returned' });
      });
    },
    /** Reports that no transferee is left. */
    bridge(id: string, bridge: BridgeEntry | undefined): void {
      const entry = transfers.get(id);
      if (!bridge || !entry) return;
      const { transferer, targetId, callBack: back } = entry.actor.getSnapshot().context;
      const own = new Set([transferer, targetId, back?.channelId]);
      const look = ({ context: { members, home } }: ReturnType<typeof bridges.snapshot>): void => {
        const isElsewhere = entry.actor.getSnapshot().value === 'consulting';
        const isThere = isElsewhere || members.some(({ channelId }) => own.has(channelId));
        // Only the node of the bridge knows all members.
        const isOther = home !== undefined || members.some(({ channelId }) => !own.has(channelId));
        if (!isThere || !isOther) send(id, { type: 'transferees.left' });
      };
      entry.unwatch.push(hearBridge(bridges, bridge.id, look));
    },
  };
}

/** Effects of the transfer chart that call its target, or its transferor back. */
export function createTransferDialing(options: TransfersOptions, table: TransferTable, watch: TransferWatch) {
  const { log, channels, bridges, swaps, dialplan } = options;
  const { send, fail, living } = table;
  const calls = createTransferCalls({ channels, swaps });

  const abandon = (channelId = ''): void => {
    const called = living(channelId);
    if (called) channels.tell(called, { type: 'hangup', cause: Cause.normalClearing, cancels: true, by: 'server' });
  };

  const dialTarget = (context: TransferContext): void => {
    const { id, transferer: transfererId, extension } = context;
    const transferer = living(transfererId);
    if (!transferer || !swaps.hasOthers(transferer)) return void fail(id, 603, 'Invalid');
    // Such an extension would be read as another one, in another context.
    const exists = !/[/@]/.test(extension) && dialplan.hasExtension(context.context, extension);
    if (!exists) return void fail(id, 404, 'Fail');
    watch.bridge(id, bridges.bridgeOf(transferer.id));
    try {
      const target = calls.openTarget(transferer, context);
      watch.target(id, target);
      channels.tell(target, { type: 'dial', timeoutMs: noTimeout });
    } catch (error) {
      if (!(error instanceof DriverError || error instanceof AriError)) throw error;
      log.info({ channel: transfererId, extension, reason: error.message }, 'cannot call the target of a transfer');
      fail(id, 503, 'Fail');
    }
  };

  /** Calls the transferor back, in place of the target, or of itself if it has just ended. */
  const callBack = ({ id, transferer, targetId, callBack: back, timeoutMs: patience }: TransferContext): void => {
    const stands = [targetId, transferer].flatMap((each) => channels.find(each) ?? []);
    const old = stands.find(swaps.hasOthers);
    if (!old || !back) return void send(id, { type: 'transferer.lost' });
    try {
      const newcomer = calls.openCallBack(back, old);
      swaps.replace(newcomer, old);
      watch.callBack(id, newcomer);
      channels.tell(newcomer, { type: 'dial', timeoutMs: patience });
      log.info({ channel: newcomer.id, target: back.target }, 'calling the transferor back');
    } catch (error) {
      if (!(error instanceof DriverError || error instanceof AriError)) throw error;
      log.info({ target: back.target, reason: error.message }, 'cannot call the transferor back');
      send(id, { type: 'transferer.lost' });
    }
  };

  return { dialTarget, callBack, abandon };
}
