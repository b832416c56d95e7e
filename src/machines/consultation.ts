import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { extended, object, text } from '../models/plain-schema.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

/** Input of a consultation call. */
const ConsultationInput = object({
  /** The id of its transfer. */
  id: text,
  /** Ids of the channels of the party that transfers, and of the target. */
  transferer: text,
  targetId: text,
  /** The bridge for their talk, and the one in which the others wait. */
  bridgeId: text,
  waitingIn: text,
});
export type ConsultationInput = Static<typeof ConsultationInput>;

export const ConsultationContext = extended(ConsultationInput, {
  /** Whose call it belongs to, as those of playbacks and recordings. */
  targetUri: text,
});
export type ConsultationContext = Static<typeof ConsultationContext>;

export type ConsultationEvent =
  /** Both are in the bridge of their talk; or cannot be, and all is as it was. */
  | { type: 'talk.opened' }
  | { type: 'talk.refused' }
  /** Another command took the party or the target out of the consultation. */
  | { type: 'party.elsewhere' }
  | { type: 'target.elsewhere' }
  /** The transfer continues: the target moves to the waiting party. */
  | { type: 'complete' }
  /** The target has joined the waiting party; or it cannot. */
  | { type: 'talk.completed' }
  | { type: 'completion.refused' }
  /** The transfer has failed: the transferor returns to the waiting party. */
  | { type: 'end' };

const consultation = setup({
  types: {
    input: {} as ConsultationInput,
    context: {} as ConsultationContext,
    events: {} as ConsultationEvent,
  },
  actions: {
    /** Brings both into the bridge of their talk; answers with `talk.opened` or `talk.refused`. */
    openTalk: effect('openTalk'),
    /** Tells by `….elsewhere` when one of both is in another bridge. */
    watchTalk: effect('watchTalk'),
    /** Moves the target to the waiting party; answers with `talk.completed` or `completion.refused`. */
    completeTalk: effect('completeTalk'),
    /** Returns the transferor to the waiting party, if it still exists, and destroys the consultation's bridge. */
    returnParty: effect('returnParty'),
    /** Tells the transfer. */
    tellRefused: effect('tellRefused'),
    tellParted: effect('tellParted'),
    tellCompleted: effect('tellCompleted'),
    tellIncomplete: effect('tellIncomplete'),
  },
});

const returned = { target: 'over', actions: 'returnParty' } as const;
const partedNow = { target: 'parted', actions: 'tellParted' } as const;

/** A consultation call: a party talks to its transfer target in a bridge of their own. The others wait with music. */
export const consultationMachine = consultation.createMachine({
  id: 'consultation',
  context: ({ input }) => ({ ...input, targetUri: `channel:${input.transferer}` }),
  initial: 'opening',
  states: {
    opening: {
      entry: 'openTalk',
      on: {
        'talk.opened': 'talking',
        'talk.refused': { target: 'over', actions: 'tellRefused' },
        end: returned,
      },
    },
    talking: {
      entry: 'watchTalk',
      on: {
        'party.elsewhere': partedNow,
        'target.elsewhere': partedNow,
        complete: 'completing',
        end: returned,
      },
    },
    /** The target replaces the transferor in the waiting party's bridge. */
    completing: {
      entry: 'completeTalk',
      on: {
        'talk.completed': { target: 'over', actions: 'tellCompleted' },
        'completion.refused': { target: 'parted', actions: 'tellIncomplete' },
        end: returned,
      },
    },
    /** The consultation cannot continue: its transfer knows and ends it. */
    parted: { on: { end: returned } },
    over: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const consultationIgnores: Ignores<typeof consultationMachine> = [
  {
    events: ['talk.opened', 'talk.refused'],
    in: ['talking', 'completing', 'parted'],
    why: 'it was opened before',
  },
  { events: ['party.elsewhere', 'target.elsewhere'], in: ['opening'], why: 'they are being bridged' },
  { events: ['party.elsewhere', 'target.elsewhere'], in: ['completing'], why: 'the transfer separates them' },
  { events: ['party.elsewhere', 'target.elsewhere'], in: ['parted'], why: 'its transfer knows the result' },
  {
    events: ['complete'],
    in: ['opening', 'completing', 'parted'],
    why: 'there is no consultation, or it is being completed',
  },
  {
    events: ['talk.completed', 'completion.refused'],
    in: ['opening', 'talking', 'parted'],
    why: 'it is not being completed',
  },
];

type ConsultationSnapshot = SnapshotFrom<typeof consultationMachine>;

/** Longest expected time in each state, and what ends it. */
export const consultationExpectations: Expectations<ConsultationSnapshot['value']> = {
  opening: { atMost: 2_000, waitsFor: 'both to be in a bridge' },
  completing: { atMost: 2_000, waitsFor: 'the target to join the waiting party' },
  parted: { atMost: 2_000, waitsFor: 'its transfer to end it' },
};
