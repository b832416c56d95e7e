import { type ChannelApplications, type ChannelEntry, type ChannelFacts, snapshotOf } from '../actors/channel-entry.ts';
import { readEndpoint } from '../actors/channel-requests.ts';
import type { Channels } from '../actors/channels.ts';
import type { ObjectOwnership } from '../actors/object-ownership.ts';
import { channelTopic } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import type { Forward } from '../machines/channel.ts';
import { AriError } from '../models/errors.ts';
import { Cause } from '../telephony/causes.ts';
import { DriverError } from '../telephony/driver.ts';
import { shownParty } from '../telephony/party.ts';
import type { DialSessions } from './dial-sessions.ts';

type ForwardingOptions = {
  channels: Channels;
  facts: ChannelFacts;
  dialSessions: DialSessions;
  applications: Pick<ChannelApplications, 'addInterest'>;
  objectOwnership: Pick<ObjectOwnership, 'creatorOf' | 'by'>;
  log: Logger;
};

/**
 * Follows forwarded calls: another channel calls the new target, for the caller of the first
 * channel, which ends. The new channel keeps what happens on answer, the time-out and the creator.
 */
export function createForwarding({
  channels,
  facts,
  dialSessions,
  applications,
  objectOwnership,
  log,
}: ForwardingOptions): void {
  const open = (old: ChannelEntry, { target, redirection }: Forward): ChannelEntry | undefined => {
    const { caller, connected, variables, inheritance, accountCode, tenantId, language, linked } =
      snapshotOf(old).context;
    const { onAnswer } = old.ownership.getSnapshot().context;
    try {
      return channels.openOutbound({
        id: channels.freshId(),
        ...readEndpoint(target),
        origin: 'originated',
        caller: { ...caller, redirection },
        connected,
        presented: shownParty(connected),
        variables,
        inheritance,
        reported: [],
        accountCode,
        tenantId,
        language,
        linked,
        ...(onAnswer && { onAnswer }),
        ...(old.dialer && { dialer: old.dialer }),
      });
    } catch (error) {
      if (!(error instanceof DriverError || error instanceof AriError)) throw error;
      log.info({ channel: old.id, target, reason: error.message }, 'a call could not be forwarded');
      return undefined;
    }
  };

  facts.on('forward.asked', (old, { forward }) => {
    const { target } = forward;
    const creator = objectOwnership.creatorOf('channel', old.id);
    const successor = creator ? objectOwnership.by(creator, () => open(old, forward)) : open(old, forward);
    if (successor) {
      const { onAnswer } = successor.ownership.getSnapshot().context;
      if (onAnswer?.type === 'application')
        for (const id of [successor.id, successor.companionId])
          if (id !== undefined) applications.addInterest(onAnswer.app, channelTopic(id));
      dialSessions.replace(old, successor);
    }
    channels.tell(old, { type: 'forwarded', target, ...(successor && { successor: successor.id }) });
    if (successor) {
      const { dialTimeoutMs } = snapshotOf(old).context;
      channels.tell(successor, { type: 'dial', timeoutMs: dialTimeoutMs });
      log.info({ channel: old.id, target, successor: successor.id }, 'a call is forwarded');
    }
    channels.tell(old, { type: 'finish', cause: Cause.numberChanged, by: 'farSide' });
  });
}
