import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type NodeNameEvent =
  /** This server has the name. */
  | { type: 'granted' }
  /** Another server that answers has it. */
  | { type: 'refused' }
  /** Another server has taken the name over since. */
  | { type: 'overtaken' }
  /** NATS cannot be reached. */
  | { type: 'link.lost' };

const effects = {
  /** This server takes part in the cluster. */
  takePart: effect('takePart'),
  /** It takes part no more: nothing leaves, and nothing is heard. */
  stopPart: effect('stopPart'),
  /** Says why it takes no part. */
  tellRefused: effect('tellRefused'),
  /** Another server may go on with the calls of this one: it must not. */
  leaveCalls: effect('leaveCalls'),
};
const name = setup({ types: { events: {} as NodeNameEvent }, actions: effects });

/** Whether this server has the name under which it is a node. */
export const nodeNameMachine = name.createMachine({
  id: 'nodeName',
  initial: 'unheld',
  states: {
    /** NATS cannot be reached, or the name is being claimed. */
    unheld: {
      on: {
        granted: { target: 'held', actions: 'takePart' },
        refused: { target: 'excluded', actions: 'tellRefused' },
      },
    },
    held: {
      on: {
        overtaken: { target: 'excluded', actions: ['stopPart', 'tellRefused', 'leaveCalls'] },
        'link.lost': { target: 'lost', actions: 'stopPart' },
      },
    },
    /** It had the name, or goes on with the calls of a process that had it. NATS cannot be reached, or was not asked yet. */
    lost: {
      on: {
        granted: { target: 'held', actions: 'takePart' },
        refused: { target: 'excluded', actions: ['tellRefused', 'leaveCalls'] },
      },
    },
    /** It serves its own calls and takes no part in the cluster. It claims the name again and again. */
    excluded: {
      on: {
        granted: { target: 'held', actions: 'takePart' },
        'link.lost': { target: 'unheld' },
      },
    },
  },
});

/** What it ignores, and why. */
export const nodeNameIgnores: Ignores<typeof nodeNameMachine> = [
  { events: ['overtaken', 'link.lost'], in: ['unheld', 'lost'], why: 'it has no name to lose' },
  { events: ['granted', 'refused'], in: ['held'], why: 'the name is claimed only while it is not held' },
  { events: ['refused', 'overtaken'], in: ['excluded'], why: 'it was told so already' },
];

type NodeNameEffect = keyof typeof effects;

/** The chart as a table. */
export const nodeNameTable = plainTable<typeof nodeNameMachine, NodeNameEffect>(nodeNameMachine);
