import { type SnapshotFrom, setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

export type WebrtcLegEvent =
  /** A browser calls: its offer gets an answer. */
  | { type: 'offer.came' }
  /** Calls the browser. */
  | { type: 'dial' }
  /** Accepts the browser's call. */
  | { type: 'answer' }
  /** The browser has sent its offer for the call that it was told of. */
  | { type: 'call.taken' }
  /** It refuses that call, or there is none of that name. */
  | { type: 'call.refused'; cause: number }
  /** The browser ends the call, or its transport is gone. */
  | { type: 'transport.lost'; cause: number }
  /** The browser has put us on hold; and taken us back. */
  | { type: 'far.held' }
  | { type: 'far.unheld' }
  /** Ends the call. It is answered with the last report. */
  | { type: 'hangup' }
  /** Ends the call, and reports nothing. */
  | { type: 'release' };

const effects = {
  /** Tells every page of the name that a call waits. */
  callBrowser: effect('callBrowser'),
  tellAnswered: effect('tellAnswered'),
  tellHeld: effect('tellHeld'),
  tellUnheld: effect('tellUnheld'),
  tellHungUp: effect('tellHungUp'),
  tellEnded: effect('tellEnded'),
  /** Closes the transport, and tells the browser why. */
  endSession: effect('endSession'),
};
const leg = setup({ types: { events: {} as WebrtcLegEvent }, actions: effects });

const living = {
  'transport.lost': { target: 'gone', actions: ['endSession', 'tellHungUp'] },
  hangup: { target: 'ended', actions: ['endSession', 'tellEnded'] },
  release: { target: 'ended', actions: 'endSession' },
} as const;

/** A call of a browser over HTTP, in or out, as its leg sees it. The leg runs it as a table. */
export const webrtcLegMachine = leg.createMachine({
  id: 'webrtcLeg',
  initial: 'undialed',
  states: {
    /** No browser is called yet, and none calls. */
    undialed: { on: { ...living, 'offer.came': 'offered', dial: { target: 'calling', actions: 'callBrowser' } } },
    /** Pages of the name know of the call; the first that sends an offer has it. */
    calling: {
      on: {
        ...living,
        'call.taken': { target: 'up', actions: 'tellAnswered' },
        'call.refused': { target: 'gone', actions: ['endSession', 'tellHungUp'] },
      },
    },
    /** The browser's offer has an answer, so early audio flows; the call is not accepted. */
    offered: { on: { ...living, answer: { target: 'up', actions: 'tellAnswered' } } },
    up: { on: { ...living, 'far.held': { target: 'held', actions: 'tellHeld' } } },
    /** The browser holds us. */
    held: { on: { ...living, 'far.unheld': { target: 'up', actions: 'tellUnheld' } } },
    /** The browser has ended it; `hangup` is awaited. */
    gone: { on: { hangup: { target: 'ended', actions: 'tellEnded' }, release: 'ended' } },
    /** No more events are sent. */
    ended: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const webrtcLegIgnores: Ignores<typeof webrtcLegMachine> = [
  { events: ['dial', 'offer.came'], why: 'it was dialed before, or came in' },
  { events: ['answer'], in: ['undialed', 'calling'], why: 'the browser answers calls to it' },
  { events: ['answer', 'call.taken', 'call.refused'], in: ['up', 'held'], why: 'it is answered' },
  { events: ['call.taken', 'call.refused'], in: ['undialed', 'offered'], why: 'no browser was called' },
  { events: ['far.held', 'far.unheld'], in: ['undialed', 'calling', 'offered'], why: 'there is no call to hold yet' },
  { events: ['far.held'], in: ['held'], why: 'it was reported before' },
  { events: ['far.unheld'], in: ['up'], why: 'it was not held' },
  {
    events: ['answer', 'call.taken', 'call.refused', 'transport.lost', 'far.held', 'far.unheld'],
    in: ['gone'],
    why: 'its end was reported before',
  },
];

type WebrtcLegState = SnapshotFrom<typeof webrtcLegMachine>['value'];
type WebrtcLegEffect = keyof typeof effects;

/** The chart as legs run it. */
export const webrtcLegTable = plainTable<typeof webrtcLegMachine, WebrtcLegEffect>(webrtcLegMachine);
export type WebrtcLegRun = TableRun<WebrtcLegState, WebrtcLegEvent, WebrtcLegEffect>;
