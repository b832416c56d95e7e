import { type SnapshotFrom, setup } from 'xstate';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

/** What a consultation call is made from. */
export type ConsultationInput = {
  /** The id of its transfer. */
  id: string;
  /** Ids of the channels of the party that transfers, and of the target. */
  transferer: string;
  targetId: string;
  /** The bridge for their talk, and the one in which the others wait. */
  bridgeId: string;
  waitingIn: string;
};

export type ConsultationContext = ConsultationInput & {
  /** Whose call it belongs to, as those of playbacks and recordings. */
  targetUri: string;
};

export type ConsultationEvent =
  /** Both are in the bridge of their talk; or cannot be, and all is as it was. */
  | { type: 'talk.opened' }
  | { type: 'talk.refused' }
  /** Somebody else has taken the party, or the target, out of the talk. */
  | { type: 'party.elsewhere' }
  | { type: 'target.elsewhere' }
  /** The transfer goes on: the target goes to those who wait. */
  | { type: 'complete' }
  /** The target is with those who wait; or cannot be. */
  | { type: 'talk.completed' }
  | { type: 'completion.refused' }
  /** The transfer came to nothing: the party goes back to those who wait. */
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
    /** Brings the target to those who wait; answers with `talk.completed` or `completion.refused`. */
    completeTalk: effect('completeTalk'),
    /** Brings the party back to those who wait, if it is still there, and destroys the bridge of the talk. */
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

/**
 * A consultation call: a party talks to the target of its transfer in a bridge of their own, while the others wait with music.
 */
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
    /** The target takes the place of the party among those who wait. */
    completing: {
      entry: 'completeTalk',
      on: {
        'talk.completed': { target: 'over', actions: 'tellCompleted' },
        'completion.refused': { target: 'parted', actions: 'tellIncomplete' },
        end: returned,
      },
    },
    /** The talk cannot go on: its transfer was told, and ends it. */
    parted: { on: { end: returned } },
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const consultationIgnores: Ignores<typeof consultationMachine> = [
  {
    events: ['talk.opened', 'talk.refused'],
    in: ['talking', 'completing', 'parted'],
    why: 'it was opened before',
  },
  { events: ['party.elsewhere', 'target.elsewhere'], in: ['opening'], why: 'they are being brought together' },
  { events: ['party.elsewhere', 'target.elsewhere'], in: ['completing'], why: 'they part because of the transfer' },
  { events: ['party.elsewhere', 'target.elsewhere'], in: ['parted'], why: 'its transfer was told' },
  { events: ['complete'], in: ['opening', 'completing', 'parted'], why: 'nobody talks, or it is being completed' },
  {
    events: ['talk.completed', 'completion.refused'],
    in: ['opening', 'talking', 'parted'],
    why: 'it is not being completed',
  },
];

type ConsultationSnapshot = SnapshotFrom<typeof consultationMachine>;

/** How long it is expected to stay in a state, and what would end that. */
export const consultationExpectations: Expectations<ConsultationSnapshot['value']> = {
  opening: { atMost: 2_000, waitsFor: 'both to be in a bridge' },
  completing: { atMost: 2_000, waitsFor: 'the target to be with those who wait' },
  parted: { atMost: 2_000, waitsFor: 'its transfer to end it' },
};
