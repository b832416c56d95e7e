import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

export type ConnectionCallEvent =
  /** The call is in its application. */
  | { type: 'call.entered' }
  /** The call has left its application, or is gone. */
  | { type: 'call.left' }
  /** The connection is closed. */
  | { type: 'connection.ended' };

const effects = {
  /** Tells the connection that its call is in the application. */
  keepConnection: effect('keepConnection'),
  /** Tells the connection that its call is not in the application. */
  endConnection: effect('endConnection'),
  /** The name of the instance stays taken until the call has left. */
  keepInstance: effect('keepInstance'),
  /** The instance is no more. */
  retireInstance: effect('retireInstance'),
};
const call = setup({ types: { events: {} as ConnectionCallEvent }, actions: effects });

/** The call that a connection to an application was made for, seen from that connection. */
export const connectionCallMachine = call.createMachine({
  id: 'connectionCall',
  initial: 'outside',
  states: {
    /** On its way in, or out again. */
    outside: {
      on: {
        'call.entered': { target: 'inside', actions: 'keepConnection' },
        'call.left': { actions: 'endConnection' },
        'connection.ended': { target: 'over', actions: 'retireInstance' },
      },
    },
    inside: {
      on: {
        'call.entered': { actions: 'keepConnection' },
        'call.left': { target: 'outside', actions: 'endConnection' },
        'connection.ended': { target: 'orphaned', actions: 'keepInstance' },
      },
    },
    /** The connection went before the call: another program may take over the name. */
    orphaned: { on: { 'call.left': { target: 'over', actions: 'retireInstance' } } },
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const connectionCallIgnores: Ignores<typeof connectionCallMachine> = [
  { events: ['call.entered', 'connection.ended'], in: ['orphaned'], why: 'its connection is closed' },
];

type ConnectionCallEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const connectionCallTable = plainTable<typeof connectionCallMachine, ConnectionCallEffect>(
  connectionCallMachine,
);
export type ConnectionCallRun = TableRun<keyof typeof connectionCallTable, ConnectionCallEvent, ConnectionCallEffect>;
