import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import type { AriErrorCode } from '../models/errors.ts';
import { count, extended, list, number, object, some, text } from '../models/plain-schema.ts';
import { type Playback, type PlaybackOperation, type PlaybackState, playbackOperations } from '../models/playback.ts';
import type { PlayReport } from '../telephony/media.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

const PlaybackInput = object({
  id: text,
  /** At least one media URI. */
  media: some(text),
  /** `channel:<id>` or `bridge:<id>`. */
  targetUri: text,
  language: text,
  /** Start position in the first item, in ms. */
  offsetMs: number,
  /** How far forward and reverse move, in ms. */
  skipMs: number,
});
export type PlaybackInput = Static<typeof PlaybackInput>;

export const PlaybackContext = extended(PlaybackInput, {
  /** Position in `media` of the item that is played now or was played last. */
  index: count,
  /** Positions of the items that could not be played. */
  failed: list(count),
});
export type PlaybackContext = Static<typeof PlaybackContext>;

/** Commands of clients: the operations of the interface, and stopping the whole list. */
export type PlaybackCommand = { type: 'stop' } | { type: PlaybackOperation };

/** The commands by name. */
export const playbackCommands: readonly PlaybackCommand['type'][] = ['stop', ...playbackOperations];

export type PlaybackEvent =
  | PlaybackCommand
  /** The queue of the target gives way to this playback's next item. */
  | { type: 'turn' }
  /** The target channel or bridge has ended. */
  | { type: 'target.gone' }
  | PlayReport;

export type PlaybackFact = { type: 'PlaybackStarted' } | { type: 'PlaybackContinuing' } | { type: 'PlaybackFinished' };

const playback = setup({
  types: {
    input: {} as PlaybackInput,
    context: {} as PlaybackContext,
    events: {} as PlaybackEvent,
    emitted: {} as PlaybackFact,
    meta: {} as { ari: PlaybackState },
  },
  actions: {
    startItem: effect<{ index: number; offsetMs: number }>('startItem'),
    stopItem: effect('stopItem'),
    pauseItem: effect('pauseItem'),
    resumeItem: effect('resumeItem'),
    restartItem: effect('restartItem'),
    seekItem: effect<{ ms: number }>('seekItem'),
    /** Asks the queue for a `turn` for the next item. */
    requestTurn: effect('requestTurn'),
  },
  guards: { hasNextItem: ({ context }) => context.index + 1 < context.media.length },
});

const keepFailure = playback.assign({ failed: ({ context }) => [...context.failed, context.index] });
const moveToNext = playback.assign({ index: ({ context }) => context.index + 1 });
const started = playback.emit({ type: 'PlaybackStarted' });
const continuing = playback.emit({ type: 'PlaybackContinuing' });
const finished = playback.emit({ type: 'PlaybackFinished' });

const startFirst = {
  type: 'startItem',
  params: ({ context }: { context: PlaybackContext }) => ({ index: 0, offsetMs: context.offsetMs }),
} as const;
/** Runs after {@link moveToNext}; an offset is for the first item only. */
const startNext = {
  type: 'startItem',
  params: ({ context }: { context: PlaybackContext }) => ({ index: context.index, offsetMs: 0 }),
} as const;
const skip = (direction: 1 | -1) =>
  ({
    type: 'seekItem',
    params: ({ context }: { context: PlaybackContext }) => ({ ms: direction * context.skipMs }),
  }) as const;

/** How the current item ends, playing or paused (it may have run out while the pause was on its way). */
const itemEnds = {
  'media.finished': [{ guard: 'hasNextItem', target: 'continuing' }, { target: 'done' }],
  'media.failed': [
    { guard: 'hasNextItem', target: 'itemFailed', actions: keepFailure },
    { target: 'failed', actions: keepFailure },
  ],
  stop: { target: 'done', actions: 'stopItem' },
  'target.gone': { target: 'failed', actions: 'stopItem' },
} as const;

/**
 * Between two items the ended one is still current, so that PlaybackContinuing shows it. The turn is requested on entry
 * and comes directly unless the queue decides otherwise. Nothing plays meanwhile, so commands are accepted without
 * effect.
 */
const betweenItems = {
  turn: { target: 'playing', actions: [moveToNext, startNext, started] },
  stop: 'done',
  'target.gone': 'failed',
} as const;

/**
 * A list of media played to one target, one item after another. Unplayable items are skipped; the last item decides how
 * the list ends. A playback cancelled in the queue publishes its end when its turn comes. If its target ends first, it
 * disappears without an event.
 */
export const playbackMachine = playback.createMachine({
  id: 'playback',
  context: ({ input }) => ({ index: 0, failed: [], ...input }),
  initial: 'queued',
  states: {
    queued: {
      meta: { ari: 'queued' },
      on: {
        turn: { target: 'playing', actions: [startFirst, started] },
        stop: 'cancelled',
        'target.gone': 'dropped',
      },
    },
    cancelled: {
      meta: { ari: 'done' },
      on: { turn: 'done', 'target.gone': 'dropped' },
    },
    playing: {
      meta: { ari: 'playing' },
      on: {
        ...itemEnds,
        pause: { target: 'paused', actions: 'pauseItem' },
        restart: { actions: 'restartItem' },
        forward: { actions: skip(1) },
        reverse: { actions: skip(-1) },
      },
    },
    paused: {
      meta: { ari: 'paused' },
      on: { ...itemEnds, unpause: { target: 'playing', actions: ['resumeItem', started] } },
    },
    continuing: {
      meta: { ari: 'continuing' },
      entry: [continuing, 'requestTurn'],
      on: betweenItems,
    },
    itemFailed: {
      meta: { ari: 'continuing' },
      entry: [continuing, 'requestTurn'],
      on: betweenItems,
    },
    done: { type: 'final', meta: { ari: 'done' }, entry: finished },
    failed: { type: 'final', meta: { ari: 'failed' }, entry: finished },
    /** Its target ended while it waited: no event is published. */
    dropped: { type: 'final', meta: { ari: 'failed' } },
  },
});

/** Ignored events, with reasons. */
export const playbackIgnores: Ignores<typeof playbackMachine> = [
  { events: ['stop'], in: ['cancelled'], why: 'it was stopped before' },
  { events: ['restart'], in: ['queued'], why: 'it starts with the call' },
  { events: ['pause'], in: ['paused'], why: 'it is paused' },
  { events: ['unpause'], in: ['playing'], why: 'it is not paused' },
  {
    events: ['restart', 'pause', 'unpause', 'forward', 'reverse'],
    in: ['continuing', 'itemFailed'],
    why: 'no item plays between two items',
  },
  { events: ['turn'], in: ['playing', 'paused'], why: 'it runs already' },
  { events: ['media.finished', 'media.failed'], why: 'no item is playing: it belongs to a stopped one' },
];

export type PlaybackSnapshot = SnapshotFrom<typeof playbackMachine>;

/** The playback as clients see it. Pure: the same snapshot always gives the same JSON. */
export function playbackModel(snapshot: PlaybackSnapshot): Playback {
  const { id, media, index, targetUri, language, failed } = snapshot.context;
  const model: Playback = {
    id,
    media_uri: media[index] ?? '',
    target_uri: targetUri,
    language,
    state: stateOf(snapshot),
  };
  const next = media[index + 1];
  if (next !== undefined) model.next_media_uri = next;
  if (failed.length > 0) model.failed_media_uris = failed.map((position) => media[position] ?? '');
  return model;
}

/** Whether it has the target for itself: it has begun, and is not done. */
export const hasTurn = ({ value }: PlaybackSnapshot): boolean => value !== 'queued' && value !== 'cancelled';

const stateOf = (snapshot: PlaybackSnapshot): PlaybackState => publicStates[snapshot.value];

/** The public word of each state, read from the chart once: a snapshot's own lookup costs more than the rest. */
const publicStates = Object.fromEntries(
  Object.entries(playbackMachine.states).map(([name, node]) => [name, (node.meta as { ari: PlaybackState }).ari]),
) as Record<PlaybackSnapshot['value'], PlaybackState>;

/**
 * Operations that each public state accepts. Some have no effect and no transition: restart while queued, unpause while
 * playing, pause while paused, and all between two items.
 */
const accepted: Readonly<Record<PlaybackState, readonly PlaybackOperation[]>> = {
  queued: ['restart'],
  playing: ['restart', 'pause', 'unpause', 'reverse', 'forward'],
  continuing: ['restart', 'pause', 'unpause', 'reverse', 'forward'],
  paused: ['pause', 'unpause'],
  done: [],
  failed: [],
};

/**
 * Why a command would be refused now; undefined when it is accepted, with or without effect. Stopping is never
 * refused. The error names the operation as its parameter `operation`.
 */
export function refusePlaybackCommand(
  snapshot: PlaybackSnapshot,
  command: PlaybackCommand,
): Extract<AriErrorCode, 'playbackNotPlaying'> | undefined {
  if (command.type === 'stop') return undefined;
  return accepted[stateOf(snapshot)].includes(command.type) ? undefined : 'playbackNotPlaying';
}

/** Longest expected time in each state, and what ends it. */
export const playbackExpectations: Expectations<PlaybackSnapshot['value']> = {
  queued: { atMost: 60_000, waitsFor: 'the playbacks before it on its target' },
  paused: { atMost: 600_000, waitsFor: 'a client to resume it' },
};
