import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { number, object, oneOf, text } from '../models/plain-schema.ts';
import { type WatcherAnswer, WatcherDetails, type WatcherEnd } from '../telephony/watchers.ts';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { longestTimeout } from './longest-timeout.ts';

export type WatcherInput = Pick<WatcherContext, 'watcher'>;

export const WatcherContext = object({
  watcher: WatcherDetails,
  /** Number of NOTIFYs, to tell late responses from current ones. */
  attempt: number,
  /** Time before the next NOTIFY, in ms. */
  waitMs: number,
  /** Why it ends (`WatcherEnd`); '' before. */
  end: oneOf('', 'timeout', 'noresource', 'rejected', 'probation'),
  /** Why it was lost, in words; '' before. */
  reason: text,
});
export type WatcherContext = Static<typeof WatcherContext>;

/** Result of the NOTIFY number `attempt`. */
type Answer = { [T in WatcherAnswer['type']]: Extract<WatcherAnswer, { type: T }> }[WatcherAnswer['type']];

export type WatcherEvent =
  /** The phone has renewed it: new details, the same id. */
  | { type: 'watcher.renewed'; watcher: WatcherDetails }
  /** The phone has taken it back. */
  | { type: 'watcher.withdrawn' }
  /** Its time is over. */
  | { type: 'watcher.expired' }
  /** The watched state has changed. */
  | { type: 'subject.changed' }
  /** It watches something else from now on. */
  | { type: 'subject.moved'; topics: readonly string[] }
  /** The subject or the subscriber no longer exists. */
  | { type: 'subject.gone'; end: WatcherEnd }
  /** The NOTIFY succeeded. */
  | { type: 'notify.answered'; attempt: number }
  /** There was nothing new to tell. */
  | { type: 'notify.unneeded'; attempt: number }
  /** The subscriber asks for a retry, no earlier than that. */
  | { type: 'notify.deferred'; attempt: number; waitMs: Extract<Answer, { type: 'deferred' }>['waitMs'] }
  /** It does not answer, or knows nothing of a subscription. */
  | { type: 'notify.lost'; attempt: number; reason: string }
  /** The next NOTIFY is allowed. */
  | { type: 'interval.over' }
  /** The system stops. */
  | { type: 'system.closing' };

const watcher = setup({
  types: {
    input: {} as WatcherInput,
    context: {} as WatcherContext,
    events: {} as WatcherEvent,
  },
  actions: {
    /** Tells how things stand now; answers with a `notify.…` event of that attempt. */
    notifyWatcher: effect<{ attempt: number }>('notifyWatcher'),
    /** Tells how things stand for the last time, and why; answers likewise. */
    dismissWatcher: effect<{ attempt: number; end: WatcherEnd }>('dismissWatcher'),
  },
  guards: {
    isCurrentAttempt: ({ context }, { attempt }: { attempt: number }) => context.attempt === attempt,
    isAskedOnce: ({ context }) => context.watcher.expiresMs === 0,
  },
  delays: {
    expiryTimeout: ({ context }) => Math.min(context.watcher.expiresMs, longestTimeout),
    interval: ({ context }) => context.waitMs,
    /** Transactions give up by themselves after 64 × T1; this holds when the technology never answers at all. */
    notifyTimeout: 70_000,
    /** How long to wait for the answer to the last NOTIFY, in ms. */
    dismissTimeout: 2_000,
  },
});

type Answered = Extract<WatcherEvent, { attempt: number }>;

const ofThisAttempt = {
  type: 'isCurrentAttempt',
  params: ({ event }: { event: Answered }) => ({ attempt: event.attempt }),
} as const;

const countAttempt = watcher.assign({ attempt: ({ context }) => context.attempt + 1 });
const tell = [
  countAttempt,
  { type: 'notifyWatcher', params: ({ context }: { context: WatcherContext }) => ({ attempt: context.attempt }) },
] as const;
const dismiss = [
  countAttempt,
  {
    type: 'dismissWatcher',
    params: ({ context }: { context: WatcherContext }) => ({
      attempt: context.attempt,
      end: context.end === '' ? ('timeout' as const) : context.end,
    }),
  },
] as const;

const keepDetails = watcher.assign(({ event }) => (event.type === 'watcher.renewed' ? { watcher: event.watcher } : {}));
const keepTopics = watcher.assign(({ context, event }) =>
  event.type === 'subject.moved' ? { watcher: { ...context.watcher, topics: event.topics } } : {},
);
const keepEnd = watcher.assign(({ event }) => {
  if (event.type === 'subject.gone') return { end: event.end };
  return { end: event.type === 'system.closing' ? ('probation' as const) : ('timeout' as const) };
});
const keepReason = watcher.assign(({ event }) => ({
  reason: event.type === 'notify.lost' ? event.reason : 'no answer',
}));

/** Restarts the expiry of the subscription. One timer for all states, which come and go meanwhile. */
const armExpiry = watcher.enqueueActions(({ enqueue }) => {
  enqueue.cancel('expiry');
  enqueue.raise({ type: 'watcher.expired' }, { id: 'expiry', delay: 'expiryTimeout' });
});
/** Starts the interval without NOTIFYs. */
const rest = watcher.enqueueActions(({ context, event, enqueue }) => {
  enqueue.assign({ waitMs: event.type === 'notify.deferred' ? event.waitMs : context.watcher.intervalMs });
  enqueue.cancel('interval');
  enqueue.raise({ type: 'interval.over' }, { id: 'interval', delay: 'interval' });
});

const dismissed = {
  'watcher.withdrawn': { target: 'dismissing', actions: keepEnd },
  'watcher.expired': { target: 'dismissing', actions: keepEnd },
  'subject.gone': { target: 'dismissing', actions: keepEnd },
  'system.closing': { target: 'dismissing', actions: keepEnd },
} as const;
const renewed = { 'watcher.renewed': { target: 'telling', reenter: true, actions: [keepDetails, armExpiry] } } as const;
const lost = { guard: ofThisAttempt, target: 'lost', actions: keepReason } as const;
const over = { guard: ofThisAttempt, target: 'closed' } as const;

/**
 * The subscription of a phone to BLF or to its messages. A new or renewed subscription gets the current state directly
 * (RFC 6665 4.2.1.2). Later changes are sent one NOTIFY at a time and at most one in each interval, with the latest
 * state. A phone that does not respond loses its subscription.
 */
export const watcherMachine = watcher.createMachine({
  id: 'watcher',
  context: ({ input }) => ({
    watcher: input.watcher,
    attempt: 0,
    waitMs: input.watcher.intervalMs,
    end: '',
    reason: '',
  }),
  initial: 'created',
  states: {
    created: {
      always: [
        { guard: 'isAskedOnce', target: 'dismissing' },
        { target: 'telling', actions: armExpiry },
      ],
    },
    /** Being told. */
    telling: {
      entry: tell,
      on: {
        'subject.changed': 'behind',
        'subject.moved': { target: 'behind', actions: keepTopics },
        'notify.answered': { guard: ofThisAttempt, target: 'resting', actions: rest },
        'notify.unneeded': { guard: ofThisAttempt, target: 'current' },
        'notify.deferred': { guard: ofThisAttempt, target: 'due', actions: rest },
        'notify.lost': lost,
        ...renewed,
        ...dismissed,
      },
      after: { notifyTimeout: { target: 'lost', actions: keepReason } },
    },
    /** Being told what is no longer so. */
    behind: {
      on: {
        'subject.moved': { actions: keepTopics },
        'notify.answered': { guard: ofThisAttempt, target: 'due', actions: rest },
        'notify.unneeded': { guard: ofThisAttempt, target: 'telling' },
        'notify.deferred': { guard: ofThisAttempt, target: 'due', actions: rest },
        'notify.lost': lost,
        ...renewed,
        ...dismissed,
      },
      after: { notifyTimeout: { target: 'lost', actions: keepReason } },
    },
    /** Told just now. */
    resting: {
      on: {
        'interval.over': 'current',
        'subject.changed': 'due',
        'subject.moved': { target: 'due', actions: keepTopics },
        ...renewed,
        ...dismissed,
      },
    },
    /** A NOTIFY is due when the interval allows it. */
    due: {
      on: { 'interval.over': 'telling', 'subject.moved': { actions: keepTopics }, ...renewed, ...dismissed },
    },
    /** It knows how things stand. */
    current: {
      on: {
        'subject.changed': 'telling',
        'subject.moved': { target: 'telling', actions: keepTopics },
        ...renewed,
        ...dismissed,
      },
    },
    /** Being told that it is over. */
    dismissing: {
      entry: [watcher.cancel('expiry'), watcher.cancel('interval'), ...dismiss],
      on: { 'notify.answered': over, 'notify.unneeded': over, 'notify.deferred': over, 'notify.lost': over },
      after: { dismissTimeout: 'closed' },
    },
    /** The phone does not respond: it gets no further NOTIFY. */
    lost: { type: 'final' },
    closed: { type: 'final' },
  },
});

const answers = ['notify.answered', 'notify.unneeded', 'notify.deferred', 'notify.lost'] as const;

/** Ignored events, with reasons. */
export const watcherIgnores: Ignores<typeof watcherMachine> = [
  { events: answers, in: ['resting', 'due', 'current'], why: 'it answers an earlier NOTIFY' },
  { events: ['subject.changed'], in: ['behind', 'due'], why: 'the next NOTIFY has the latest state anyway' },
  { events: ['interval.over'], in: ['telling', 'behind', 'current'], why: 'a newer NOTIFY was sent meanwhile' },
  {
    events: [
      'watcher.renewed',
      'watcher.withdrawn',
      'watcher.expired',
      'subject.changed',
      'subject.moved',
      'subject.gone',
      'interval.over',
      'system.closing',
    ],
    in: ['dismissing'],
    why: 'it is over',
  },
];

type WatcherSnapshot = SnapshotFrom<typeof watcherMachine>;

/** Whether it waits for an answer. */
export const isTelling = ({ value }: WatcherSnapshot): boolean =>
  value === 'telling' || value === 'behind' || value === 'dismissing';
