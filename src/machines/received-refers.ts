import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

/** `Request` is the type of a REFER that is accepted. */
export type ReceivedRefersEvent<Request = unknown> =
  | { type: 'refer.accepted'; request: Request }
  | { type: 'call.over' };

const effects = {
  /** Opens the subscription of the first REFER. Its Event header has no id. */
  subscribeFirst: effect('subscribeFirst'),
  /** Opens a further subscription. Its Event header has the id of the REFER (RFC 3515 2.4.6). */
  subscribeById: effect('subscribeById'),
};
const refers = setup({ types: { events: {} as ReceivedRefersEvent }, actions: effects });

/** The REFERs that the far side sends inside one call. */
export const receivedRefersMachine = refers.createMachine({
  id: 'receivedRefers',
  initial: 'none',
  states: {
    none: { on: { 'refer.accepted': { target: 'received', actions: 'subscribeFirst' }, 'call.over': 'over' } },
    received: { on: { 'refer.accepted': { actions: 'subscribeById' }, 'call.over': 'over' } },
    over: { type: 'final' },
  },
});

/** It ignores nothing. */
export const receivedRefersIgnores: Ignores<typeof receivedRefersMachine> = [];

export type ReceivedRefersEffect = keyof typeof effects;

/** The chart as a table. */
export const receivedRefersTable = plainTable<typeof receivedRefersMachine, ReceivedRefersEffect>(
  receivedRefersMachine,
);
