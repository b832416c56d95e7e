import { answered, type ChannelEntry, type ChannelFacts, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import type { Logger } from '../lib/log.ts';
import { lifeOf } from '../machines/channel.ts';
import { Cause } from '../telephony/causes.ts';
import { livingIn, type Swaps } from './swaps.ts';

/**
 * Lets an inbound call replace a channel (RFC 3891). The call is answered and takes the channel's place or pending
 * target; that channel ends. If the channel has ended meanwhile, the call is refused.
 */
export function createReplacing({
  channels,
  facts,
  swaps,
  log,
}: {
  channels: Channels;
  facts: ChannelFacts;
  swaps: Swaps;
  log: Logger;
}): void {
  const living = livingIn(channels);

  const swapParticipant = (newcomer: ChannelEntry, old: ChannelEntry): void => {
    const isUp = lifeOf(snapshotOf(old)) === 'up';
    const { context } = old.ownership.getSnapshot();
    swaps.replace(newcomer, old);
    const { onAnswer } = context;
    if (!isUp && onAnswer?.type === 'application')
      channels.tell(newcomer, { type: 'enter', app: onAnswer.app, args: onAnswer.args, replaces: old.id });
    else if (!isUp && onAnswer?.type === 'dialplan')
      channels.tell(newcomer, { type: 'run', position: onAnswer.position });
    const cause = isUp ? Cause.normalClearing : Cause.answeredElsewhere;
    channels.tell(old, { type: 'hangup', cause, cancels: !isUp, by: 'server' });
  };

  facts.on('replacement.asked', (newcomer, { replaces }) => {
    if (!living(replaces)) return void channels.tell(newcomer, { type: 'finish', cause: Cause.callRejected });
    const up = answered(facts, newcomer);
    channels.tell(newcomer, { type: 'answer' });
    const whenUp = (isUp: boolean): void => {
      if (!isUp) return;
      const old = living(replaces);
      if (old) swapParticipant(newcomer, old);
      else channels.tell(newcomer, { type: 'finish', cause: Cause.normalClearing });
    };
    up.then(whenUp).catch((error: unknown) => {
      log.warn({ channel: newcomer.id, replaces, error }, 'cannot replace one call with another');
      channels.tell(newcomer, { type: 'finish', cause: Cause.temporaryFailure });
    });
  });
}
