import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

/** What a NOTIFY says: its headers, and the piece of a message. */
type Notice = { headers: readonly (readonly [name: string, value: string])[]; fragment: string };

export type OutsideReferEvent =
  /** The transfer continues: notifies its sender, the first time with the response to the REFER. */
  | ({ type: 'transfer.progressed' } & Notice)
  /** Its outcome is known. */
  | ({ type: 'transfer.ended' } & Notice)
  /** The sender refreshes its subscription. */
  | { type: 'subscription.refreshed' }
  /** The sender ends it. */
  | { type: 'subscription.ended' }
  /** A NOTIFY was refused, or has no answer. */
  | { type: 'notify.failed' }
  /** The system stops. */
  | { type: 'system.closing' };

const effects = {
  /** Later requests of the sender find the subscription; and no longer. */
  keepSubscription: effect('keepSubscription'),
  forgetSubscription: effect('forgetSubscription'),
  /** Says how the transfer goes. */
  notifySender: effect('notifySender'),
  /** Says the last thing again, or that the subscription is over. */
  repeatLast: effect('repeatLast'),
  tellTimeout: effect('tellTimeout'),
};
const refer = setup({ types: { events: {} as OutsideReferEvent }, actions: effects });

/** The subscription that a REFER outside a call makes (RFC 3515 2.4.4). */
export const outsideReferMachine = refer.createMachine({
  id: 'outsideRefer',
  initial: 'asked',
  states: {
    /** The REFER is not answered yet. */
    asked: {
      on: {
        'transfer.progressed': { target: 'active', actions: ['keepSubscription', 'notifySender'] },
        'transfer.ended': { target: 'over', actions: 'notifySender' },
        'system.closing': 'over',
      },
    },
    active: {
      on: {
        'transfer.progressed': { actions: 'notifySender' },
        'transfer.ended': { target: 'over', actions: ['forgetSubscription', 'notifySender'] },
        'subscription.refreshed': { actions: 'repeatLast' },
        'subscription.ended': { target: 'over', actions: ['forgetSubscription', 'tellTimeout'] },
        'notify.failed': { target: 'over', actions: 'forgetSubscription' },
        'system.closing': { target: 'over', actions: 'forgetSubscription' },
      },
    },
    /** The sender gets no more notifications. The transfer may go on. */
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const outsideReferIgnores: Ignores<typeof outsideReferMachine> = [
  {
    events: ['subscription.refreshed', 'subscription.ended', 'notify.failed'],
    in: ['asked'],
    why: 'there is no subscription before the REFER is answered',
  },
];

type OutsideReferEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const outsideReferTable = plainTable<typeof outsideReferMachine, OutsideReferEffect>(outsideReferMachine);
export type OutsideReferRun = TableRun<keyof typeof outsideReferTable, OutsideReferEvent, OutsideReferEffect>;
