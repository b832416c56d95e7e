import { allChannels, type Topic } from '../bus/topics.ts';
import type { ChannelFact } from '../machines/channel.ts';
import type { OwnershipFact } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import { causeText } from '../telephony/causes.ts';

/** Words for the presentation octet (Q.931 4.5.10), as clients see them. */
const presentationText = (presentation: number): string => {
  if (presentation === 0x43) return 'Number Unavailable';
  return (presentation & 0x60) === 0x20
    ? 'Presentation Restricted, Not Screened'
    : 'Presentation Allowed, Not Screened';
};

const techCause = (fact: { techCause?: number }) =>
  fact.techCause === undefined ? {} : { tech_cause: fact.techCause };

/** The event that tells a fact, with the channel as it is after the transition. */
export function channelEvent(fact: ChannelFact, channel: Channel, presentation = 0): AriEventBody {
  switch (fact.type) {
    case 'ChannelCreated':
    case 'ChannelStateChange':
    case 'ChannelConnectedLine':
    case 'ChannelUnhold':
    case 'ChannelTalkingStarted':
    case 'ChannelToneDetected':
      return { type: fact.type, channel };
    case 'ChannelDialplan':
      return {
        type: fact.type,
        channel,
        dialplan_app: channel.dialplan.app_name,
        dialplan_app_data: channel.dialplan.app_data,
      };
    case 'ChannelCallerId':
      return {
        type: fact.type,
        channel,
        caller_presentation: presentation,
        caller_presentation_txt: presentationText(presentation),
      };
    case 'ChannelVarset':
      return { type: fact.type, variable: fact.variable, value: fact.value, channel };
    case 'ChannelHangupRequest':
      return {
        type: fact.type,
        channel,
        cause: fact.cause,
        ...(fact.soft ? { soft: true } : {}),
        ...techCause(fact),
      };
    case 'ChannelDestroyed':
      return { type: fact.type, channel, cause: fact.cause, cause_txt: causeText(fact.cause), ...techCause(fact) };
    case 'ChannelDtmfReceived':
      return { type: fact.type, channel, digit: fact.digit, duration_ms: fact.durationMs };
    case 'ChannelTalkingFinished':
      return { type: fact.type, channel, duration: fact.durationMs };
    case 'ChannelHold':
      return { type: fact.type, channel, musicclass: fact.musicClass };
    case 'ChannelUserevent':
      return {
        type: fact.type,
        eventname: fact.name,
        userevent: { ...fact.fields, eventname: fact.name },
        channel,
      };
    case 'Dial':
      return {
        type: fact.type,
        peer: channel,
        dialstatus: fact.dialstatus,
        dialstring: fact.dialstring,
        forward: fact.forward,
      };
  }
}

/**
 * The event that tells the application of a fact about its control of a channel.
 * @param replaced the channel whose place it takes, where it takes one
 */
export function ownershipEvent(fact: OwnershipFact, channel: Channel, replaced?: Channel): AriEventBody {
  switch (fact.type) {
    case 'StasisStart':
      return { type: fact.type, channel, args: [...fact.args], ...(replaced && { replace_channel: replaced }) };
    case 'StasisEnd':
      return { type: fact.type, channel };
    case 'ApplicationMoveFailed':
      return { type: fact.type, channel, destination: fact.destination, args: [...fact.args] };
  }
}

/** No subscription can exist before the channel: its creation goes to its other topics only. */
export const topicsOf = (fact: ChannelFact, topics: readonly Topic[]): readonly Topic[] =>
  fact.type === 'ChannelCreated' ? topics.slice(topics.indexOf(allChannels)) : topics;
