import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

export type GroupMembershipEvent =
  /** This node has the application, or none has. */
  | { type: 'home.here' }
  /** Another node has it. */
  | { type: 'home.elsewhere' }
  /** The other node has taken the member. */
  | { type: 'home.joined' }
  /** The member may not join. */
  | { type: 'home.refused'; reason: string }
  /** The other node is lost, did not answer, or has the group no more. */
  | { type: 'home.lost' }
  /** Another node takes over the group of this one. */
  | { type: 'home.moved' }
  /** An event of the other node did not arrive. */
  | { type: 'events.missed' }
  /** Another client has the application. */
  | { type: 'application.replaced' }
  | { type: 'socket.closed' };

const effects = {
  /** Finds out which node has the application. */
  seekHome: effect('seekHome'),
  /** The same, a moment later. */
  seekLater: effect('seekLater'),
  joinHere: effect('joinHere'),
  /** Asks the other node to take the member. */
  askHome: effect('askHome'),
  /** Tells the client that events may be missing, and that their numbers begin anew. */
  tellLost: effect('tellLost'),
  leaveHere: effect('leaveHere'),
  leaveHome: effect('leaveHome'),
  cutSocket: effect('cutSocket'),
};
const membership = setup({ types: { events: {} as GroupMembershipEvent }, actions: effects });

/** A WebSocket that shares an application with others, at the node where it is connected. One node has the group. */
export const groupMembershipMachine = membership.createMachine({
  id: 'groupMembership',
  initial: 'seeking',
  states: {
    /** The node of the group is looked for. */
    seeking: {
      on: {
        'home.here': { target: 'here', actions: 'joinHere' },
        'home.elsewhere': { target: 'asking', actions: 'askHome' },
        'socket.closed': 'gone',
      },
    },
    /** Another node was asked to take it. Its events may come before its answer. */
    asking: {
      on: {
        'home.joined': 'there',
        'home.refused': { target: 'gone', actions: ['leaveHome', 'cutSocket'] },
        'home.lost': { target: 'seeking', actions: 'seekLater' },
        'events.missed': { target: 'gone', actions: ['leaveHome', 'cutSocket'] },
        'application.replaced': 'replaced',
        'socket.closed': { target: 'gone', actions: 'leaveHome' },
      },
    },
    /** Another node chooses its calls. */
    there: {
      on: {
        'home.lost': { target: 'seeking', actions: ['tellLost', 'seekHome'] },
        'events.missed': { target: 'gone', actions: ['leaveHome', 'cutSocket'] },
        'application.replaced': 'replaced',
        'socket.closed': { target: 'gone', actions: 'leaveHome' },
      },
    },
    /** This node chooses its calls. */
    here: {
      on: {
        'home.refused': { target: 'gone', actions: 'cutSocket' },
        'home.moved': { target: 'seeking', actions: ['leaveHere', 'tellLost', 'seekHome'] },
        'socket.closed': { target: 'gone', actions: 'leaveHere' },
      },
    },
    /** It hears nothing more, as every connection whose application another client has taken. */
    replaced: { on: { 'socket.closed': { target: 'gone', actions: 'leaveHome' } } },
    gone: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const groupMembershipIgnores: Ignores<typeof groupMembershipMachine> = [
  {
    events: ['home.joined', 'home.refused', 'home.lost', 'home.moved', 'events.missed', 'application.replaced'],
    in: ['seeking'],
    why: 'it is about a node that had the group before',
  },
  { events: ['home.here', 'home.elsewhere'], in: ['asking', 'there', 'here'], why: 'it is not looked for' },
  { events: ['home.moved'], in: ['asking', 'there'], why: 'the group is not here' },
  { events: ['home.joined', 'home.refused'], in: ['there'], why: 'the node has answered already' },
  { events: ['home.joined', 'home.lost', 'events.missed'], in: ['here'], why: 'no other node has the group' },
  { events: ['application.replaced'], in: ['here'], why: 'the group itself hears nothing more then' },
  {
    events: [
      ...(['home.here', 'home.elsewhere', 'home.joined', 'home.refused', 'home.lost', 'home.moved'] as const),
      ...(['events.missed', 'application.replaced'] as const),
    ],
    in: ['replaced'],
    why: 'it takes no part in the group',
  },
];

type GroupMembershipEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const groupMembershipTable = plainTable<typeof groupMembershipMachine, GroupMembershipEffect>(
  groupMembershipMachine,
);
export type GroupMembershipState = keyof typeof groupMembershipTable;
export type GroupMembershipRun = TableRun<GroupMembershipState, GroupMembershipEvent, GroupMembershipEffect>;
