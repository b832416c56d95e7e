import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { flag, number, object, text } from '../models/plain-schema.ts';
import type { Registration, RegistrationStatus } from '../models/registration.ts';
import { type RegistrationAnswer, RegistrationDetails } from '../telephony/registrations.ts';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';

/** @param startDelayMs ms before the first try, so that many lines do not register in one instant. */
type RegistrationInput = { registration: RegistrationDetails; startDelayMs: number };

export const RegistrationContext = object({
  registration: RegistrationDetails,
  /** Counts requests, so that a late answer is not taken for that to a later one. */
  attempt: number,
  /** Failures in a row. */
  failures: number,
  /** ms that are asked for: as configured, or the least that the registrar takes. */
  expiresMs: number,
  /** The registrar has asked for a longer time since it last answered otherwise: it may do so once. */
  raised: flag,
  /** Time that the state waits for its next event, in ms. */
  waitMs: number,
  /** Why it is not registered; '' before the first failure. */
  reason: text,
});
export type RegistrationContext = Static<typeof RegistrationContext>;

type Told<T extends RegistrationAnswer['type']> = Omit<Extract<RegistrationAnswer, { type: T }>, 'type'> & {
  attempt: number;
};

export type RegistrationEvent =
  /** `chance`: at random from 0 up to 1, spreads refreshes and retries. */
  | ({ type: 'register.accepted'; chance: number } & Told<'accepted'>)
  | ({ type: 'register.tooBrief' } & Told<'tooBrief'>)
  | ({ type: 'register.refused'; chance: number } & Told<'refused'>)
  | ({ type: 'register.unanswered'; chance: number } & Told<'unanswered'>)
  /** The configuration has changed: the same registration with other times or another password. */
  | { type: 'registration.changed'; registration: RegistrationDetails }
  /** It is no longer configured. */
  | { type: 'registration.removed' }
  /** This node of the cluster holds it now, or another one that held it as well has given it up. */
  | { type: 'holding.begun' }
  /** Another node of the cluster holds it. */
  | { type: 'holding.ended' }
  /** The connection it was made over is gone, or the process that made it. */
  | { type: 'connection.lost' }
  /** The system stops. */
  | { type: 'system.closing' };

type RegistrationFact = { type: 'EndpointStateChange' };

/** How long the technology may take to answer, in ms, when it does not say: 8 servers, 7 of which are waited for 4 s each. */
const usualAnswerMs = 60_000;

/** The longest that a registrar can make us wait, in ms: a day. */
const longestRetryAfter = 86_400_000;

const registration = setup({
  types: {
    input: {} as RegistrationInput,
    context: {} as RegistrationContext,
    events: {} as RegistrationEvent,
    emitted: {} as RegistrationFact,
    meta: {} as { ari?: RegistrationStatus },
  },
  actions: {
    /** Asks the registrar for `expiresMs`, 0 to forget us; answers with a `register.…` event of that attempt. */
    sendRegister: effect<{ attempt: number; expiresMs: number }>('sendRegister'),
  },
  guards: {
    isCurrentAttempt: ({ context }, { attempt }: { attempt: number }) => context.attempt === attempt,
    isPermanent: ({ context, event }) =>
      event.type === 'register.refused' && event.attempt === context.attempt && event.permanent,
    /** A registrar that requires no more than was requested would cause endless attempts. */
    isLonger: ({ context, event }) =>
      event.type === 'register.tooBrief' && event.attempt === context.attempt && event.minimumMs > context.expiresMs,
    /** A registrar that requires a longer time at each attempt would cause endless attempts. */
    asksAgain: ({ context, event }) =>
      event.type === 'register.tooBrief' &&
      event.attempt === context.attempt &&
      context.raised &&
      event.minimumMs > context.expiresMs,
    triesRejected: ({ context }) => context.registration.rejectedRetryMs > 0,
  },
  delays: {
    wait: ({ context }) => context.waitMs,
    /** The technology gives up by itself; this holds when it never answers at all. */
    registerTimeout: ({ context }) => (context.registration.longestAnswerMs ?? usualAnswerMs) + 10_000,
    /** How long a registrar that is to forget us is waited for, in ms. */
    unregisterTimeout: 2_000,
    rejectedRetry: ({ context }) => context.registration.rejectedRetryMs,
  },
});

const statusChange = registration.emit({ type: 'EndpointStateChange' });
type Answer = Extract<RegistrationEvent, { attempt: number }>;

const ofThisAttempt = {
  type: 'isCurrentAttempt',
  params: ({ event }: { event: Answer }) => ({ attempt: event.attempt }),
} as const;

/** @param expiresMs what is asked for. */
const asking = (expiresMs: (context: RegistrationContext) => number) =>
  [
    registration.assign({ attempt: ({ context }) => context.attempt + 1 }),
    {
      type: 'sendRegister',
      params: ({ context }: { context: RegistrationContext }) => ({
        attempt: context.attempt,
        expiresMs: expiresMs(context),
      }),
    },
  ] as const;

const ask = asking((context) => context.expiresMs);
const unask = asking(() => 0);

/** How long a request is repeated to a server that does not answer, in ms: 64 × T1 (RFC 3261 17.1.2.2). */
const repeatedMs = 32_000;

/**
 * Registered: refreshed before it runs out, and up to a tenth of that time earlier by chance. There is time for a failover
 * (three quarters of a short registration at most), for repetitions (half of it at most), and at least a tenth of it. A
 * registrar that grants very little is not asked more often than the settings allow: its registration ends in between.
 */
const keepAccepted = registration.assign(({ context: { registration: line }, event }) => {
  if (event.type !== 'register.accepted') return {};
  const { expiresMs, failoverMs = 0, chance } = event;
  const needed = [Math.min(failoverMs, (expiresMs * 3) / 4), Math.min(repeatedMs, expiresMs / 2), expiresMs / 10];
  const latest = expiresMs - Math.max(...needed);
  return {
    failures: 0,
    reason: '',
    raised: false,
    waitMs: Math.max(line.shortestRefreshMs ?? 0, Math.round(latest * (1 - chance / 10))),
  };
});

const keepMinimum = registration.assign(({ event }) =>
  event.type === 'register.tooBrief' ? { expiresMs: event.minimumMs, raised: true } : {},
);

/** Waits between the half and the whole of a time that doubles with every failure (RFC 5626 4.5). */
function backOff({ registration: { retryMs, longestRetryMs }, failures }: RegistrationContext, chance: number) {
  const upper = Math.min(longestRetryMs, retryMs * 2 ** failures);
  return Math.round((upper * (1 + chance)) / 2);
}

const keepFailure = registration.assign(({ context, event }) => {
  const failed = { failures: context.failures + 1, raised: false };
  if (event.type === 'register.unanswered')
    return { ...failed, reason: event.reason, waitMs: backOff(context, event.chance) };
  if (event.type === 'register.refused') {
    const usual = backOff(context, event.chance);
    const asked = Math.min(event.retryAfterMs ?? usual, longestRetryAfter);
    return { ...failed, reason: event.reason, waitMs: Math.max(asked, usual) };
  }
  const reason = event.type === 'register.tooBrief' ? '423 Interval Too Brief' : 'no answer';
  return { ...failed, reason, waitMs: backOff(context, 1) };
});

const keepDetails = registration.assign(({ event }) =>
  event.type === 'registration.changed'
    ? { registration: event.registration, expiresMs: event.registration.expiresMs, failures: 0, raised: false }
    : {},
);

/** Results of a request, for the first one and for every refresh. */
const answers = {
  'register.accepted': { guard: ofThisAttempt, target: 'registered', actions: keepAccepted },
  'register.tooBrief': [
    { guard: 'isLonger', target: 'registering', reenter: true, actions: keepMinimum },
    { guard: ofThisAttempt, target: 'rejected', actions: keepFailure },
  ],
  'register.refused': [
    { guard: 'isPermanent', target: 'rejected', actions: keepFailure },
    { guard: ofThisAttempt, target: 'backingOff', actions: keepFailure },
  ],
  'register.unanswered': { guard: ofThisAttempt, target: 'backingOff', actions: keepFailure },
} as const;
/** While a request with a longer expiry is under way. It is made once. */
const firstAnswers = {
  ...answers,
  'register.tooBrief': [
    { guard: 'asksAgain', target: 'backingOff', actions: keepFailure },
    ...answers['register.tooBrief'],
  ],
} as const;
const givenUp = { registerTimeout: { target: 'backingOff', actions: keepFailure } } as const;
/** The registrar may have the contact, so it is removed. */
const takenBack = {
  'registration.removed': 'unregistering',
  'system.closing': 'unregistering',
  'holding.ended': 'handingOver',
} as const;
/** The registrar may have replaced the contact by that of the other node: it is told again. */
const askedAgain = { target: 'refreshing', reenter: true } as const;
/** However it answers. */
const takenBackThen = <T extends string>(target: T) =>
  ({
    'register.accepted': { guard: ofThisAttempt, target },
    'register.tooBrief': { guard: ofThisAttempt, target },
    'register.refused': { guard: ofThisAttempt, target },
    'register.unanswered': { guard: ofThisAttempt, target },
  }) as const;

/**
 * Our registration at a provider (RFC 3261 10.2). It is refreshed before it expires. Failures are retried with growing
 * pauses, permanent refusals seldom or never. At the end the registration is removed. One node of a cluster holds it; the
 * others stand by.
 */
export const registrationMachine = registration.createMachine({
  id: 'registration',
  context: ({ input }) => ({
    registration: input.registration,
    attempt: 0,
    failures: 0,
    expiresMs: input.registration.expiresMs,
    raised: false,
    waitMs: input.startDelayMs,
    reason: '',
  }),
  initial: 'idle',
  on: {
    'registration.changed': { target: '.registering', reenter: true, actions: keepDetails },
    'registration.removed': '.closed',
    'system.closing': '.closed',
  },
  states: {
    idle: { meta: { ari: 'Unregistered' }, on: { 'holding.ended': 'standby' }, after: { wait: 'registering' } },
    registering: {
      meta: { ari: 'Unregistered' },
      entry: ask,
      on: { ...firstAnswers, ...takenBack, 'holding.begun': { target: 'registering', reenter: true } },
      after: givenUp,
    },
    registered: {
      meta: { ari: 'Registered' },
      entry: statusChange,
      on: { 'connection.lost': 'refreshing', ...takenBack, 'holding.begun': 'refreshing' },
      after: { wait: 'refreshing' },
    },
    refreshing: {
      meta: { ari: 'Registered' },
      entry: ask,
      on: { ...answers, ...takenBack, 'holding.begun': askedAgain },
      after: givenUp,
    },
    rejected: {
      meta: { ari: 'Rejected' },
      entry: statusChange,
      on: { 'holding.begun': 'registering', 'holding.ended': 'standby' },
      after: { rejectedRetry: { guard: 'triesRejected', target: 'registering' } },
    },
    backingOff: {
      meta: { ari: 'Unregistered' },
      entry: statusChange,
      on: { 'holding.begun': 'registering', 'holding.ended': 'standby' },
      after: { wait: 'registering' },
    },
    /** The registrar is asked to forget us. Only then another node registers. */
    handingOver: {
      meta: { ari: 'Unregistered' },
      entry: [statusChange, ...unask],
      on: {
        ...takenBackThen('standby'),
        'holding.begun': 'registering',
        'registration.changed': { actions: keepDetails },
        'registration.removed': 'unregistering',
        'system.closing': 'unregistering',
      },
      after: { unregisterTimeout: 'standby' },
    },
    /** Another node of the cluster holds it, or it is not known yet which one does. */
    standby: {
      meta: { ari: 'Standby' },
      entry: statusChange,
      on: { 'holding.begun': 'registering', 'registration.changed': { actions: keepDetails } },
    },
    unregistering: {
      meta: { ari: 'Unregistered' },
      entry: [statusChange, ...unask],
      on: { ...takenBackThen('closed'), 'registration.removed': {}, 'system.closing': {} },
      after: { unregisterTimeout: 'closed' },
    },
    closed: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const registrationIgnores: Ignores<typeof registrationMachine> = [
  {
    events: ['register.accepted', 'register.tooBrief', 'register.refused', 'register.unanswered'],
    why: 'it is too late: the request is over',
  },
  { events: ['connection.lost'], why: 'nothing is registered over it' },
  { events: ['holding.begun'], in: ['idle'], why: 'it registers in its turn' },
  { events: ['holding.begun', 'holding.ended'], in: ['unregistering'], why: 'it is leaving already' },
  { events: ['holding.ended'], in: ['handingOver', 'standby'], why: 'it is given up already' },
  { events: ['registration.removed', 'system.closing'], in: ['unregistering'], why: 'it is leaving already' },
];

export type RegistrationSnapshot = SnapshotFrom<typeof registrationMachine>;

const statuses: ReadonlyMap<string, RegistrationStatus> = new Map(
  Object.entries(registrationMachine.states).flatMap(([name, node]) => {
    const { ari } = (node.meta ?? {}) as { ari?: RegistrationStatus };
    return ari ? [[name, ari]] : [];
  }),
);

/** The registration as clients see it. Pure: the same snapshot always gives the same JSON. */
export function registrationModel({ value, context }: RegistrationSnapshot): Registration {
  const status = statuses.get(value as string) ?? 'Unregistered';
  const { server, client } = context.registration;
  const isWanted = status !== 'Registered' && status !== 'Standby';
  return { server, client, status, ...(isWanted && context.reason && { reason: context.reason }) };
}

/** How long the registrar was asked for in a request that is not answered yet, in ms; undefined: none is under way. */
export function askedMs({ value, context }: RegistrationSnapshot): number | undefined {
  if (value === 'unregistering' || value === 'handingOver') return 0;
  return value === 'registering' || value === 'refreshing' ? context.expiresMs : undefined;
}

/** Whether the registrar knows of it, is asked, or will be. */
export const isHeld = ({ value, status }: RegistrationSnapshot): boolean => status === 'active' && value !== 'standby';
