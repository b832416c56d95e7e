import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type OwnRefersEvent =
  /** The far side is to call a URI. */
  | { type: 'refer'; uri: string }
  /** A NOTIFY: the far side is not done, or has failed. */
  | { type: 'notify.progressed' }
  /** A NOTIFY: the far side has reached the URI. */
  | { type: 'notify.succeeded' }
  | { type: 'call.over' };

const effects = { sendRefer: effect('sendRefer'), tellSucceeded: effect('tellSucceeded') };
const refers = setup({ types: { events: {} as OwnRefersEvent }, actions: effects });

/** Our REFERs inside one call (RFC 3515), and the NOTIFYs of their progress. */
export const ownRefersMachine = refers.createMachine({
  id: 'ownRefers',
  initial: 'none',
  states: {
    none: { on: { refer: { target: 'sent', actions: 'sendRefer' }, 'call.over': 'over' } },
    sent: {
      on: {
        refer: { actions: 'sendRefer' },
        'notify.progressed': {},
        'notify.succeeded': { actions: 'tellSucceeded' },
        'call.over': 'over',
      },
    },
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const ownRefersIgnores: Ignores<typeof ownRefersMachine> = [
  {
    events: ['notify.progressed', 'notify.succeeded'],
    in: ['none'],
    why: 'there is no subscription: it is answered with 481 (RFC 6665 4.1.3)',
  },
  { events: ['notify.progressed'], in: ['sent'], why: 'it is answered with 200, and changes nothing' },
];

export type OwnRefersEffect = keyof typeof effects;

/** The chart as a table. */
export const ownRefersTable = plainTable<typeof ownRefersMachine, OwnRefersEffect>(ownRefersMachine);
