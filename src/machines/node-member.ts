import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type NodeMemberEvent =
  /** A heartbeat has come. */
  | { type: 'heard' }
  /** No heartbeat has come for `cluster.suspect_after`. */
  | { type: 'overdue' }
  /** No heartbeat has come for `cluster.away_after`. */
  | { type: 'lost' }
  /** The node has said that it ends. */
  | { type: 'left' };

const effects = {
  /** Asks the node which applications are connected to it. */
  greetNode: effect('greetNode'),
  /** Applications that are connected to the node are away. */
  dropApplications: effect('dropApplications'),
  /** Asks NATS whether its process has ended. */
  askProcess: effect('askProcess'),
  /** Tells clients that asked for it. */
  tellLost: effect('tellLost'),
};
const member = setup({ types: { events: {} as NodeMemberEvent }, actions: effects });

/** Another node of the cluster, as this one sees it. */
export const nodeMemberMachine = member.createMachine({
  id: 'nodeMember',
  initial: 'joining',
  states: {
    /** The node is known by its name. It has not been heard yet. */
    joining: {
      on: {
        heard: { target: 'member', actions: 'greetNode' },
        lost: { target: 'away' },
        left: { target: 'away' },
      },
    },
    member: {
      on: {
        overdue: { target: 'suspect', actions: 'askProcess' },
        left: { target: 'away', actions: 'dropApplications' },
      },
    },
    /** It may be slow. Requests for its objects still go there. */
    suspect: {
      on: {
        heard: { target: 'member' },
        lost: { target: 'away', actions: ['dropApplications', 'tellLost'] },
        left: { target: 'away', actions: 'dropApplications' },
      },
    },
    /** Requests for its objects are refused at once. */
    away: { on: { heard: { target: 'member', actions: 'greetNode' } } },
  },
});

/** What it ignores, and why. */
export const nodeMemberIgnores: Ignores<typeof nodeMemberMachine> = [
  { events: ['overdue'], in: ['joining'], why: 'the wait for the first heartbeat ends with `lost`' },
  { events: ['heard'], in: ['member'], why: 'it is a member already' },
  { events: ['lost'], in: ['member'], why: 'it is suspected first' },
  { events: ['overdue'], in: ['suspect'], why: 'it is suspected already' },
  { events: ['overdue', 'lost', 'left'], in: ['away'], why: 'nothing is expected of it' },
];

type NodeMemberEffect = keyof typeof effects;

/** The chart as a table. */
export const nodeMemberTable = plainTable<typeof nodeMemberMachine, NodeMemberEffect>(nodeMemberMachine);
