import type { Bus } from '../bus/bus.ts';
import { channelTopic } from '../bus/topics.ts';
import { type ChannelFact, type ChannelSnapshot, lifeOf } from '../machines/channel.ts';
import type { OwnershipFact } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import { Cause } from '../telephony/causes.ts';
import type { ChannelApplications, ChannelEndpoints, ChannelEntry } from './channel-entry.ts';
import { channelEvent, ownershipEvent, topicsOf } from './channel-events.ts';
import type { ChannelView } from './channel-view.ts';

type ChannelPublisherOptions = {
  bus: Bus;
  view: ChannelView;
  /** The channel with that id, as long as there is one. */
  find(id: string): ChannelEntry | undefined;
  applications: Pick<ChannelApplications, 'addInterest' | 'removeInterest' | 'forget'>;
  endpoints: ChannelEndpoints;
  /** Whether events match Asterisk's. */
  asteriskEvents: boolean;
};

/** Asterisk's cause values for hang-ups by software: internal flags, not Q.850 causes. */
const fieldFlags = { asked: 32, dialplanOver: 16 } as const;

/** Makes events of what the charts of channels tell, and lets those know who keep count of channels. */
interface ChannelPublisher {
  /** A fact of a channel's life, told after the commit; `current` is the state that it led to. */
  life(entry: ChannelEntry, fact: ChannelFact, current: ChannelSnapshot): void;
  /** Publishes a fact of the ownership chart. */
  ownership(entry: ChannelEntry, fact: OwnershipFact): void;
  /** Removes the channel's subscriptions. After a crash (`crashed`) it publishes the end with the last model. */
  gone(entry: ChannelEntry, endpoint: ChannelSnapshot['context']['endpoint'], crashed: Channel | undefined): void;
}

/** Makes the publisher of all channels. */
export function createChannelPublisher(options: ChannelPublisherOptions): ChannelPublisher {
  const { bus, view, find, applications, endpoints, asteriskEvents } = options;

  /** The event of a fact; of a hang-up in the words of Asterisk where these are asked for. */
  const eventOf = (entry: ChannelEntry, fact: ChannelFact, { context }: ChannelSnapshot): AriEventBody => {
    const forwarded = fact.type === 'Dial' && fact.forwarded !== undefined ? find(fact.forwarded) : undefined;
    const about = { ...channelEvent(fact, view.model(entry), context.caller.presentation) };
    const event = forwarded && about.type === 'Dial' ? { ...about, forwarded: view.model(forwarded) } : about;
    if (!asteriskEvents || event.type !== 'ChannelHangupRequest') return event;
    if (event.soft) return { ...event, cause: fieldFlags.asked };
    // A phone that hangs up an answered call gives no cause.
    if (context.technology !== 'PJSIP' || context.lastState !== 'Up') return event;
    const { cause: _cause, ...others } = event;
    return others;
  };

  /** Asterisk asks once more for the end of a channel whose dialplan is over, or is broken off. */
  const tellDialplanOver = (entry: ChannelEntry): void => {
    const fact = { type: 'ChannelHangupRequest', cause: fieldFlags.dialplanOver, soft: true } as const;
    bus.publish({ event: channelEvent(fact, view.model(entry)), topics: entry.topics });
  };

  return {
    life(entry, fact, current) {
      const { endpoint } = current.context;
      if (asteriskEvents && fact.type === 'ChannelDestroyed' && entry.ranDialplan) tellDialplanOver(entry);
      const event = eventOf(entry, fact, current);
      const { dialer } = entry;
      if (event.type === 'Dial' && dialer)
        bus.publish({ event: { ...event, caller: view.model(dialer) }, topics: dialer.topics });
      else bus.publish({ event, topics: topicsOf(fact, entry.topics) });
      if (fact.type === 'ChannelCreated' && endpoint) endpoints.channelAdded(endpoint[0], endpoint[1], entry.id);
      if (fact.type === 'ChannelStateChange' && lifeOf(current) === 'up')
        for (const told of entry.onUp.splice(0)) told(true);
      if (fact.type === 'ChannelDtmfReceived') for (const told of [...entry.onDigit]) told(fact.digit, fact.durationMs);
    },

    ownership(entry, fact) {
      if (fact.type === 'StasisStart') applications.addInterest(fact.app, channelTopic(entry.id));
      if (fact.type === 'StasisEnd') applications.removeInterest(fact.app, channelTopic(entry.id));
      const replaced = fact.type === 'StasisStart' && fact.replaces !== undefined ? find(fact.replaces) : undefined;
      const event = ownershipEvent(fact, view.model(entry), replaced && view.model(replaced));
      bus.publish({ event, topics: [], to: fact.app });
    },

    gone(entry, endpoint, crashed) {
      if (crashed) {
        const fact = { type: 'ChannelDestroyed', cause: Cause.temporaryFailure } as const;
        bus.publish({ event: channelEvent(fact, crashed), topics: entry.topics });
      }
      applications.forget(channelTopic(entry.id));
      if (endpoint) endpoints.channelRemoved(endpoint[0], endpoint[1], entry.id);
    },
  };
}
