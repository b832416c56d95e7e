import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type StateReplicaEvent =
  /** It is time to write. */
  | { type: 'due' }
  /** NATS has confirmed what was written. */
  | { type: 'written' }
  /** NATS has not confirmed it. */
  | { type: 'failed' }
  /** More changes waited than may wait. They are dropped. */
  | { type: 'overflowed' }
  /** What is kept has grown so long that it is written anew. */
  | { type: 'outgrown' }
  /** NATS cannot be reached. It may have lost everything when it is back. */
  | { type: 'link.lost' };

const effects = {
  /** Writes the whole state. */
  writeAll: effect('writeAll'),
  /** Writes what has changed since. */
  writeChanges: effect('writeChanges'),
};
const replica = setup({ types: { events: {} as StateReplicaEvent }, actions: effects });

/** The copy of a node's state that NATS keeps, as the node sees it. */
export const stateReplicaMachine = replica.createMachine({
  id: 'stateReplica',
  initial: 'missing',
  states: {
    /** There is no copy that can be followed by changes. */
    missing: { on: { due: { target: 'copying', actions: 'writeAll' } } },
    copying: {
      on: { written: { target: 'current' }, failed: { target: 'missing' }, overflowed: { target: 'outdated' } },
    },
    current: {
      on: {
        due: { target: 'following', actions: 'writeChanges' },
        overflowed: { target: 'missing' },
        outgrown: { target: 'missing' },
        'link.lost': { target: 'missing' },
      },
    },
    following: {
      on: { written: { target: 'current' }, failed: { target: 'missing' }, overflowed: { target: 'outdated' } },
    },
    /** What is being written will be of no use: changes behind it are dropped. */
    outdated: { on: { written: { target: 'missing' }, failed: { target: 'missing' } } },
  },
});

/** What it ignores, and why. */
export const stateReplicaIgnores: Ignores<typeof stateReplicaMachine> = [
  { events: ['written', 'failed'], in: ['missing', 'current'], why: 'nothing is being written' },
  { events: ['overflowed', 'outgrown', 'link.lost'], in: ['missing'], why: 'the whole state is written next' },
  { events: ['due'], in: ['copying', 'following', 'outdated'], why: 'one thing is written at a time' },
  { events: ['outgrown'], in: ['copying', 'following', 'outdated'], why: 'it is measured between two writings' },
  { events: ['overflowed'], in: ['outdated'], why: 'it is outdated already' },
  {
    events: ['link.lost'],
    in: ['copying', 'following', 'outdated'],
    why: 'what is being written fails with the connection',
  },
];

type StateReplicaEffect = keyof typeof effects;

/** The chart as a table. */
export const stateReplicaTable = plainTable<typeof stateReplicaMachine, StateReplicaEffect>(stateReplicaMachine);
