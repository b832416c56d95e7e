import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

/** `Work` is the type of what waits. */
export type MediaQueueEvent<Work = unknown> =
  /** Somebody puts work into the queue, at that place. */
  | { type: 'work.added'; work: Work; at: number }
  /** The same, for work that ran before it was restored: the first of its target. */
  | { type: 'work.restored'; work: Work; at: number }
  /** No work runs, and the first may begin. */
  | { type: 'work.due' }
  /** The first work has been begun. It may have ended meanwhile. */
  | { type: 'work.begun' }
  /** The running work has ended. */
  | { type: 'work.ended' }
  /** No work is left. */
  | { type: 'queue.emptied' }
  /** The target has ended. */
  | { type: 'close' };

const effects = {
  keepWork: effect('keepWork'),
  beginFirst: effect('beginFirst'),
  abandonAll: effect('abandonAll'),
  tellIdle: effect('tellIdle'),
};
const queue = setup({ types: { events: {} as MediaQueueEvent }, actions: effects });

const kept = { 'work.added': { actions: 'keepWork' }, 'work.restored': { actions: 'keepWork' } } as const;
const close = { target: 'closed', actions: ['abandonAll', 'tellIdle'] } as const;

/** The playbacks and recordings of a channel or bridge, one after another. */
export const mediaQueueMachine = queue.createMachine({
  id: 'mediaQueue',
  initial: 'idle',
  states: {
    idle: {
      on: {
        ...kept,
        'work.restored': { target: 'busy', actions: 'keepWork' },
        'work.due': { target: 'beginning', actions: 'beginFirst' },
        'queue.emptied': { target: 'drained', actions: 'tellIdle' },
        close,
      },
    },
    /** The first work is being begun. */
    beginning: { on: { ...kept, 'work.begun': 'busy', 'work.ended': 'passing', close } },
    /** The first work ended while it was being begun. The next one waits, so that a thousand of them do not nest. */
    passing: { on: { ...kept, 'work.begun': 'idle', close } },
    /** The first work runs. */
    busy: { on: { ...kept, 'work.ended': 'idle', close } },
    /** Everything has ended. */
    drained: { type: 'final' },
    /** The target has ended, and takes no more work. */
    closed: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const mediaQueueIgnores: Ignores<typeof mediaQueueMachine> = [
  { events: ['work.due'], in: ['beginning', 'passing', 'busy'], why: 'the queue runs one item at a time' },
  { events: ['work.begun'], in: ['idle', 'busy'], why: 'no work is starting' },
  { events: ['work.ended'], in: ['idle', 'passing'], why: 'no work runs' },
  { events: ['queue.emptied'], in: ['beginning', 'passing', 'busy'], why: 'a work has not ended yet' },
];

export type MediaQueueEffect = keyof typeof effects;

/** The chart as a table. */
export const mediaQueueTable = plainTable<typeof mediaQueueMachine, MediaQueueEffect>(mediaQueueMachine);
