import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type LocalLegEvent =
  /** Offers the other half to the dialplan. */
  | { type: 'dial' }
  | { type: 'ring' }
  | { type: 'forwarding' }
  | { type: 'progress' }
  | { type: 'answer' }
  /** The other half has answered. */
  | { type: 'peer.answered' }
  /** Ends the call. It is answered with the last report. */
  | { type: 'hangup'; cause: number }
  /** Ends the call, and reports nothing. */
  | { type: 'release' };

const effects = {
  offerPeer: effect('offerPeer'),
  tellRinging: effect('tellRinging'),
  tellForwarding: effect('tellForwarding'),
  tellProgress: effect('tellProgress'),
  /** Both halves are up, and report it: this one first. */
  tellAnswered: effect('tellAnswered'),
  playRinging: effect('playRinging'),
  tellEnded: effect('tellEnded'),
  hangUpPeer: effect('hangUpPeer'),
  /** The other half loses its peer without a cause. */
  losePeer: effect('losePeer'),
};
const leg = setup({ types: { events: {} as LocalLegEvent }, actions: effects });

const living = {
  dial: { actions: 'offerPeer' },
  hangup: { target: 'ended', actions: ['tellEnded', 'hangUpPeer'] },
  release: { target: 'ended', actions: 'losePeer' },
} as const;

/** One half of a Local channel. Both halves answer together. */
export const localLegMachine = leg.createMachine({
  id: 'localLeg',
  initial: 'early',
  states: {
    /** Not answered. */
    early: {
      on: {
        ...living,
        ring: { actions: 'tellRinging' },
        forwarding: { actions: 'tellForwarding' },
        progress: { actions: 'tellProgress' },
        answer: { target: 'up', actions: 'tellAnswered' },
        'peer.answered': 'up',
      },
    },
    up: { on: { ...living, ring: { actions: 'playRinging' } } },
    /** No more events are sent. */
    ended: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const localLegIgnores: Ignores<typeof localLegMachine> = [
  { events: ['forwarding', 'progress', 'answer', 'peer.answered'], in: ['up'], why: 'the call is answered' },
];

export type LocalLegEffect = keyof typeof effects;

/** The chart as a table. */
export const localLegTable = plainTable<typeof localLegMachine, LocalLegEffect>(localLegMachine);
