import type { Bus } from '../bus/bus.ts';
import { allChannels, channelTopic, type Topic } from '../bus/topics.ts';
import type { ChannelFact, ChannelSnapshot } from '../machines/channel.ts';
import type { OwnershipFact } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import { Cause, causeText } from '../telephony/causes.ts';
import type { CallPolicy } from './call-policy.ts';
import {
  type ChannelApplications,
  type ChannelEndpoints,
  type ChannelEntry,
  type ChannelNews,
  snapshotOf,
} from './channel-entry.ts';
import type { ChannelViews } from './channel-views.ts';

/** Words for the presentation octet (Q.931 4.5.10), as clients see them. */
const presentationText = (presentation: number): string => {
  if (presentation === 0x43) return 'Number Unavailable';
  return (presentation & 0x60) === 0x20
    ? 'Presentation Restricted, Not Screened'
    : 'Presentation Allowed, Not Screened';
};

/** The event that a channel is about to end, or has ended. */
function endEvent(
  fact: Extract<ChannelFact, { type: 'ChannelHangupRequest' | 'ChannelDestroyed' }>,
  channel: Channel,
): AriEventBody {
  const { type, cause, techCause: tech_cause } = fact;
  // Whole literals: one with spreads at its end has a hidden class of its own each time.
  if (type === 'ChannelDestroyed') {
    const cause_txt = causeText(cause);
    if (tech_cause === undefined) return { type, channel, cause, cause_txt };
    return { type, channel, cause, cause_txt, tech_cause };
  }
  const { soft } = fact;
  if (tech_cause === undefined) return soft ? { type, channel, cause, soft } : { type, channel, cause };
  return soft ? { type, channel, cause, soft, tech_cause } : { type, channel, cause, tech_cause };
}

/** The event that tells a fact, with the channel as it is after the transition. */
function channelEvent(fact: ChannelFact, channel: Channel, presentation = 0): AriEventBody {
  switch (fact.type) {
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
    case 'ChannelDestroyed':
      return endEvent(fact, channel);
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
    default:
      return { type: fact.type, channel };
  }
}

/**
 * The event that tells the application of a fact about its control of a channel.
 * @param replaced the channel whose place it takes, where it takes one
 */
function ownershipEvent(fact: OwnershipFact, channel: Channel, replaced?: Channel): AriEventBody {
  switch (fact.type) {
    case 'StasisStart': {
      const { type, args } = fact;
      return replaced
        ? { type, channel, args: [...args], replace_channel: replaced }
        : { type, channel, args: [...args] };
    }
    case 'StasisEnd':
      return { type: fact.type, channel };
    case 'ApplicationMoveFailed':
      return { type: fact.type, channel, destination: fact.destination, args: [...fact.args] };
  }
}

/** No subscription can exist before the channel: its creation goes to its other topics only. */
const topicsOf = (fact: ChannelFact, topics: readonly Topic[]): readonly Topic[] =>
  fact.type === 'ChannelCreated' ? topics.slice(topics.indexOf(allChannels)) : topics;

type Listener = (entry: ChannelEntry, fact: ChannelNews) => void;

type ChannelPublisherOptions = {
  bus: Bus;
  views: Pick<ChannelViews, 'model'>;
  /** The channel with that id, as long as there is one. */
  find(id: string): ChannelEntry | undefined;
  applications: Pick<ChannelApplications, 'addInterest' | 'removeInterest' | 'forget'>;
  endpoints: ChannelEndpoints;
  policy: Pick<CallPolicy, 'events'>;
};

/** Makes the listener that makes events of all facts of channels, and tells who keeps count of channels. */
export function createChannelPublisher(options: ChannelPublisherOptions): Listener {
  const { bus, views, find, applications, endpoints } = options;
  const form = options.policy.events;

  const eventOf = (entry: ChannelEntry, fact: ChannelFact, snapshot: ChannelSnapshot): AriEventBody => {
    const forwarded = fact.type === 'Dial' && fact.forwarded !== undefined ? find(fact.forwarded) : undefined;
    const about = channelEvent(fact, views.model(entry), snapshot.context.caller.presentation);
    const event = forwarded && about.type === 'Dial' ? { ...about, forwarded: views.model(forwarded) } : about;
    return form.shape(event, snapshot);
  };

  const publishLife = (entry: ChannelEntry, fact: ChannelFact): void => {
    const current = snapshotOf(entry);
    const { endpoint } = current.context;
    if (!form.publishes(fact, entry, current)) return;
    const before = form.before(fact, entry);
    if (before) bus.publish({ event: channelEvent(before, views.model(entry)), topics: entry.topics });
    const event = eventOf(entry, fact, current);
    const { dialer } = entry;
    if (event.type === 'Dial' && dialer)
      bus.publish({ event: { ...event, caller: views.model(dialer) }, topics: dialer.topics });
    else bus.publish({ event, topics: topicsOf(fact, entry.topics) });
    if (fact.type === 'ChannelCreated' && endpoint) endpoints.channelAdded(endpoint[0], endpoint[1], entry.id);
  };

  const publishOwnership = (entry: ChannelEntry, fact: OwnershipFact): void => {
    if (fact.type === 'StasisStart') applications.addInterest(fact.app, channelTopic(entry.id));
    if (fact.type === 'StasisEnd') applications.removeInterest(fact.app, channelTopic(entry.id));
    const replaced = fact.type === 'StasisStart' && fact.replaces !== undefined ? find(fact.replaces) : undefined;
    const event = ownershipEvent(fact, views.model(entry), replaced && views.model(replaced));
    bus.publish({ event, topics: [], to: fact.app });
  };

  /** Removes the channel's subscriptions. After a crash it publishes the end with the last model. */
  const gone = (entry: ChannelEntry, { context: { endpoint } }: ChannelSnapshot, crashed: boolean): void => {
    if (crashed && entry.seen) {
      const fact = { type: 'ChannelDestroyed', cause: Cause.temporaryFailure } as const;
      bus.publish({ event: channelEvent(fact, entry.seen.model), topics: entry.topics });
    }
    applications.forget(channelTopic(entry.id));
    if (endpoint) endpoints.channelRemoved(endpoint[0], endpoint[1], entry.id);
  };

  return (entry, fact) => {
    switch (fact.type) {
      case 'StasisStart':
      case 'StasisEnd':
      case 'ApplicationMoveFailed':
        return publishOwnership(entry, fact);
      case 'channel.gone':
        return gone(entry, fact.last, fact.crashed);
      default:
        if (isLifeFact(fact)) publishLife(entry, fact);
    }
  };
}

/** Facts of charts have the names of events; those of the owner contain a dot. */
const isLifeFact = (fact: Exclude<ChannelNews, OwnershipFact>): fact is ChannelFact => !fact.type.includes('.');
