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
  /** Its cluster cannot be reached: another node may go on with its calls. It takes no new ones. */
  | { type: 'isolate' }
  /** Its cluster is reached again. */
  | { type: 'rejoin' }
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
    serving: { on: { cordon: 'cordoned', isolate: 'isolated', drain: 'draining', close: 'closed' } },
    /** Its calls continue and may place others. */
    cordoned: { on: { uncordon: 'serving', isolate: 'cordonedAndIsolated', drain: 'draining', close: 'closed' } },
    /** The same. */
    isolated: { on: { rejoin: 'serving', cordon: 'cordonedAndIsolated', drain: 'draining', close: 'closed' } },
    /** The same, for two reasons. */
    cordonedAndIsolated: { on: { uncordon: 'isolated', rejoin: 'cordoned', drain: 'draining', close: 'closed' } },
    /** Its objects continue. */
    draining: { on: { close: 'closed' } },
    closed: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const lifecycleIgnores: Ignores<typeof lifecycleMachine> = [
  {
    events: ['start'],
    in: ['serving', 'cordoned', 'isolated', 'cordonedAndIsolated', 'draining'],
    why: 'it was started before',
  },
  { events: ['drain', 'cordon', 'isolate'], in: ['draining'], why: 'it accepts no new calls' },
  { events: ['cordon'], in: ['made', 'cordoned', 'cordonedAndIsolated'], why: 'it accepts no new calls' },
  { events: ['isolate'], in: ['made', 'isolated', 'cordonedAndIsolated'], why: 'it accepts no new calls' },
  { events: ['uncordon'], in: ['made', 'serving', 'isolated'], why: 'it is not cordoned' },
  { events: ['rejoin'], in: ['made', 'serving', 'cordoned'], why: 'it is not isolated' },
  { events: ['uncordon', 'rejoin'], in: ['draining'], why: 'it is about to end' },
];

/** The chart as a table. */
export const lifecycleTable = plainTable<typeof lifecycleMachine, never>(lifecycleMachine);
export type LifecycleState = keyof typeof lifecycleTable;

/** The changes of a server that runs: see {@link LifecycleEvent}. */
export type PhaseChange = Exclude<LifecycleEvent['type'], 'start' | 'close'>;

/** Whether new calls are taken. A part that is not started yet gets none. */
export const takesCalls = (state: LifecycleState): boolean => state === 'made' || state === 'serving';

/** Why a call is refused: by an operator, because the cluster cannot be reached, or because the server is about to end. */
export type CallRefusal = 'serverDrained' | 'serverIsolated' | 'serviceUnavailable';

/** Why a call is not taken now; undefined: it is. @param isNew it neither replaces, joins nor is placed by a live call */
export function callRefusalIn(state: LifecycleState, isNew: boolean): CallRefusal | undefined {
  if (takesCalls(state)) return undefined;
  if (state !== 'cordoned' && state !== 'cordonedAndIsolated' && state !== 'isolated') return 'serviceUnavailable';
  if (!isNew) return undefined;
  return state === 'isolated' ? 'serverIsolated' : 'serverDrained';
}

/** Runs the chart. A part that is given all that it needs serves from the first moment. */
export const createLifecycle = (state: LifecycleState = 'serving'): TableRun<LifecycleState, LifecycleEvent, never> =>
  new TableRun(lifecycleTable, state, {});
