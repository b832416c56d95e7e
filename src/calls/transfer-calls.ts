import type { ChannelEntry } from '../actors/channel-entry.ts';
import { readEndpoint } from '../actors/channel-requests.ts';
import type { Channels } from '../actors/channels.ts';
import { passedOn } from '../machines/channel-setup.ts';
import type { TransferContext } from '../machines/transfer.ts';
import type { Swaps } from './swaps.ts';

/** Creates the channels that call transfer targets, without dialing. */
interface TransferCalls {
  /**
   * To the target: as if the transferee's dialplan called it, or the transferor's for a consultation.
   * @throws DriverError, AriError as `Channels.openOutbound`.
   */
  openTarget(transferer: ChannelEntry, context: TransferContext): ChannelEntry;
  /** Back to the transferor, for the transferee. @throws as `openTarget`. */
  openCallBack(back: NonNullable<TransferContext['callBack']>, transferee: ChannelEntry): ChannelEntry;
}

const nobody = { name: '', number: '' } as const;

/** Makes what swaps the calls of transfers. */
export const createTransferCalls = ({
  channels,
  swaps,
}: {
  channels: Channels;
  swaps: Pick<Swaps, 'othersWith'>;
}): TransferCalls => ({
  openTarget(transferer, context) {
    const from = channels.snapshot(transferer).context;
    const [transferee = transferer] = context.consults ? [] : swaps.othersWith(transferer);
    const { caller, linked, language } = channels.snapshot(transferee).context;
    const who = { name: caller.name, number: caller.number };
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

  openCallBack({ channelId, target }, transferee) {
    const { caller, linked, language, accountCode, tenantId } = channels.snapshot(transferee).context;
    const who = { name: caller.name, number: caller.number };
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
