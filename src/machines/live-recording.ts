import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import type { LiveRecording, RecordingState } from '../models/live-recording.ts';
import { extended, flag, number, object, optional, text } from '../models/plain-schema.ts';
import type { RecordReport } from '../telephony/media.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

const RecordingInput = object({
  /** Its id: the name that it will be stored by. */
  name: text,
  format: text,
  /** `channel:<id>` or `bridge:<id>`. */
  targetUri: text,
  /** Whether silence is looked for: only then is it told how much there was. */
  measuresSilence: flag,
});
type RecordingInput = Static<typeof RecordingInput>;

export const RecordingContext = extended(RecordingInput, {
  /** Lengths of the recording in ms, known at the end. */
  lengths: optional(object({ durationMs: number, talkingMs: number, silenceMs: number })),
  /** Why it failed. */
  reason: optional(text),
});
export type RecordingContext = Static<typeof RecordingContext>;

/** Commands of clients. */
export type RecordingCommand =
  | { type: 'stop' }
  /** Stops it and throws away what was recorded. */
  | { type: 'cancel' }
  | { type: 'pause' }
  | { type: 'unpause' }
  /** Records silence. */
  | { type: 'mute' }
  | { type: 'unmute' };

/** The commands by name. */
export const recordingCommands: readonly RecordingCommand['type'][] = [
  'stop',
  'cancel',
  'pause',
  'unpause',
  'mute',
  'unmute',
];

export type RecordingEvent =
  | RecordingCommand
  /** The queue of the target gives way to it. */
  | { type: 'turn' }
  /** The target is prepared. */
  | { type: 'target.ready' }
  /** The target cannot be recorded, for a reason that clients see. */
  | { type: 'target.refused'; reason: string }
  /** The channel or bridge has ended, or is about to. */
  | { type: 'target.gone' }
  | RecordReport;

export type RecordingFact = { type: 'RecordingStarted' } | { type: 'RecordingFinished' } | { type: 'RecordingFailed' };

const recording = setup({
  types: {
    input: {} as RecordingInput,
    context: {} as RecordingContext,
    events: {} as RecordingEvent,
    emitted: {} as RecordingFact,
    meta: {} as { ari: RecordingState },
  },
  actions: {
    /** Answers with `target.ready` or `target.refused`. */
    prepareTarget: effect('prepareTarget'),
    /** Answers with `record.started`, or a report that it came to nothing. */
    startRecorder: effect('startRecorder'),
    stopRecorder: effect('stopRecorder'),
    discardRecorder: effect('discardRecorder'),
    pauseRecorder: effect('pauseRecorder'),
    resumeRecorder: effect('resumeRecorder'),
    muteRecorder: effect('muteRecorder'),
    unmuteRecorder: effect('unmuteRecorder'),
    /** Deletes a file that was completed before the recorder got the cancellation. */
    deleteFile: effect('deleteFile'),
  },
});

const { assign, emit } = recording;

const keepLengths = assign(({ event }) => {
  if (event.type !== 'record.finished') return {};
  const { durationMs, talkingMs, silenceMs } = event;
  return { lengths: { durationMs, talkingMs, silenceMs } };
});
const keepReason = assign(({ event }) => ('reason' in event ? { reason: event.reason } : {}));
const started = emit({ type: 'RecordingStarted' });

/** Exits of all states in which the recorder runs. A recorder that stops by itself gives a reason. */
const ends = {
  'record.finished': { target: 'done', actions: keepLengths },
  'record.discarded': 'canceled',
  'record.failed': { target: 'failed', actions: keepReason },
  stop: { target: 'finishing', actions: 'stopRecorder' },
  cancel: { target: 'discarding', actions: 'discardRecorder' },
  'target.gone': { target: 'finishing', actions: 'stopRecorder' },
} as const;

/**
 * A recording of a channel or bridge. It waits for its turn on a channel, as playbacks do. The recorder gets the
 * command to start and reports it. A started recording ends with exactly one event: RecordingFinished (state `done`, or
 * `canceled` if discarded) or RecordingFailed.
 */
export const liveRecordingMachine = recording.createMachine({
  id: 'liveRecording',
  context: ({ input }) => ({ ...input }),
  initial: 'queued',
  states: {
    queued: {
      meta: { ari: 'queued' },
      on: {
        turn: 'preparing',
        // Nothing was recorded, so every end discards it.
        stop: 'canceled',
        cancel: 'canceled',
        'target.gone': 'dropped',
      },
    },
    /** Its target gets ready to be recorded; there is no recorder yet. */
    preparing: {
      meta: { ari: 'queued' },
      entry: 'prepareTarget',
      on: {
        'target.ready': 'starting',
        'target.refused': { target: 'failed', actions: keepReason },
        stop: 'canceled',
        cancel: 'canceled',
        'target.gone': 'canceled',
      },
    },
    /** The recorder is opening its file. */
    starting: {
      meta: { ari: 'queued' },
      entry: 'startRecorder',
      on: { ...ends, 'record.started': { target: 'recording', actions: started } },
    },
    recording: {
      meta: { ari: 'recording' },
      on: {
        ...ends,
        pause: { target: 'paused', actions: 'pauseRecorder' },
        mute: { target: 'muted', actions: 'muteRecorder' },
      },
    },
    /** Goes on with silence. */
    muted: {
      meta: { ari: 'recording' },
      on: {
        ...ends,
        pause: { target: 'pausedMuted', actions: 'pauseRecorder' },
        unmute: { target: 'recording', actions: 'unmuteRecorder' },
      },
    },
    paused: {
      meta: { ari: 'paused' },
      on: {
        ...ends,
        unpause: { target: 'recording', actions: 'resumeRecorder' },
        mute: { target: 'pausedMuted', actions: 'muteRecorder' },
      },
    },
    pausedMuted: {
      meta: { ari: 'paused' },
      on: {
        ...ends,
        unpause: { target: 'muted', actions: 'resumeRecorder' },
        unmute: { target: 'paused', actions: 'unmuteRecorder' },
      },
    },
    /** Asked to end; the file is being completed. */
    finishing: {
      meta: { ari: 'done' },
      on: {
        // It was asked to end before it had told that it began.
        'record.started': { actions: started },
        'record.finished': { target: 'done', actions: keepLengths },
        'record.discarded': 'canceled',
        'record.failed': { target: 'failed', actions: keepReason },
        cancel: { target: 'discarding', actions: 'discardRecorder' },
      },
    },
    /** Asked to throw everything away. */
    discarding: {
      meta: { ari: 'canceled' },
      on: {
        'record.started': { actions: started },
        'record.discarded': 'canceled',
        'record.finished': { target: 'canceled', actions: [keepLengths, 'deleteFile'] },
        // Nothing is kept either way.
        'record.failed': 'canceled',
      },
    },
    done: { type: 'final', meta: { ari: 'done' }, entry: emit({ type: 'RecordingFinished' }) },
    canceled: { type: 'final', meta: { ari: 'canceled' }, entry: emit({ type: 'RecordingFinished' }) },
    failed: { type: 'final', meta: { ari: 'failed' }, entry: emit({ type: 'RecordingFailed' }) },
    /** Its target ended while it waited: no event is published. */
    dropped: { type: 'final', meta: { ari: 'canceled' } },
  },
});

/** Ignored events, with reasons. */
export const liveRecordingIgnores: Ignores<typeof liveRecordingMachine> = [
  { events: ['turn'], why: 'it ran already' },
  { events: ['pause'], in: ['paused', 'pausedMuted'], why: 'it is paused' },
  { events: ['unpause'], in: ['recording', 'muted'], why: 'it is not paused' },
  { events: ['mute'], in: ['muted', 'pausedMuted'], why: 'it is muted' },
  { events: ['unmute'], in: ['recording', 'paused'], why: 'it is not muted' },
  { events: ['stop', 'target.gone'], in: ['finishing', 'discarding'], why: 'it is ending' },
  { events: ['cancel'], in: ['discarding'], why: 'nothing of it is kept' },
  {
    events: ['record.started', 'record.finished', 'record.discarded', 'record.failed'],
    in: ['queued', 'preparing'],
    why: 'there is no recorder yet',
  },
  { events: ['record.started'], in: ['recording', 'muted', 'paused', 'pausedMuted'], why: 'it was reported before' },
  {
    events: ['target.ready', 'target.refused'],
    in: ['queued', 'starting', 'recording', 'muted', 'paused', 'pausedMuted', 'finishing', 'discarding'],
    why: 'it is sent while the target is prepared',
  },
];

export type RecordingSnapshot = SnapshotFrom<typeof liveRecordingMachine>;

/** The public word of each state, read from the chart once. */
const publicStates = Object.fromEntries(
  Object.entries(liveRecordingMachine.states).map(([name, node]) => [name, (node.meta as { ari: RecordingState }).ari]),
) as Record<RecordingSnapshot['value'], RecordingState>;

const seconds = (ms: number): number => Math.floor(ms / 1000);

/** The recording as clients see it. Pure: the same snapshot always gives the same JSON. */
export function recordingModel({ value, context }: RecordingSnapshot): LiveRecording {
  const { name, format, targetUri, measuresSilence, lengths, reason } = context;
  const duration = lengths && seconds(lengths.durationMs);
  // Whole seconds that add up, as those of Asterisk do.
  const talking = lengths && Math.min(seconds(lengths.talkingMs), seconds(lengths.durationMs));
  return {
    name,
    format,
    target_uri: targetUri,
    state: publicStates[value],
    ...(duration === undefined ? {} : { duration }),
    ...(measuresSilence && duration !== undefined && talking !== undefined
      ? { talking_duration: talking, silence_duration: duration - talking }
      : {}),
    ...(value === 'failed' && reason !== undefined ? { cause: reason } : {}),
  };
}

/**
 * Why a command would be refused now; undefined when it is accepted, with or without effect. Ending is idempotent: what
 * is about to end may be ended again.
 */
export function refuseRecordingCommand(
  { value }: RecordingSnapshot,
  command: RecordingCommand,
): 'recordingNotInSession' | undefined {
  const ending = command.type === 'stop' || command.type === 'cancel';
  return accepting[value] === 'everything' || (ending && accepting[value] === 'its end')
    ? undefined
    : 'recordingNotInSession';
}

/** Commands that each state accepts. */
const accepting: Readonly<Record<RecordingSnapshot['value'], 'everything' | 'its end' | 'nothing'>> = {
  queued: 'its end',
  preparing: 'its end',
  starting: 'its end',
  recording: 'everything',
  muted: 'everything',
  paused: 'everything',
  pausedMuted: 'everything',
  finishing: 'its end',
  discarding: 'its end',
  done: 'nothing',
  canceled: 'nothing',
  failed: 'nothing',
  dropped: 'nothing',
};

/** Longest expected time in each state, and what ends it. */
export const recordingExpectations: Expectations<RecordingSnapshot['value']> = {
  queued: { atMost: 60_000, waitsFor: 'the recordings before it on its target' },
  preparing: { atMost: 5_000, waitsFor: 'its target to be ready for recording' },
  starting: { atMost: 5_000, waitsFor: 'the media thread to open its file' },
  finishing: { atMost: 10_000, waitsFor: 'the media thread to complete its file' },
  discarding: { atMost: 10_000, waitsFor: 'the media thread to remove its file' },
};
