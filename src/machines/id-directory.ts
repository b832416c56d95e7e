import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type IdDirectoryEvent =
  /** NATS is reached, and this server has its name. */
  | { type: 'link.up' }
  | { type: 'link.lost' }
  /** This node has the directory, and there is no other node. */
  | { type: 'granted' }
  /** There are other nodes, and none has the directory. */
  | { type: 'free' }
  /** Another process has the directory. */
  | { type: 'held' }
  /** The pause before the next look is over. */
  | { type: 'again' }
  /** There is another node. */
  | { type: 'joined' }
  /** NATS has all ids of this node. */
  | { type: 'written' }
  /** Another process has taken the directory. */
  | { type: 'overtaken' }
  /** The last other node has left. */
  | { type: 'deserted' };

const effects = {
  /** Looks who has the directory. */
  look: effect('look'),
  /** Asks the process that has the directory to share it, and takes it away if that process is lost. */
  askHolder: effect('askHolder'),
  /** Writes the ids that only this process knows, and then gives the directory up. */
  writeIds: effect('writeIds'),
};
const directory = setup({ types: { events: {} as IdDirectoryEvent }, actions: effects });

/** How a node of a cluster decides about ids that clients choose. */
export const idDirectoryMachine = directory.createMachine({
  id: 'idDirectory',
  initial: 'lost',
  states: {
    /** NATS is not reached: ids are refused. */
    lost: { on: { 'link.up': { target: 'looking', actions: 'look' } } },
    /** Ids wait. */
    looking: {
      on: {
        granted: { target: 'sole' },
        free: { target: 'shared' },
        held: { target: 'waiting', actions: 'askHolder' },
        again: { actions: 'look' },
        'link.lost': { target: 'lost' },
      },
    },
    /** Another process has the directory. Ids wait until it shares it, or is lost. */
    waiting: {
      on: {
        again: { target: 'looking', actions: 'look' },
        'link.lost': { target: 'lost' },
      },
    },
    /** This node is alone and decides in memory. Its ids are written later. */
    sole: {
      on: {
        joined: { target: 'sharing', actions: 'writeIds' },
        overtaken: { target: 'looking', actions: 'look' },
        'link.lost': { target: 'lost' },
      },
    },
    /** New ids are rows already. Other nodes wait until NATS has the earlier ones. */
    sharing: {
      on: {
        written: { target: 'shared' },
        again: { actions: 'writeIds' },
        overtaken: { target: 'looking', actions: 'look' },
        'link.lost': { target: 'lost' },
      },
    },
    /** Each id is a row at NATS before its object is created. */
    shared: {
      on: {
        deserted: { target: 'looking', actions: 'look' },
        'link.lost': { target: 'lost' },
      },
    },
  },
});

/** What it ignores, and why. */
export const idDirectoryIgnores: Ignores<typeof idDirectoryMachine> = [
  {
    events: ['granted', 'free', 'held', 'again', 'joined', 'written', 'overtaken', 'deserted', 'link.lost'],
    in: ['lost'],
    why: 'what was begun before ends without effect',
  },
  { events: ['joined', 'written', 'overtaken', 'deserted'], in: ['looking', 'waiting'], why: 'it has no directory' },
  { events: ['granted', 'free', 'held'], in: ['waiting', 'sole', 'sharing', 'shared'], why: 'it does not look' },
  { events: ['again', 'written', 'deserted'], in: ['sole'], why: 'it is alone already' },
  { events: ['joined', 'deserted'], in: ['sharing'], why: 'it gives the directory up already' },
  { events: ['again', 'joined', 'written', 'overtaken'], in: ['shared'], why: 'nobody has the directory' },
  {
    events: ['link.up'],
    in: ['looking', 'waiting', 'sole', 'sharing', 'shared'],
    why: 'NATS was reached already',
  },
];

type IdDirectoryEffect = keyof typeof effects;

/** The chart as a table. */
export const idDirectoryTable = plainTable<typeof idDirectoryMachine, IdDirectoryEffect>(idDirectoryMachine);
