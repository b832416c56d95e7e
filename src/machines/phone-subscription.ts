import { setup } from 'xstate';
import type { WatcherAnswer, WatcherEnd } from '../telephony/watchers.ts';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

/** Gets the outcome of a NOTIFY, once. */
type Outcome = (answer: WatcherAnswer) => void;

/** `Request` is the type of a SUBSCRIBE that can be answered. */
export type PhoneSubscriptionEvent<Request = unknown> =
  /** A SUBSCRIBE is accepted, for so many seconds: the first one, or one that refreshes. */
  | { type: 'subscribe.accepted'; request: Request; seconds: number }
  /** A SUBSCRIBE with `Expires: 0` ends it (RFC 6665 4.1.2.3). */
  | { type: 'subscribe.withdrawn'; request: Request; seconds: 0 }
  /** The watched state is to be told. */
  | { type: 'notify'; told: Outcome }
  /** The last NOTIFY is due, with its reason. */
  | { type: 'notify.last'; end: WatcherEnd; told: Outcome }
  /** The last NOTIFY is answered, or its transaction has timed out. */
  | { type: 'last.answered' }
  /** Its watcher has ended. */
  | { type: 'watcher.ended' };

const effects = {
  /** Later requests find the subscription, and it counts against the limits. */
  keepSubscription: effect('keepSubscription'),
  /** Later requests no longer find it. */
  forgetSubscription: effect('forgetSubscription'),
  /** It no longer counts against the limits. */
  uncount: effect('uncount'),
  acceptSubscribe: effect('acceptSubscribe'),
  startWatcher: effect('startWatcher'),
  endWatcher: effect('endWatcher'),
  sendNotify: effect('sendNotify'),
  sendLastNotify: effect('sendLastNotify'),
};
const subscription = setup({ types: { events: {} as PhoneSubscriptionEvent }, actions: effects });

/**
 * The dialog of a phone that watches extensions or mailboxes (RFC 6665 4.2). Its watcher decides when it is notified.
 */
export const phoneSubscriptionMachine = subscription.createMachine({
  id: 'phoneSubscription',
  initial: 'asked',
  states: {
    /** The first SUBSCRIBE is not answered yet. */
    asked: {
      on: {
        'subscribe.accepted': {
          target: 'active',
          actions: ['acceptSubscribe', 'keepSubscription', 'startWatcher'],
        },
      },
    },
    active: {
      on: {
        'subscribe.accepted': { actions: ['acceptSubscribe', 'startWatcher'] },
        'subscribe.withdrawn': { actions: ['acceptSubscribe', 'endWatcher'] },
        notify: { actions: 'sendNotify' },
        'notify.last': { target: 'terminating', actions: ['forgetSubscription', 'sendLastNotify'] },
        'watcher.ended': { target: 'terminated', actions: ['forgetSubscription', 'uncount'] },
      },
    },
    /**
     * The last NOTIFY is on its way. It is not repeated, and the subscription still counts. So single queries
     * (`Expires: 0`) without an answer cannot cause more NOTIFYs than there may be subscriptions.
     */
    terminating: { on: { 'last.answered': { target: 'terminated', actions: 'uncount' } } },
    terminated: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const phoneSubscriptionIgnores: Ignores<typeof phoneSubscriptionMachine> = [
  {
    events: ['subscribe.withdrawn', 'notify', 'notify.last', 'last.answered', 'watcher.ended'],
    in: ['asked'],
    why: 'there is no subscription before the first SUBSCRIBE is accepted',
  },
  { events: ['last.answered'], in: ['active'], why: 'no last NOTIFY was sent' },
  {
    events: ['subscribe.accepted', 'subscribe.withdrawn', 'notify', 'notify.last'],
    in: ['terminating'],
    why: 'requests and watchers cannot find it',
  },
  { events: ['watcher.ended'], in: ['terminating'], why: 'it waits for the answer to the last NOTIFY' },
];

export type PhoneSubscriptionEffect = keyof typeof effects;

/** The chart as a table. */
export const phoneSubscriptionTable = plainTable<typeof phoneSubscriptionMachine, PhoneSubscriptionEffect>(
  phoneSubscriptionMachine,
);
