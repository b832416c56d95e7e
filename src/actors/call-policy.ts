import type { ChannelFact, ChannelSnapshot } from '../machines/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import type { ChannelEntry } from './channel-entry.ts';

/** Where call control can behave as Asterisk does (docs/differences.md). Decided once, when the server is built. */
export type CallPolicy = {
  readonly events: EventForm;
  /** The creation event of an outbound channel has its identity. Else events of their own follow it. */
  readonly createdWithIdentity: boolean;
  /** The second half of a Local channel has its variables when it is dialed. Else each makes an event. */
  readonly presetsVariables: boolean;
  /** A channel can be recorded and be in a bridge at the same time. */
  readonly recordsInBridges: boolean;
};

/** How the events of channels and transfers leave call control. */
interface EventForm {
  /** A fact to publish before another one. */
  before(fact: ChannelFact, entry: ChannelEntry): ChannelFact | undefined;
  /** Whether a fact makes an event at all. */
  publishes(fact: ChannelFact, entry: ChannelEntry, snapshot: ChannelSnapshot): boolean;
  /** Hookswitch's event in this form. */
  shape(event: AriEventBody, snapshot: ChannelSnapshot): AriEventBody;
  /** Subscribers to all events get those of transfers. */
  readonly transfersToAll: boolean;
}

const ownEvents: EventForm = {
  before: () => undefined,
  publishes: () => true,
  shape: (event) => event,
  transfersToAll: true,
};

/** Asterisk's cause values for hang-ups by software: internal flags, not Q.850 causes. */
const softCauses = { asked: 32, dialplanOver: 16 } as const;

/** Asterisk requests the end of a channel after its dialplan and `h`, also if a hang-up broke the dialplan off. */
const asteriskEvents: EventForm = {
  before: (fact, { ranDialplan }) =>
    ranDialplan && fact.type === 'ChannelDestroyed'
      ? { type: 'ChannelHangupRequest', cause: softCauses.dialplanOver, soft: true }
      : undefined,
  publishes: (fact, { ranDialplan }, { context }) =>
    !(ranDialplan && fact.type === 'ChannelHangupRequest' && context.endedBy === 'dialplan'),
  shape(event, { context }) {
    if (event.type !== 'ChannelHangupRequest') return event;
    if (event.soft) return { ...event, cause: softCauses.asked };
    // A phone that hangs up an answered call gives no cause.
    if (context.technology !== 'PJSIP' || context.lastState !== 'Up') return event;
    const { cause: _cause, ...others } = event;
    return others;
  },
  transfersToAll: false,
};

export const ownCallPolicy: CallPolicy = {
  events: ownEvents,
  createdWithIdentity: true,
  presetsVariables: true,
  recordsInBridges: true,
};

export const asteriskCallPolicy: CallPolicy = {
  events: asteriskEvents,
  createdWithIdentity: false,
  presetsVariables: false,
  recordsInBridges: false,
};
