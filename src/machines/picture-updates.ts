import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type PictureUpdatesEvent =
  /** A key frame is wanted, and the last request is long enough ago. */
  | { type: 'picture.wanted' }
  /** The INFO is on its way. */
  | { type: 'info.sent' }
  /** It is answered, or has no answer. */
  | { type: 'info.ended' }
  /** The far side never understands such an INFO. */
  | { type: 'info.refused' }
  | { type: 'call.over' };

const effects = {
  /** Sends the INFO, if the call allows it now. */
  sendInfo: effect('sendInfo'),
};
const updates = setup({ types: { events: {} as PictureUpdatesEvent }, actions: effects });

/** Requests for key frames by INFO (RFC 5168), one at a time. */
export const pictureUpdatesMachine = updates.createMachine({
  id: 'pictureUpdates',
  initial: 'ready',
  states: {
    ready: {
      on: {
        'picture.wanted': { actions: 'sendInfo' },
        'info.sent': 'asking',
        'info.refused': 'refused',
        'call.over': 'over',
      },
    },
    asking: { on: { 'info.ended': 'ready', 'info.refused': 'refused', 'call.over': 'over' } },
    /** No more are sent. */
    refused: { type: 'final' },
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const pictureUpdatesIgnores: Ignores<typeof pictureUpdatesMachine> = [
  { events: ['picture.wanted', 'info.sent'], in: ['asking'], why: 'one request is under way; viewers repeat theirs' },
  { events: ['info.ended'], in: ['ready'], why: 'no request is under way' },
];

export type PictureUpdatesEffect = keyof typeof effects;

/** The chart as a table. */
export const pictureUpdatesTable = plainTable<typeof pictureUpdatesMachine, PictureUpdatesEffect>(
  pictureUpdatesMachine,
);
