import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import type { ContactInfo, ContactStatus } from '../models/contact.ts';
import { either, nothing, number, object } from '../models/plain-schema.ts';
import { ContactDetails } from '../telephony/contacts.ts';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { longestTimeout } from './longest-timeout.ts';

export type ContactInput = Pick<ContactContext, 'contact'>;

export const ContactContext = object({
  contact: ContactDetails,
  /** Counts the qualify requests, so that a late answer is not taken for that to a later request. */
  attempt: number,
  /** Of the last answer, in µs; null before the first. */
  roundtripUsec: either([number, nothing]),
});
export type ContactContext = Static<typeof ContactContext>;

export type ContactEvent =
  /** Its owner registered it again, or the configuration changed: new details, the same id. */
  | { type: 'contact.registered'; contact: ContactDetails }
  /** Unregistered by its owner, or displaced. */
  | { type: 'contact.removed' }
  /** The registration has run out. */
  | { type: 'contact.expired' }
  /** The far side answered a request; `roundtripUsec` in µs. */
  | { type: 'qualify.answered'; attempt: number; roundtripUsec: number }
  | { type: 'qualify.unanswered'; attempt: number }
  /** The system stops. */
  | { type: 'system.closing' };

type ContactFact = { type: 'ContactStatusChange' };

const contact = setup({
  types: {
    input: {} as ContactInput,
    context: {} as ContactContext,
    events: {} as ContactEvent,
    emitted: {} as ContactFact,
    meta: {} as { ari?: ContactStatus },
  },
  actions: {
    /** Sends a request and answers with `qualify.answered` or `qualify.unanswered` of that attempt. */
    qualifyContact: effect<{ attempt: number }>('qualifyContact'),
    /** Tells the technology that the registration has run out. */
    expireContact: effect('expireContact'),
  },
  guards: {
    isCurrentAttempt: ({ context }, { attempt }: { attempt: number }) => context.attempt === attempt,
    wantsQualify: (_, { frequencyMs }: { frequencyMs: number }) => frequencyMs > 0,
  },
  delays: {
    qualifyInterval: ({ context }) => context.contact.qualifyFrequencyMs,
    /** The technology times out at the same time; this covers one that never answers. */
    qualifyTimeout: ({ context }) => context.contact.qualifyTimeoutMs,
    expiryTimeout: ({ context }) => Math.min(context.contact.expiresMs ?? longestTimeout, longestTimeout),
  },
});

const statusChange = contact.emit({ type: 'ContactStatusChange' });

type Registered = Extract<ContactEvent, { type: 'contact.registered' }>;
type Answered = Extract<ContactEvent, { type: 'qualify.answered' }>;
type Unanswered = Extract<ContactEvent, { type: 'qualify.unanswered' }>;

const keepDetails = contact.assign({
  contact: ({ event, context }) => (event.type === 'contact.registered' ? event.contact : context.contact),
});
const keepRoundtrip = contact.assign({
  roundtripUsec: ({ event, context }) =>
    event.type === 'qualify.answered' ? event.roundtripUsec : context.roundtripUsec,
});

/** Restarts the expiry of the registration. One timer for all states, which come and go meanwhile. */
const armExpiry = contact.enqueueActions(({ context, enqueue }) => {
  enqueue.cancel('expiry');
  if (context.contact.expiresMs !== undefined)
    enqueue.raise({ type: 'contact.expired' }, { id: 'expiry', delay: 'expiryTimeout' });
});
const renew = [keepDetails, armExpiry] as const;

const qualify = [
  contact.assign({ attempt: ({ context }) => context.attempt + 1 }),
  { type: 'qualifyContact', params: ({ context }: { context: ContactContext }) => ({ attempt: context.attempt }) },
] as const;

const ofThisAttempt = {
  type: 'isCurrentAttempt',
  params: ({ event }: { event: Answered | Unanswered }) => ({ attempt: event.attempt }),
} as const;
const wantsQualify = {
  type: 'wantsQualify',
  params: ({ event }: { event: Registered }) => ({ frequencyMs: event.contact.qualifyFrequencyMs }),
} as const;

/**
 * An address of an endpoint. OPTIONS requests at an interval check whether it responds (qualify). Late responses
 * between them are ignored. A renewed registration keeps the status. A contact that did not respond is checked again
 * after it registers, because its owner is evidently there.
 */
/** A request is under way; `present` and `absent` are the targets of its outcome. */
const qualifying = (present: string, absent: string) => ({
  entry: qualify,
  on: {
    'qualify.answered': { guard: ofThisAttempt, target: present, actions: keepRoundtrip },
    'qualify.unanswered': { guard: ofThisAttempt, target: absent },
  },
  after: { qualifyTimeout: absent },
});

export const contactMachine = contact.createMachine({
  id: 'contact',
  context: ({ input }) => ({ contact: input.contact, attempt: 0, roundtripUsec: null }),
  initial: 'created',
  on: {
    'contact.removed': '.removed',
    'contact.expired': { target: '.removed', actions: 'expireContact' },
    'system.closing': '.closed',
  },
  states: {
    created: {
      entry: armExpiry,
      always: [
        {
          guard: {
            type: 'wantsQualify',
            params: ({ context }) => ({ frequencyMs: context.contact.qualifyFrequencyMs }),
          },
          target: 'unknown',
        },
        { target: 'nonQualified' },
      ],
    },
    nonQualified: {
      meta: { ari: 'NonQualified' },
      entry: statusChange,
      on: { 'contact.registered': [{ guard: wantsQualify, target: 'unknown', actions: renew }, { actions: renew }] },
    },
    unknown: {
      meta: { ari: 'Unknown' },
      entry: [statusChange, ...qualify],
      on: {
        'qualify.answered': { guard: ofThisAttempt, target: 'reachable', actions: keepRoundtrip },
        'qualify.unanswered': { guard: ofThisAttempt, target: 'unreachable' },
        'contact.registered': [
          { guard: wantsQualify, actions: renew },
          { target: 'nonQualified', actions: renew },
        ],
      },
      after: { qualifyTimeout: 'unreachable' },
    },
    reachable: {
      meta: { ari: 'Reachable' },
      entry: statusChange,
      on: {
        'contact.registered': [
          { guard: wantsQualify, actions: renew },
          { target: 'nonQualified', actions: renew },
        ],
      },
      initial: 'resting',
      states: {
        resting: { after: { qualifyInterval: 'qualifying' } },
        qualifying: qualifying('resting', '#contact.unreachable'),
      },
    },
    unreachable: {
      meta: { ari: 'Unreachable' },
      entry: statusChange,
      on: {
        'contact.registered': [
          { guard: wantsQualify, target: '.qualifying', actions: renew },
          { target: 'nonQualified', actions: renew },
        ],
      },
      initial: 'resting',
      states: {
        resting: { after: { qualifyInterval: 'qualifying' } },
        qualifying: qualifying('#contact.reachable', 'resting'),
      },
    },
    removed: { type: 'final', meta: { ari: 'Removed' }, entry: statusChange },
    /** The system stops: no event is published. The registration may survive in the technology's memory. */
    closed: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const contactIgnores: Ignores<typeof contactMachine> = [
  { events: ['qualify.answered', 'qualify.unanswered'], why: 'it is too late: the request is over' },
];

export type ContactSnapshot = SnapshotFrom<typeof contactMachine>;

/** Public status of each visible state. */
const publicStatuses: ReadonlyMap<string, ContactStatus> = new Map(
  Object.entries(contactMachine.states).flatMap(([name, node]) => {
    const { ari } = (node.meta ?? {}) as { ari?: ContactStatus };
    return ari ? [[name, ari]] : [];
  }),
);

export function contactStatus({ value }: ContactSnapshot): ContactStatus {
  const state = typeof value === 'string' ? value : Object.keys(value)[0];
  return publicStatuses.get(state ?? '') ?? 'Unknown';
}

/** Whether it waits for the answer to a question (`qualifyContact`). */
export const isAsking = (snapshot: ContactSnapshot): boolean =>
  snapshot.matches('unknown') ||
  snapshot.matches({ reachable: 'qualifying' }) ||
  snapshot.matches({ unreachable: 'qualifying' });

/** The contact as clients see it. Pure: the same snapshot always gives the same JSON. */
export function contactModel(snapshot: ContactSnapshot): ContactInfo {
  const { contact: details, roundtripUsec } = snapshot.context;
  const status = contactStatus(snapshot);
  const model: ContactInfo = { uri: details.uri, contact_status: status, aor: details.aor };
  if (status === 'Reachable' && roundtripUsec !== null) model.roundtrip_usec = String(roundtripUsec);
  return model;
}
