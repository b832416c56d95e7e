import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

export type ExternalLegEvent =
  | { type: 'dial' }
  /** The connection to the server is there. */
  | { type: 'connection.made' }
  /** There is no connection any more, or the server wants the call to end. */
  | { type: 'connection.lost'; cause: number }
  /** Ends the call. It is answered with the last report. */
  | { type: 'hangup' }
  /** Ends the call, and reports nothing. */
  | { type: 'release' };

const effects = {
  tellAnswered: effect('tellAnswered'),
  tellHungUp: effect('tellHungUp'),
  tellEnded: effect('tellEnded'),
};
const leg = setup({ types: { events: {} as ExternalLegEvent }, actions: effects });

const living = {
  'connection.lost': { actions: 'tellHungUp' },
  hangup: { target: 'ended', actions: 'tellEnded' },
  release: 'ended',
} as const;

/** The leg of a channel whose far side is a media server: up when it is dialed and connected. */
export const externalLegMachine = leg.createMachine({
  id: 'externalLeg',
  initial: 'idle',
  states: {
    idle: { on: { ...living, dial: 'dialed', 'connection.made': 'connected' } },
    /** The connection is awaited. */
    dialed: { on: { ...living, 'connection.made': { target: 'up', actions: 'tellAnswered' } } },
    /** Not dialed yet. */
    connected: { on: { ...living, dial: { target: 'up', actions: 'tellAnswered' } } },
    up: { on: living },
    /** No more events are sent. */
    ended: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const externalLegIgnores: Ignores<typeof externalLegMachine> = [
  { events: ['dial'], in: ['dialed', 'up'], why: 'it was dialed before' },
  {
    events: ['connection.made'],
    in: ['connected', 'up'],
    why: 'it was reported before; a connection may be opened again',
  },
];

type ExternalLegEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const externalLegTable = plainTable<typeof externalLegMachine, ExternalLegEffect>(externalLegMachine);
export type ExternalLegRun = TableRun<keyof typeof externalLegTable, ExternalLegEvent, ExternalLegEffect>;
