import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

export type GroupMemberEvent =
  /** A connection joins by its name. */
  | { type: 'member.joined' }
  /** Its connection is lost, and others can take its calls. */
  | { type: 'member.left' }
  /** Its connection is lost, and members are awaited that can take its calls. */
  | { type: 'member.lost' }
  /** It is to get no new calls. */
  | { type: 'drain.requested' }
  /** Its last call has left the application. */
  | { type: 'calls.over' }
  /** It was away for as long as it may after a restart of the server. */
  | { type: 'time.over' };

const effects = {
  /** Its connection gets the events of its calls from the start. */
  replayCalls: effect('replayCalls'),
  /** Its calls go to other members, with their events. */
  moveCalls: effect('moveCalls'),
  tellDrained: effect('tellDrained'),
};
const member = setup({ types: { events: {} as GroupMemberEvent }, actions: effects });

/** A member of a group of connections that share an application. */
export const groupMemberMachine = member.createMachine({
  id: 'groupMember',
  initial: 'active',
  states: {
    /** Connected. */
    active: {
      on: {
        'member.joined': { actions: 'replayCalls' },
        'member.left': { target: 'gone', actions: 'moveCalls' },
        'member.lost': 'away',
        'drain.requested': 'draining',
      },
    },
    /** Connected, without new calls as long as there is another member. */
    draining: {
      on: {
        'member.joined': { target: 'active', actions: 'replayCalls' },
        'member.left': { target: 'gone', actions: 'moveCalls' },
        'member.lost': 'drainingAway',
        'calls.over': { actions: 'tellDrained' },
      },
    },
    /** Not connected (again) since the server was restarted. */
    away: {
      on: {
        'member.joined': { target: 'active', actions: 'replayCalls' },
        'time.over': { target: 'gone', actions: 'moveCalls' },
        'drain.requested': 'drainingAway',
      },
    },
    /** As `away`; it comes back without new calls. */
    drainingAway: {
      on: {
        'member.joined': { target: 'draining', actions: 'replayCalls' },
        'time.over': { target: 'gone', actions: 'moveCalls' },
      },
    },
    /** It has no calls any more. */
    gone: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const groupMemberIgnores: Ignores<typeof groupMemberMachine> = [
  { events: ['member.left', 'member.lost'], in: ['away', 'drainingAway'], why: 'it has no connection' },
  { events: ['drain.requested'], in: ['draining', 'drainingAway'], why: 'it drains' },
  { events: ['calls.over'], in: ['active', 'away', 'drainingAway'], why: 'no party waits for it' },
  { events: ['time.over'], in: ['active', 'draining'], why: 'it is connected' },
];

type GroupMemberEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const groupMemberTable = plainTable<typeof groupMemberMachine, GroupMemberEffect>(groupMemberMachine);
export type GroupMemberState = keyof typeof groupMemberTable;
export type GroupMemberRun = TableRun<GroupMemberState, GroupMemberEvent, GroupMemberEffect>;
