import type { Bus } from '../bus/bus.ts';
import type { Topic } from '../bus/topics.ts';
import type { Ids } from '../lib/ids.ts';
import { createLineBudget } from '../lib/line-budget.ts';
import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  hasTurn,
  type PlaybackContext,
  type PlaybackFact,
  type PlaybackInput,
  type PlaybackSnapshot,
  playbackMachine,
  playbackModel,
  refusePlaybackCommand,
} from '../machines/playback.ts';
import type { TableWatch } from '../machines/table-run.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import { type Playback, type PlaybackOperation, playbackOperations } from '../models/playback.ts';
import type { MediaSession, Mix, PlayHandle, PlayReport } from '../telephony/media.ts';
import { allowedOnPlayback } from './allowed-operations.ts';
import type { PlaybackDump } from './dumps.ts';
import { type Bring, playBrought } from './late-item.ts';
import { MediaQueue, type QueuedWork } from './media-queue.ts';
import { Registry } from './registry.ts';
import { type Actor, type Beginning, type Runtime, spawn } from './spawn.ts';

type PlaybackActor = Actor<typeof playbackMachine>;

/** The target of a playback, made by the owner of the channel or bridge. The owner has already refused what it must. */
export type PlayTarget = {
  kind: 'channel' | 'bridge';
  id: string;
  /** Language for sounds where the request names none. */
  language: string;
  /** Topics of the playback's events. */
  topics: readonly Topic[];
  media: Pick<MediaSession, 'play'> & Partial<Pick<MediaSession, 'dump'> & Pick<Mix, 'positionMs'>>;
};

type PlayRequest = {
  /** Media URIs, played one after another. */
  media: readonly string[];
  lang?: string | undefined;
  /** Start position in the first item, in ms; 0 by default. */
  offsetms?: number | undefined;
  /** Step of forward and reverse, in ms; 0 means 3000. */
  skipms?: number | undefined;
  playbackId?: string | undefined;
};

/** A playback without events. */
type QuietPlayback = {
  /** As it is now; undefined once it is over. */
  dump(): PlaybackDump | undefined;
  /** Settles once, never rejects: `failed` when any item could not be played or the target went. */
  readonly done: Promise<'done' | 'failed'>;
  /** Ends the whole list; `done` follows. */
  stop(): void;
};

/** How a quiet playback is saved: by what it belongs to. */
type QuietlySaved = { from: PlaybackDump | undefined; changed(): void };

export interface Playbacks {
  /**
   * Queues media on a target and publishes events. An empty queue starts it synchronously.
   * @throws AriError skipNegative, offsetNegative, mediaRequired (none, or an empty item), playbackIdExists.
   */
  playOn(target: PlayTarget, request: PlayRequest): Playback;
  /**
   * The same queue, but no events and no object that clients could find: for the dialplan.
   * @param saved the playback of another process that this one goes on with, and who hears of what to save
   */
  playQuietly(target: PlayTarget, media: readonly string[], saved?: QuietlySaved): QuietPlayback;
  /** @throws AriError playbackNotFound, also as soon as it has finished. */
  get(id: string): Playback;
  /** The operations that it allows now, and reasons for the others. @throws AriError playbackNotFound. */
  possible(id: string): AllowedOperations;
  /**
   * Ends the whole list. A waiting playback publishes its end when its turn comes. @throws AriError playbackNotFound.
   */
  stop(id: string): void;
  /** @throws AriError playbackOperationMissing, playbackOperationInvalid, playbackNotFound, playbackNotPlaying. */
  control(id: string, request: { operation?: string | undefined }): void;
  /**
   * The target has ended. A running playback fails and publishes that before this returns; waiting ones disappear
   * without events. Call it for every target with playbacks, before its own last events.
   */
  targetGone(kind: PlayTarget['kind'], id: string): void;
  /** The queue of a target, for other work that needs the target for itself (recordings). */
  queueOf(target: { kind: PlayTarget['kind']; id: string }): MediaQueue;
  /** The last work in the target's queue; undefined for an empty queue. */
  lastOn(target: { kind: PlayTarget['kind']; id: string }): MediaQueue['last'];
  /** @throws AriError limitReached where as much waits on a target as may. */
  requireRoom(target: { kind: PlayTarget['kind']; id: string }): void;
  /** Targets with waiting works, and their number. */
  waiting(): { readonly kind: string; readonly id: string; readonly works: number }[];
  /** Whether a target has running or waiting playbacks. */
  isBusy(kind: PlayTarget['kind'], id: string): boolean;
  /** Every playback that clients know of, in the order of asking; the dialplan's begin again with its step. */
  dump(id?: string): PlaybackDump[];
  /** Restores playbacks. The current item starts again at `heardMs`. One whose target is not there is forgotten. */
  restore(
    dumps: readonly PlaybackDump[],
    targetOf: (kind: PlayTarget['kind'], id: string) => PlayTarget | undefined,
  ): void;
  /** Whether a playback is running or waiting. */
  has(id: string): boolean;
  /** Number of playbacks, also quiet ones, that run or wait: for tests and metrics. */
  readonly size: number;
}

const defaultSkipMs = 3_000;
/** Lines about items that could not be played, in so many ms: clients can cause them at will. */
const mostLines = 20;
const linesMs = 10_000;

/** The part of a playback outside its chart. */
type Running = {
  target: PlayTarget;
  /** The item being played. */
  handle?: PlayHandle;
  work: QueuedWork;
};

/** Receives the reports of an item. */
type Told = { send(report: PlayReport): void; getSnapshot(): { value: unknown } };

/** Hears of a quiet playback: its changes, and how it ended. */
type Quiet = { changed?: (() => void) | undefined; settle(outcome: 'done' | 'failed'): void };

const isOperation = (word: string): word is PlaybackOperation =>
  (playbackOperations as readonly string[]).includes(word);

type PlaybacksOptions = {
  bus: Bus;
  runtime: Runtime;
  ids: Ids;
  log: Logger;
  /** Limit of works on one target for requests of clients; left out: no limit. */
  queueLimit?: number | undefined;
  /** Sees the charts of queues; left out: nobody. */
  tables?: TableWatch | undefined;
  /** Brings recordings of other nodes; left out: there are none. */
  bring?: Bring | undefined;
};

/** The queues of all targets, as {@link Playbacks} describes them. */
function createQueues({
  queueLimit = Number.POSITIVE_INFINITY,
  tables,
}: Pick<PlaybacksOptions, 'queueLimit' | 'tables'>) {
  const queues = new SlotMap<string, MediaQueue>();
  return {
    queueOf({ kind, id }: Pick<PlayTarget, 'kind' | 'id'>): MediaQueue {
      const key = `${kind}:${id}`;
      const existing = queues.get(key);
      if (existing) return existing;
      const queue = new MediaQueue(() => queues.delete(key), { watch: tables, id, only: 'moves' });
      queues.set(key, queue);
      return queue;
    },
    requireRoom: ({ kind, id }: Pick<PlayTarget, 'kind' | 'id'>): void =>
      requireWithin('playbacks', (queues.get(`${kind}:${id}`)?.size ?? 0) + 1, queueLimit),
    targetGone: (kind: PlayTarget['kind'], id: string): void => queues.get(`${kind}:${id}`)?.close(),
    waiting: () =>
      [...queues].flatMap(([key, { size }]) => {
        const colon = key.indexOf(':');
        return size < 2 ? [] : [{ kind: key.slice(0, colon), id: key.slice(colon + 1), works: size - 1 }];
      }),
    lastOn: ({ kind, id }: Pick<PlayTarget, 'kind' | 'id'>): MediaQueue['last'] => queues.get(`${kind}:${id}`)?.last,
    isBusy: (kind: PlayTarget['kind'], id: string): boolean => queues.has(`${kind}:${id}`),
  };
}

/** The part of playbacks outside their charts. */
type Table = { registry: Registry<PlaybackActor>; running: SlotMap<string, Running> };

type StartItem = (
  context: PlaybackContext,
  index: number,
  from: { offsetMs: number; heardMs?: number },
  actor: Told,
) => void;

/** Plays single items on the target of a playback. */
function createStartItem({ runtime, log, bring }: PlaybacksOptions, { running }: Table): StartItem {
  const budget = createLineBudget(runtime.clock, mostLines, linesMs);
  return (context, index, from, actor) => {
    const entry = running.get(context.id);
    const uri = context.media[index];
    if (!entry || uri === undefined) return;
    const { kind, id } = entry.target;
    const told = (report: PlayReport): void => {
      // A failure because the target has ended is not an error.
      if (report.type === 'media.failed' && running.has(context.id))
        budget.write((untold) =>
          log.warn(
            { [kind]: id, playback: context.id, uri, reason: report.reason, ...(untold > 0 && { untold }) },
            'a media item could not be played',
          ),
        );
      actor.send(report);
    };
    const item = { uri, language: context.language, ...from };
    const brought = bring?.(uri);
    const { media } = entry.target;
    const state = (handle: PlayHandle) => {
      if (running.get(context.id)?.handle !== handle) return 'over';
      return actor.getSnapshot().value === 'paused' ? 'paused' : 'playing';
    };
    entry.handle = brought ? playBrought(brought, { item, media, told, state }) : media.play(item, told);
  };
}

type Begin = (id: string, target: PlayTarget, beginning: Beginning<PlaybackInput>, quiet?: Quiet) => PlaybackActor;

/** Starts the actors of playbacks, puts them into the queues of their targets, and publishes their facts. */
function createBegin(
  options: PlaybacksOptions,
  table: Table,
  parts: { startItem: StartItem; queueOf: Playbacks['queueOf'] },
): Begin {
  const { bus, runtime } = options;
  const { registry, running } = table;
  const { startItem, queueOf } = parts;

  const machine = onFirstUse(() =>
    playbackMachine.provide({
      actions: {
        startItem: ({ context, self }, { index, offsetMs }) => startItem(context, index, { offsetMs }, self),
        stopItem: ({ context }) => running.get(context.id)?.handle?.stop(),
        pauseItem: ({ context }) => running.get(context.id)?.handle?.pause(),
        resumeItem: ({ context }) => running.get(context.id)?.handle?.resume(),
        restartItem: ({ context }) => running.get(context.id)?.handle?.restart(),
        seekItem: ({ context }, { ms }) => running.get(context.id)?.handle?.seek(ms),
        // Other work cannot interrupt the items of a list, so the turn is given directly. A thousand items that fail
        // directly must not nest.
        requestTurn: ({ self }) => runtime.turn.afterwards(() => self.send({ type: 'turn' })),
      },
    }),
  );

  const publish = (topics: readonly Topic[], fact: PlaybackFact, snapshot: PlaybackSnapshot): void =>
    bus.publish({ event: { type: fact.type, playback: playbackModel(snapshot) }, topics });

  /** A crashed chart publishes nothing, but clients wait for the end of the playback. */
  const tellCrash = (target: PlayTarget, snapshot: PlaybackSnapshot, entry?: Running, heard?: boolean): void => {
    entry?.handle?.stop();
    if (!heard) return;
    const playback: Playback = { ...playbackModel(snapshot), state: 'failed' };
    bus.publish({ event: { type: 'PlaybackFinished', playback }, topics: target.topics });
  };

  return (id, target, beginning, quiet) => {
    const queue = queueOf(target);
    const actor: PlaybackActor = spawn(machine(), {
      id,
      ...beginning,
      runtime,
      onEmitted: (fact, snapshot) => {
        if (!quiet) publish(target.topics, fact, snapshot);
      },
      ...(quiet?.changed && { onChanged: quiet.changed }),
      onEnded: (error) => {
        const entry = running.get(id);
        running.delete(id);
        registry.remove(id);
        const snapshot = actor.getSnapshot();
        if (error) tellCrash(target, snapshot, entry, quiet === undefined);
        quiet?.settle(!error && snapshot.value === 'done' && snapshot.context.failed.length === 0 ? 'done' : 'failed');
        if (entry) queue.finished(entry.work);
      },
    });
    const work: QueuedWork = {
      kind: 'playback',
      id,
      begin: () => actor.send({ type: 'turn' }),
      abandon: () => actor.send({ type: 'target.gone' }),
    };
    running.set(id, { target, work });
    if (!quiet) registry.add(id, actor);
    queue.add(work, hasTurn(actor.getSnapshot()));
    return actor;
  };
}

/** Dump and restore of all playbacks. */
function createSaved({ registry, running }: Table, begin: Begin, startItem: StartItem) {
  const dumpOne = (actor: PlaybackActor): PlaybackDump | undefined => {
    const entry = running.get(actor.id);
    if (!entry) return undefined;
    const { target, handle } = entry;
    const own = actor.dump() as PlaybackDump['actor'];
    const { media } = target;
    const heardMs = handle && (media.dump ? media.dump().item?.positionMs : media.positionMs);
    return { actor: own, target: { kind: target.kind, id: target.id }, ...(heardMs === undefined ? {} : { heardMs }) };
  };

  const restoreOne = (target: PlayTarget, { actor: from, heardMs }: PlaybackDump, quiet?: Quiet): PlaybackActor => {
    const actor = begin(from.context.id, target, { from }, quiet);
    const { value, context } = actor.getSnapshot();
    if (value !== 'playing' && value !== 'paused') return actor;
    startItem(context, context.index, { offsetMs: 0, ...(heardMs === undefined ? {} : { heardMs }) }, actor);
    if (value === 'paused') running.get(context.id)?.handle?.pause();
    return actor;
  };

  return {
    dumpOne,
    restoreOne,

    dump: (id?: string): PlaybackDump[] => registry.those(id).flatMap((actor) => dumpOne(actor) ?? []),

    restore(
      dumps: readonly PlaybackDump[],
      targetOf: (kind: PlayTarget['kind'], id: string) => PlayTarget | undefined,
    ): void {
      for (const dump of dumps) {
        const target = targetOf(dump.target.kind, dump.target.id);
        if (target) restoreOne(target, dump);
      }
    },
  };
}

/** Owns every playback and the queue of every target that is played to. */
export function createPlaybacks(options: PlaybacksOptions): Playbacks {
  const { ids } = options;
  const table: Table = { registry: new Registry<PlaybackActor>('playbackNotFound'), running: new SlotMap() };
  const { registry, running } = table;
  const queues = createQueues(options);
  const startItem = createStartItem(options, table);
  const begin = createBegin(options, table, { startItem, queueOf: queues.queueOf });
  const { dumpOne, restoreOne, ...saved } = createSaved(table, begin, startItem);

  /** Starts the actor and puts it into the queue of its target. */
  const start = (id: string, target: PlayTarget, request: PlayRequest, quiet?: Quiet): PlaybackActor => {
    const input: PlaybackInput = {
      id,
      media: [...request.media],
      targetUri: `${target.kind}:${target.id}`,
      language: request.lang || target.language,
      offsetMs: request.offsetms ?? 0,
      skipMs: request.skipms || defaultSkipMs,
    };
    return begin(id, target, { input }, quiet);
  };

  return {
    playOn(target, request) {
      const { media, skipms = 0, offsetms = 0, playbackId } = request;
      if (skipms < 0) throw new AriError('skipNegative');
      if (offsetms < 0) throw new AriError('offsetNegative');
      if (media.length === 0 || media.includes('')) throw new AriError('mediaRequired');
      if (playbackId && registry.has(playbackId)) throw new AriError('playbackIdExists');
      queues.requireRoom(target);
      return playbackModel(start(playbackId || ids.uuid(), target, request).getSnapshot());
    },

    playQuietly(target, media, { from, changed } = { from: undefined, changed: () => undefined }) {
      let settle: Quiet['settle'] = () => undefined;
      const done = new Promise<'done' | 'failed'>((resolve) => {
        settle = resolve;
      });
      if (media.length === 0) {
        settle('done');
        return { done, stop: () => undefined, dump: () => undefined };
      }
      const quiet: Quiet = { changed, settle: (outcome) => settle(outcome) };
      const actor = from ? restoreOne(target, from, quiet) : start(ids.uuid(), target, { media }, quiet);
      return { done, stop: () => actor.send({ type: 'stop' }), dump: () => dumpOne(actor) };
    },

    get: (id) => playbackModel(registry.get(id).getSnapshot()),
    possible: (id) => allowedOnPlayback(registry.get(id).getSnapshot()),

    stop: (id) => registry.get(id).send({ type: 'stop' }),

    control(id, { operation }) {
      if (operation === undefined) throw new AriError('playbackOperationMissing');
      if (!isOperation(operation)) throw new AriError('playbackOperationInvalid', { operation });
      const actor = registry.get(id);
      const refusal = refusePlaybackCommand(actor.getSnapshot(), { type: operation });
      const allowed = () => allowedOnPlayback(actor.getSnapshot());
      if (refusal) throw new AriError(refusal, { operation }, { allowed });
      actor.send({ type: operation });
    },

    ...queues,
    ...saved,

    has: (id) => registry.has(id),
    get size() {
      return running.size;
    },
  };
}
