import { setup } from 'xstate';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import { TableRun } from './table-run.ts';

export type LifecycleEvent =
  /** Everything that it needs is there. */
  | { type: 'start' }
  /** It takes nothing new from now on. */
  | { type: 'drain' }
  | { type: 'close' };

const lifecycle = setup({ types: { events: {} as LifecycleEvent } });

/** The life of a part of the server that takes calls or makes connections. */
export const lifecycleMachine = lifecycle.createMachine({
  id: 'lifecycle',
  initial: 'made',
  states: {
    made: { on: { start: 'serving', drain: 'draining', close: 'closed' } },
    serving: { on: { drain: 'draining', close: 'closed' } },
    /** Its objects continue. */
    draining: { on: { close: 'closed' } },
    closed: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const lifecycleIgnores: Ignores<typeof lifecycleMachine> = [
  { events: ['start'], in: ['serving', 'draining'], why: 'it was started, or is to end' },
  { events: ['drain'], in: ['draining'], why: 'it accepts no new calls' },
];

/** The chart as a table. */
export const lifecycleTable = plainTable<typeof lifecycleMachine, never>(lifecycleMachine);
type LifecycleState = keyof typeof lifecycleTable;

/** Runs the chart. A part that is given all that it needs serves from the first moment. */
export const createLifecycle = (state: LifecycleState = 'serving'): TableRun<LifecycleState, LifecycleEvent, never> =>
  new TableRun(lifecycleTable, state, {});
