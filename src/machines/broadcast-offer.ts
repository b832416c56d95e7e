import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

export type BroadcastOfferEvent =
  /** An application claims the call. */
  | { type: 'claim'; application: string }
  /** The dialplan does something else with the call. */
  | { type: 'stop' }
  /** The time for claiming is over. */
  | { type: 'time.over' };

const effects = {
  /** Tells the other applications which one got the call, if the dialplan requests it. */
  tellLosers: effect('tellLosers'),
  /** The dialplan goes on with the application that has it. */
  settleClaimed: effect('settleClaimed'),
  /** The dialplan goes on without one. */
  settleUnclaimed: effect('settleUnclaimed'),
  /** A claim finds no such offer from now on. */
  forgetOffer: effect('forgetOffer'),
};
const offer = setup({ types: { events: {} as BroadcastOfferEvent }, actions: effects });

/** A call that is offered to several applications. The first that claims it has it. */
export const broadcastOfferMachine = offer.createMachine({
  id: 'broadcastOffer',
  initial: 'offered',
  states: {
    offered: {
      on: {
        claim: { target: 'claimed', actions: ['tellLosers', 'settleClaimed'] },
        stop: { target: 'over', actions: ['forgetOffer', 'settleUnclaimed'] },
        'time.over': { target: 'over', actions: ['forgetOffer', 'settleUnclaimed'] },
      },
    },
    /** It is kept until its time is over, so that a late claim is refused as late. */
    claimed: { on: { 'time.over': { target: 'over', actions: 'forgetOffer' } } },
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const broadcastOfferIgnores: Ignores<typeof broadcastOfferMachine> = [
  { events: ['stop'], in: ['claimed'], why: 'the dialplan has its answer' },
];

type BroadcastOfferState = 'offered' | 'claimed' | 'over';
/** What clients may do with an offer. */
export const broadcastOfferOperations = ['claim'] as const;

/** Why a client may not claim a call that is offered; undefined if it may. */
export function refuseBroadcastOfferOperation(
  { value }: { value: BroadcastOfferState },
  _operation: (typeof broadcastOfferOperations)[number],
): 'claimTooLate' | undefined {
  return value === 'offered' ? undefined : 'claimTooLate';
}

type BroadcastOfferEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const broadcastOfferTable = plainTable<typeof broadcastOfferMachine, BroadcastOfferEffect>(
  broadcastOfferMachine,
);
export type BroadcastOfferRun = TableRun<keyof typeof broadcastOfferTable, BroadcastOfferEvent, BroadcastOfferEffect>;
