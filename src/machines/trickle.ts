import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type TrickleEvent<Told = object> =
  /** Candidates of the far side, in a message of their own. */
  | { type: 'candidates.came'; told: Told }
  /** There are no more of these credentials. */
  | { type: 'candidates.ended' }
  /** Offer and answer have agreed on ICE credentials: the first ones, or others. */
  | { type: 'ice.agreed' };

const effects = {
  /** Keeps the candidates until their credentials are agreed on. */
  keepCandidates: effect('keepCandidates'),
  /** Has the candidates checked that were kept. */
  addKept: effect('addKept'),
  /** Has the candidates checked. */
  addCandidates: effect('addCandidates'),
};
const trickle = setup({ types: { events: {} as TrickleEvent }, actions: effects });

/** Candidates that a far side tells after its description (RFC 8838, RFC 8840). */
export const trickleMachine = trickle.createMachine({
  id: 'trickle',
  initial: 'early',
  states: {
    /** Nothing is agreed on: a caller may tell candidates while we ring. */
    early: {
      on: {
        'candidates.came': { actions: 'keepCandidates' },
        'ice.agreed': { target: 'open', actions: 'addKept' },
      },
    },
    open: { on: { 'candidates.came': { actions: 'addCandidates' }, 'candidates.ended': 'complete' } },
    complete: { on: { 'ice.agreed': 'open' } },
  },
});

/** What it ignores, and why. */
export const trickleIgnores: Ignores<typeof trickleMachine> = [
  { events: ['candidates.ended'], in: ['early'], why: 'all that came are kept' },
  { events: ['ice.agreed'], in: ['open'], why: 'it takes candidates already' },
  {
    events: ['candidates.came', 'candidates.ended'],
    in: ['complete'],
    why: 'the far side has said that there are no more',
  },
];

export type TrickleEffect = keyof typeof effects;

/** The chart as a table. */
export const trickleTable = plainTable<typeof trickleMachine, TrickleEffect>(trickleMachine);
