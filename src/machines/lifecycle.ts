import { setup } from 'xstate';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import { TableRun } from './table-run.ts';

export type LifecycleEvent =
  /** Everything that it needs is there. */
  | { type: 'start' }
  /** It takes no new calls. Its calls continue and may place others (`hookswitch drain`). */
  | { type: 'cordon' }
  /** It takes new calls again. */
  | { type: 'uncordon' }
  /** It takes nothing new and is about to end. */
  | { type: 'drain' }
  | { type: 'close' };

const lifecycle = setup({ types: { events: {} as LifecycleEvent } });

/** The life of a part of the server that takes calls or makes connections. */
export const lifecycleMachine = lifecycle.createMachine({
  id: 'lifecycle',
  initial: 'made',
  states: {
    made: { on: { start: 'serving', drain: 'draining', close: 'closed' } },
    serving: { on: { cordon: 'cordoned', drain: 'draining', close: 'closed' } },
    /** Its calls continue and may place others. */
    cordoned: { on: { uncordon: 'serving', drain: 'draining', close: 'closed' } },
    /** Its objects continue. */
    draining: { on: { close: 'closed' } },
    closed: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const lifecycleIgnores: Ignores<typeof lifecycleMachine> = [
  { events: ['start'], in: ['serving', 'cordoned', 'draining'], why: 'it was started before' },
  { events: ['drain', 'cordon'], in: ['draining'], why: 'it accepts no new calls' },
  { events: ['cordon'], in: ['made', 'cordoned'], why: 'it accepts no new calls' },
  { events: ['uncordon'], in: ['made', 'serving'], why: 'it is not cordoned' },
  { events: ['uncordon'], in: ['draining'], why: 'it is about to end' },
];

/** The chart as a table. */
export const lifecycleTable = plainTable<typeof lifecycleMachine, never>(lifecycleMachine);
export type LifecycleState = keyof typeof lifecycleTable;

/** The changes of a server that runs: see {@link LifecycleEvent}. */
export type PhaseChange = Exclude<LifecycleEvent['type'], 'start' | 'close'>;

/** Whether new calls are taken. A part that is not started yet gets none. */
export const takesCalls = (state: LifecycleState): boolean => state === 'made' || state === 'serving';

/** Runs the chart. A part that is given all that it needs serves from the first moment. */
export const createLifecycle = (state: LifecycleState = 'serving'): TableRun<LifecycleState, LifecycleEvent, never> =>
  new TableRun(lifecycleTable, state, {});
