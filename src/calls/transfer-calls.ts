import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import { readEndpoint } from '../actors/channel-requests.ts';
import type { Channels } from '../actors/channels.ts';
import { ownVariable, passedOn } from '../machines/channel-setup.ts';
import type { TransferCommand, TransferContext } from '../machines/transfer.ts';
import { AriError } from '../models/errors.ts';
import { type TransferState, transferStates } from '../models/transfer.ts';
import { Cause } from '../telephony/causes.ts';
import type { Swaps } from './swaps.ts';

/** Creates the channels that call transfer targets, without dialing. */
interface TransferCalls {
  /**
   * To the target: as if the transferee's dialplan called it, or the transferor's for a consultation.
   * @throws DriverError, AriError as `Channels.openOutbound`.
   */
  openTarget(transferer: ChannelEntry, context: TransferContext): ChannelEntry;
  /** Back to the transferor, for the party that a channel is with. @throws as `openTarget`. */
  openCallBack(back: NonNullable<TransferContext['callBack']>, old: ChannelEntry): ChannelEntry;
}

const nobody = { name: '', number: '' } as const;

/** The party that a channel is with. One at another node is known as its connected line. */
function transfereeOf(swaps: Pick<Swaps, 'othersWith'>, channel: ChannelEntry) {
  const [other] = swaps.othersWith(channel);
  const { name, number } = snapshotOf(other ?? channel).context[other ? 'caller' : 'connected'];
  return { transferee: other ?? channel, who: { name, number } };
}

/** Makes what swaps the calls of transfers. */
export const createTransferCalls = ({
  channels,
  swaps,
}: {
  channels: Channels;
  swaps: Pick<Swaps, 'othersWith'>;
}): TransferCalls => ({
  openTarget(transferer, context) {
    const from = snapshotOf(transferer).context;
    const { transferee, who } = context.consults
      ? { transferee: transferer, who: { name: from.caller.name, number: from.caller.number } }
      : transfereeOf(swaps, transferer);
    const { linked, language } = snapshotOf(transferee).context;
    const { referredBy, target } = context.request;
    const told: Record<string, string> = context.consults
      ? { ATTENDEDTRANSFER: transferer.name }
      : {
          BLINDTRANSFER: transferer.name,
          SIPREFERTOHDR: `<${target}>`,
          ...(referredBy !== undefined && { SIPREFERREDBYHDR: referredBy }),
        };
    const { variables, inheritance } = passedOn(from);
    const always = Object.fromEntries(Object.keys(told).map((name) => [name, 'always' as const]));
    return channels.openOutbound({
      id: context.targetId,
      technology: 'Local',
      resource: `${context.extension}@${context.context}`,
      origin: 'originated',
      caller: { name: '', number: context.extension },
      connected: who,
      presented: who,
      variables: { ...variables, ...told },
      inheritance: { ...inheritance, ...always },
      reported: [],
      // The transferor pays for the call to the target.
      accountCode: from.accountCode,
      tenantId: from.tenantId,
      language,
      linked,
      dialer: transferee,
    });
  },

  openCallBack({ channelId, target }, old) {
    const { transferee, who } = transfereeOf(swaps, old);
    const { linked, language, accountCode, tenantId } = snapshotOf(transferee).context;
    return channels.openOutbound({
      id: channelId,
      ...readEndpoint(target),
      origin: 'originated',
      caller: nobody,
      connected: who,
      presented: who,
      variables: {},
      inheritance: {},
      reported: [],
      ...{ accountCode, tenantId, language, linked },
      dialer: transferee,
    });
  },
});

/** The cause of a failed target. A dialplan whose Dial failed ends normally; DIALSTATUS has the reason. */
export function failureCauseOf(target: ChannelEntry, inDialplan: ChannelEntry | undefined): number {
  const { cause } = snapshotOf(target).context;
  if (cause !== Cause.normalClearing || !inDialplan) return cause;
  const status = ownVariable(snapshotOf(inDialplan).context.variables, 'DIALSTATUS');
  if (status === 'BUSY') return Cause.userBusy;
  return status === 'CONGESTION' ? Cause.congestion : cause;
}

const commandOf: Readonly<Record<TransferState, TransferCommand['type']>> = {
  channel_progress: 'client.progress',
  channel_answered: 'client.answered',
  channel_unavailable: 'client.unavailable',
  channel_declined: 'client.declined',
};

/** The command for the state that an application reports. @throws AriError transferStatesRequired, transferStatesInvalid. */
export function readTransferState(states: string | undefined): TransferCommand['type'] {
  if (!states) throw new AriError('transferStatesRequired');
  const state = transferStates.find((each) => each === states.toLowerCase());
  if (!state) throw new AriError('transferStatesInvalid');
  return commandOf[state];
}

/** Hears how a transfer goes, as SIP statuses, the last of which is 200 or more. */
export type Notify = (status: number) => void;

/** A party that asks by other means than its technology's. */
export type KeyTransferor = {
  /** Hears how it goes. */
  notify: Notify;
  /** The party consults the target before the transfer, for at most this time in ms. */
  consults?: { timeoutMs: number };
};
