import type { Bus } from '../bus/bus.ts';
import type { Topic } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  liveRecordingMachine,
  type RecordingCommand,
  type RecordingFact,
  type RecordingSnapshot,
  recordingModel,
  refuseRecordingCommand,
} from '../machines/live-recording.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import { AriError } from '../models/errors.ts';
import type { LiveRecording } from '../models/live-recording.ts';
import type { StoredRecordings } from '../stores/stored-recordings.ts';
import type { AudioWatch, RecordHandle, RecordReport } from '../telephony/media.ts';
import { allowedOnRecording } from './allowed-operations.ts';
import type { RecordingDump } from './dumps.ts';
import type { MediaQueue, QueuedWork } from './media-queue.ts';
import type { RecordingPlan } from './recording-requests.ts';
import { Registry } from './registry.ts';
import { type Actor, type Runtime, spawn } from './spawn.ts';

type RecordingActor = Actor<typeof liveRecordingMachine>;

/**
 * The target of a recording, made by the owner of the channel or bridge. The owner has already refused what it must.
 */
export type RecordTarget = {
  kind: 'channel' | 'bridge';
  id: string;
  /** Topics of the recording's events. */
  topics: readonly Topic[];
  media: Pick<AudioWatch, 'record'>;
  /** The queue to wait in; left out: the recording starts without waiting. */
  queue?: MediaQueue;
  /** Prepares the target when the recording's turn has come. Undefined on success, else the error text for clients. */
  prepare?(): undefined | Promise<string | undefined>;
};

export interface Recordings {
  /**
   * Begins a recording, or queues it on its target.
   * @throws AriError recordingNameInvalid, recordingExists (a stored one, unless the plan says what to do; one under way
   *   always), tooManyRecordings.
   */
  recordOn(target: RecordTarget, plan: RecordingPlan): LiveRecording;
  /** @throws AriError recordingNotFound, also as soon as it is over. */
  get(name: string): LiveRecording;
  /** The operations that it allows now, and reasons for the others. @throws AriError recordingNotFound. */
  possible(name: string): AllowedOperations;
  /** @throws AriError recordingNotFound, recordingNotInSession. */
  command(name: string, command: RecordingCommand): void;
  /**
   * The target is about to end: completes its recordings, and drops waiting ones without an event. Told after the
   * target's queue was closed, before its media are.
   */
  targetGone(kind: RecordTarget['kind'], id: string): void;
  /** Calls back once no recording of a target runs or waits. */
  whenSettled(kind: RecordTarget['kind'], id: string, then: () => void): void;
  /** Number of a target's running recordings, without waiting ones. */
  running(kind: RecordTarget['kind'], id: string): number;
  /** Their names. */
  names(kind: RecordTarget['kind'], id: string): string[];
  /** All recordings, also waiting ones. */
  dump(name?: string): RecordingDump[];
  /** Takes recordings up again: they go on in their files. One whose target is not there is forgotten. */
  restore(
    dumps: readonly RecordingDump[],
    targetOf: (kind: RecordTarget['kind'], id: string) => RecordTarget | undefined,
  ): void;
  /** Whether there is a live recording of that name. */
  has(name: string): boolean;
  /** Number of running and waiting recordings: for tests and metrics. */
  readonly size: number;
}

/** The part of a recording outside its chart. */
type Entry = {
  actor: RecordingActor;
  target: RecordTarget;
  plan: RecordingPlan;
  path: string;
  handle: RecordHandle | undefined;
};

type RecordingsOptions = {
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  stored: Pick<StoredRecordings, 'has' | 'placeFor' | 'discard'>;
  /** Most recordings at a time, waiting ones included. */
  most: number;
  /** `asterisk`: a name in use is 409, as in Asterisk. */
  /** Hears when a recording has begun. */
  onStarted?: (target: Pick<RecordTarget, 'kind' | 'id'>, name: string) => void;
};

const keyOf = ({ kind, id }: Pick<RecordTarget, 'kind' | 'id'>): string => `${kind}:${id}`;

/** Recordings by target, and callbacks for their end. */
class TargetRecordings {
  readonly #byTarget = new SlotMap<string, { entries: Set<Entry>; settled: (() => void)[] }>();

  add(entry: Entry): void {
    const key = keyOf(entry.target);
    const others = this.#byTarget.get(key) ?? { entries: new Set(), settled: [] };
    others.entries.add(entry);
    this.#byTarget.set(key, others);
  }

  over(entry: Entry): void {
    const key = keyOf(entry.target);
    const others = this.#byTarget.get(key);
    others?.entries.delete(entry);
    if (others?.entries.size !== 0) return;
    this.#byTarget.delete(key);
    for (const told of others.settled) told();
  }

  /** All recordings of a target, also waiting ones. */
  of(kind: RecordTarget['kind'], id: string): Entry[] {
    return [...(this.#byTarget.get(keyOf({ kind, id }))?.entries ?? [])];
  }

  begunOf(kind: RecordTarget['kind'], id: string): Entry[] {
    return this.of(kind, id).filter(({ actor }) => actor.getSnapshot().value !== 'queued');
  }

  whenSettled(kind: RecordTarget['kind'], id: string, then: () => void): void {
    const others = this.#byTarget.get(keyOf({ kind, id }));
    if (others) others.settled.push(then);
    else then();
  }
}

/** Effects of the recording chart that need its target. */
function createTargetEffects({ log }: RecordingsOptions, registry: Registry<Entry>) {
  const record = (name: string): void => {
    const entry = registry.find(name);
    if (!entry) return;
    const { actor, target, plan, path } = entry;
    const told = (report: RecordReport): void => {
      if (report.type === 'record.failed')
        log.warn({ [target.kind]: target.id, recording: name, reason: report.reason }, 'cannot create a recording');
      actor.send(report);
    };
    const { name: _, ...how } = plan;
    entry.handle = target.media.record({ ...how, path }, told);
  };

  const prepare = (name: string): void => {
    const entry = registry.find(name);
    if (!entry) return;
    const prepared = entry.target.prepare?.();
    if (prepared === undefined) {
      entry.actor.send({ type: 'target.ready' });
      return;
    }
    void prepared.then((reason) => {
      if (registry.find(name) !== entry) return;
      entry.actor.send(reason === undefined ? { type: 'target.ready' } : { type: 'target.refused', reason });
    });
  };

  return { record, prepare };
}

type Parts = {
  options: RecordingsOptions;
  registry: Registry<Entry>;
  targets: TargetRecordings;
  effects: ReturnType<typeof createTargetEffects>;
};

/** Binds the effects of the recording chart. */
function bindEffects({ options: { stored }, registry, effects: { prepare, record } }: Parts) {
  return liveRecordingMachine.provide({
    actions: {
      prepareTarget: ({ context }) => prepare(context.name),
      startRecorder: ({ context }) => record(context.name),
      stopRecorder: ({ context }) => registry.find(context.name)?.handle?.stop(),
      discardRecorder: ({ context }) => registry.find(context.name)?.handle?.discard(),
      pauseRecorder: ({ context }) => registry.find(context.name)?.handle?.pause(),
      resumeRecorder: ({ context }) => registry.find(context.name)?.handle?.resume(),
      muteRecorder: ({ context }) => registry.find(context.name)?.handle?.mute(),
      unmuteRecorder: ({ context }) => registry.find(context.name)?.handle?.unmute(),
      deleteFile: ({ context }) => {
        const entry = registry.find(context.name);
        if (entry) void stored.discard(entry.path);
      },
    },
  });
}

type Start = (target: RecordTarget, plan: RecordingPlan, path: string, from?: RecordingDump['actor']) => Entry;

/** Starts the actors of recordings, puts them into the queues of their targets, and publishes their facts. */
function createStart(parts: Parts): Start {
  const { options, registry, targets } = parts;
  const { bus, runtime, onStarted } = options;
  const machine = onFirstUse(() => bindEffects(parts));

  const publish = (topics: readonly Topic[], { type }: RecordingFact, snapshot: RecordingSnapshot): void => {
    const recording = recordingModel(snapshot);
    // The event says that recording began, even if its end has been requested meanwhile.
    if (type === 'RecordingStarted') recording.state = 'recording';
    bus.publish({ event: { type, recording }, topics });
  };

  /** A crashed chart publishes nothing, but clients wait for the end of the recording. */
  const tellCrash = ({ actor, target, handle }: Entry): void => {
    handle?.stop();
    const recording: LiveRecording = {
      ...recordingModel(actor.getSnapshot()),
      state: 'failed',
      cause: 'Internal error',
    };
    bus.publish({ event: { type: 'RecordingFailed', recording }, topics: target.topics });
  };

  return (target, plan, path, from) => {
    const { name, format, maxSilenceMs } = plan;
    const input = { name, format, targetUri: keyOf(target), measuresSilence: maxSilenceMs > 0 };
    const entry: Entry = { actor: undefined as never, target, plan, path, handle: undefined };
    const work: QueuedWork = {
      kind: 'recording',
      id: name,
      begin: () => entry.actor.send({ type: 'turn' }),
      abandon: () => entry.actor.send({ type: 'target.gone' }),
    };
    spawn(machine(), {
      id: name,
      ...(from ? { from } : { input }),
      runtime,
      onCreated: (actor) => {
        entry.actor = actor;
        registry.add(name, entry);
        targets.add(entry);
      },
      onEmitted: (fact, snapshot) => {
        publish(target.topics, fact, snapshot);
        if (fact.type === 'RecordingStarted') onStarted?.(target, name);
      },
      onEnded: (error) => {
        registry.remove(name);
        if (error !== undefined) tellCrash(entry);
        target.queue?.finished(work);
        targets.over(entry);
      },
    });
    const begun = from !== undefined && from.value !== 'queued';
    if (target.queue) target.queue.add(work, begun);
    else if (!begun) entry.actor.send({ type: 'turn' });
    return entry;
  };
}

/** Dump and restore of all recordings. */
function createSaved({ options: { stored }, registry, effects }: Parts, start: Start) {
  return {
    dump: (name?: string): RecordingDump[] =>
      registry.those(name).map(({ actor, target, plan, handle }) => {
        const { goOn: _before, ...how } = plan;
        return {
          actor: actor.dump() as RecordingDump['actor'],
          target: { kind: target.kind, id: target.id },
          plan: how,
          ...(hasFile(actor.getSnapshot()) && { begun: handle?.progress() ?? { durationMs: 0, talkingMs: 0 } }),
        };
      }),

    restore(
      dumps: readonly RecordingDump[],
      targetOf: (kind: RecordTarget['kind'], id: string) => RecordTarget | undefined,
    ): void {
      for (const { actor: from, target: named, plan, begun } of dumps) {
        const target = targetOf(named.kind, named.id);
        if (!target) continue;
        const path = stored.placeFor(plan.name, plan.format);
        // Who began to record has heard the beep.
        const beep = plan.beep && (from.value === 'queued' || from.value === 'preparing' || from.value === 'starting');
        const entry = start(target, { ...plan, beep, ...(begun && { goOn: begun }) }, path, from);
        const { value } = entry.actor.getSnapshot();
        if (value === 'preparing') effects.prepare(plan.name);
        if (!begun) continue;
        effects.record(plan.name);
        for (const action of underWay[value] ?? []) entry.handle?.[action]();
      }
    },
  };
}

/** Owns every live recording, found by the name it will be stored by. */
export function createRecordings(options: RecordingsOptions): Recordings {
  const { stored, most } = options;
  const registry = new Registry<Entry>('recordingNotFound');
  const targets = new TargetRecordings();
  const parts: Parts = { options, registry, targets, effects: createTargetEffects(options, registry) };
  const start = createStart(parts);

  return {
    recordOn(target, plan) {
      const path = stored.placeFor(plan.name, plan.format);
      if (registry.has(plan.name) || (plan.ifExists === 'fail' && stored.has(plan.name)))
        throw new AriError('recordingExists', { name: plan.name });
      if (registry.size >= most) throw new AriError('tooManyRecordings', { recordings: String(most) });
      return recordingModel(start(target, plan, path).actor.getSnapshot());
    },

    get: (name) => recordingModel(registry.get(name).actor.getSnapshot()),
    possible: (name) => allowedOnRecording(registry.get(name).actor.getSnapshot()),

    command(name, command) {
      const { actor } = registry.get(name);
      const refusal = refuseRecordingCommand(actor.getSnapshot(), command);
      if (refusal) throw new AriError(refusal, {}, { allowed: () => allowedOnRecording(actor.getSnapshot()) });
      actor.send(command);
    },

    targetGone(kind, id) {
      for (const { actor } of targets.of(kind, id)) actor.send({ type: 'target.gone' });
    },
    whenSettled: (kind, id, then) => targets.whenSettled(kind, id, then),
    running: (kind, id) => targets.begunOf(kind, id).length,
    names: (kind, id) => targets.begunOf(kind, id).map(({ plan }) => plan.name),
    ...createSaved(parts, start),

    has: (name) => registry.has(name),
    get size() {
      return registry.size;
    },
  };
}

/** Whether the recorder has been told to open its file. */
const hasFile = ({ value }: RecordingSnapshot): boolean => value !== 'queued' && value !== 'preparing';

/** Commands that a recorder in this state has already had. */
const underWay: Partial<Record<RecordingSnapshot['value'], readonly ('pause' | 'mute' | 'stop' | 'discard')[]>> = {
  paused: ['pause'],
  muted: ['mute'],
  pausedMuted: ['pause', 'mute'],
  finishing: ['stop'],
  discarding: ['discard'],
};
