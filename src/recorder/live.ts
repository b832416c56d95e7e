import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Call, WaitingFor } from '../models/call.ts';
import type {
  LiveApplication,
  LiveApplicationEvents,
  LiveCall,
  LiveFigures,
  LiveMessage,
  LiveOverview,
} from '../models/live.ts';
import type { RefusedCall } from '../models/refused-call.ts';
import type { EventTimelineEntry, TimelineEntry } from '../models/timeline.ts';
import { type CallRecord, current } from './call-record.ts';
import type { Calls } from './calls.ts';
import { type EventEntry, readAll, type Told } from './entries.ts';
import { StepReader } from './kept-step.ts';
import type { Recorder } from './recorder.ts';
import { createTimelineWriter, type TimelineWriter } from './timeline.ts';

/** A subscriber's topic. */
export type LiveScope = { kind: 'overview' } | { kind: 'call'; id: string } | { kind: 'application'; name: string };

/** A subscriber's visibility. */
type LiveVisibility = {
  seesAll(applications: Iterable<string>): boolean;
  sees(kind: 'call', id: string): boolean | undefined;
};

/** Sends changes to watchers, a few times a second. */
export interface Live {
  /**
   * Sends the present state, then changes. With `visibility` the overview is filtered.
   * @returns a function that ends it.
   * @throws AriError callNotFound, applicationNotFound.
   */
  watch(scope: LiveScope, send: (json: string) => void, visibility?: LiveVisibility): () => void;
  /** @throws AriError callNotFound, applicationNotFound: as {@link watch} would. */
  require(scope: LiveScope): void;
  readonly watchers: number;
  close(): void;
}

type LiveOptions = {
  recorder: Recorder;
  calls: Calls;
  clock: Clock;
  log: Logger;
  /** All applications, in numbers. */
  applications: () => LiveApplication[];
  /** One of them. @throws AriError applicationNotFound. */
  application: (name: string) => LiveApplication;
  /** Stuck objects. */
  stuck: () => WaitingFor[];
  /** Inbound calls that were refused before they had a channel; left out: none. Only who sees everything sees them. */
  refused?: () => RefusedCall[];
  settings: () => LiveSettings;
};

/**
 * What a watcher is sent: bursts without a pause, and then so many a second. Beyond that it gets a sample, because nobody
 * reads more, and a browser would be busy with it.
 */
export type LiveSettings = {
  /** Most calls in one overview message. */
  readonly message_calls: number;
  readonly calls_burst: number;
  readonly calls_per_second: number;
  /** Most events in one message of an application. */
  readonly message_events: number;
  readonly events_burst: number;
  readonly events_per_second: number;
  /** Most stuck objects in one overview message. */
  readonly stuck: number;
};

/** The shortest time between two messages of one watcher, in ms. */
const liveIntervalMs = 250;

/** Counts what a watcher may still be sent: a burst, and so much more with each message. */
function createAllowance(settings: () => { burst: number; perSecond: number }) {
  let left = settings().burst;
  return {
    /** What may be in the next message. */
    next: (): number => {
      const { burst, perSecond } = settings();
      left = Math.min(burst, left + (perSecond * liveIntervalMs) / 1000);
      return Math.floor(left);
    },
    use: (count: number): void => void (left = Math.max(0, left - count)),
  };
}

/** Overview messages that are skipped while no call changes; other figures move on. */
const quietTicks = 3;

type Watcher = {
  /** The next message; undefined when there is nothing to tell. */
  next(): LiveMessage | undefined;
  hear(entry: Told | undefined, call: CallRecord | undefined): void;
  send(json: string): void;
};

/** Creates the live updates. Without subscribers it listens to nothing. */
type Watching = Omit<Watcher, 'send'>;

const placeOf = ({ clock, recorder }: LiveOptions) => ({ at: clock.now(), seq: recorder.order });

const figuresOf = (
  recorder: Recorder,
  all: readonly CallRecord[],
  { begun, live }: { begun: number; live: number },
): LiveFigures => ({
  live_calls: live,
  begun_calls: begun,
  kept_calls: all.length,
  evicted: recorder.evicted,
  recorded: recorder.order,
  octets: recorder.octets,
  recording: recorder.on,
});

/** Counts the calls that a user sees: `all` at first, then each that changes and was not counted yet. */
function createCount(all: readonly CallRecord[], mayShow: (call: CallRecord) => boolean) {
  const counted = new WeakSet(all);
  let count = all.length;
  return (changed: Iterable<CallRecord>): number => {
    for (const call of changed) {
      if (counted.has(call) || !mayShow(call)) continue;
      counted.add(call);
      count++;
    }
    return count;
  };
}

/** Changed calls, and what is stuck. @param allKept all calls that are kept. */
function watchOverview(
  options: LiveOptions,
  allKept: () => readonly CallRecord[],
  visibility: LiveVisibility | undefined,
): Watching {
  const { calls, recorder } = options;
  // Applications of a call are looked for, so only where somebody has to know them.
  const mayShow = (call: CallRecord): boolean => !visibility || visibility.seesAll(call.applications);
  const seen = (): readonly CallRecord[] => (visibility ? allKept().filter(mayShow) : allKept());
  const seesWaiting = ({ kind, call, object }: WaitingFor): boolean => {
    if (!visibility) return true;
    if (call !== undefined) return visibility.sees('call', call) === true;
    return kind === 'application' && visibility.seesAll([object]);
  };
  const shown = new Set<CallRecord>();
  const isThere = (call: CallRecord): boolean => !call.gone && current(call) === call && mayShow(call);
  const hasFailed = (call: CallRecord): boolean =>
    call.ended !== undefined && ['failed', 'refused'].includes(calls.outcome(call).result);
  /** Failures, then calls that are live, the newest first. Others are left out for good. */
  const sampled = (fresh: readonly CallRecord[]): CallRecord[] => [
    ...fresh.filter(hasFailed),
    ...fresh.filter(({ ended }) => ended === undefined).reverse(),
  ];
  const allowance = createAllowance(() => {
    const { calls_burst: burst, calls_per_second: perSecond } = options.settings();
    return { burst, perSecond };
  });
  /** Calls without an end. Of all that are kept, those that ended are known. */
  const liveOf = (kept: readonly CallRecord[]): number =>
    visibility ? kept.filter(({ ended }) => ended === undefined).length : kept.length - recorder.store.endedCalls.size;
  let quiet = 0;
  // The newest are sent directly, then all live ones.
  const all = seen().toReversed();
  const living = all.filter(({ ended }) => ended === undefined);
  const most = options.settings();
  let changed = new Set([...all.slice(0, most.message_calls), ...living].slice(0, most.calls_burst));
  const countBegun = visibility ? createCount(all, mayShow) : () => recorder.store.begun;
  /** The calls of the next message. Those that the watcher knows come first, so that it shows nothing out of date. */
  const choose = (): CallRecord[] => {
    const waiting = [...new Set([...changed].map(current))].filter(isThere);
    const known = waiting.filter((call) => shown.has(call));
    const fresh = waiting.filter((call) => !shown.has(call));
    const allowed = allowance.next();
    const inOrder = [...known, ...(allowed < waiting.length ? sampled(fresh) : fresh)];
    const most = Math.min(options.settings().message_calls, Math.max(known.length, allowed));
    const told = inOrder.slice(0, most);
    for (const call of told) shown.add(call);
    changed = new Set(inOrder.slice(most));
    allowance.use(told.length);
    return told;
  };
  return {
    hear: (_entry, call) => void (call && changed.add(call)),
    next(): LiveOverview | undefined {
      if (changed.size === 0 && quiet > 0) {
        quiet--;
        return undefined;
      }
      quiet = quietTicks;
      const removed: string[] = [];
      for (const call of shown) {
        if (isThere(call)) continue;
        shown.delete(call);
        removed.push(call.id);
      }
      const begun = countBegun(changed);
      const kept = seen();
      const told = choose().map(calls.model);
      const stuck = options.stuck().filter(seesWaiting);
      const mostStuck = options.settings().stuck;
      return {
        type: 'overview',
        ...placeOf(options),
        calls: told,
        removed,
        figures: figuresOf(recorder, kept, { begun, live: liveOf(kept) }),
        applications: options.applications().filter(({ name }) => visibility?.seesAll([name]) ?? true),
        stuck: stuck.slice(0, mostStuck),
        ...(stuck.length > mostStuck && { stuck_left_out: stuck.length - mostStuck }),
        ...(options.refused && !visibility && { refused: options.refused() }),
      };
    },
  };
}

/** One call and its timeline. @throws AriError as `Calls.record`. */
function watchCall(options: LiveOptions, id: string): Watching {
  const { recorder, calls, clock } = options;
  let record = calls.record(id);
  let { mask } = record;
  let writer: TimelineWriter = createTimelineWriter(mask);
  let reader = new StepReader();
  let whole = true;
  let dirty = true;
  let last = 0;
  let told = Number.POSITIVE_INFINITY;
  let shown: Call | undefined;
  let isLetGo = false;
  return {
    hear(_entry, call) {
      if (call && current(call) === current(record)) dirty = true;
    },
    next(): LiveCall | undefined {
      let now = current(record);
      if (now.gone) {
        const anew = recorder.on ? (recorder.store.find(id) ?? recorder.store.ofChannel(id)) : undefined;
        if (!anew) {
          if (isLetGo || !shown) return undefined;
          isLetGo = true;
          return { type: 'call', ...placeOf(options), call: shown, entries: [], let_go: clock.now() };
        }
        now = anew;
        dirty = true;
        isLetGo = false;
      }
      if (!dirty) return undefined;
      dirty = false;
      // Earlier entries may have been masked or dropped meanwhile.
      if (now !== record || now.mask !== mask || now.dropped > told) {
        record = now;
        ({ mask } = record);
        writer = createTimelineWriter(mask);
        reader = new StepReader();
        whole = true;
        last = 0;
      }
      const fresh = record.kept().filter(({ order }) => order > last);
      const entries: TimelineEntry[] = readAll(fresh, reader).map((entry) => writer.write(entry));
      last = recorder.order;
      told = record.dropped + record.size;
      shown = calls.model(record);
      const message: LiveCall = {
        type: 'call',
        ...placeOf(options),
        ...(whole ? { whole } : {}),
        call: shown,
        entries,
      };
      whole = false;
      return message;
    },
  };
}

/** One application and its events. @throws AriError as `LiveOptions.application`. */
function watchApplication(options: LiveOptions, name: string): Watching {
  const { recorder } = options;
  options.application(name);
  let waiting: EventEntry[] = recorder.events.last(name, options.settings().message_events);
  let skipped = 0;
  let dirty = true;
  const allowance = createAllowance(() => {
    const { events_burst: burst, events_per_second: perSecond } = options.settings();
    return { burst, perSecond };
  });
  const write = (entry: EventEntry): EventTimelineEntry => {
    const call = recorder.callOf(entry);
    return createTimelineWriter(call?.mask ?? recorder.settings.mask).write(entry) as EventTimelineEntry;
  };
  return {
    hear(entry) {
      if (entry?.kind !== 'event' || entry.application !== name) return;
      dirty = true;
      waiting.push(entry);
      if (waiting.length <= options.settings().message_events) return;
      waiting.shift();
      skipped++;
    },
    next(): LiveApplicationEvents | undefined {
      const allowed = allowance.next();
      if (!dirty) return undefined;
      if (waiting.length > allowed) {
        skipped += waiting.length - allowed;
        waiting = waiting.slice(-allowed);
      }
      allowance.use(waiting.length);
      const application = options.applications().find((each) => each.name === name);
      const events = waiting.map(write);
      const message = {
        type: 'application' as const,
        ...placeOf(options),
        application: application ?? { name, connected: false, state: 'gone', events: 0, missed: 0 },
        events,
        skipped,
      };
      waiting = [];
      skipped = 0;
      dirty = false;
      return message;
    },
  };
}

export function createLive(options: LiveOptions): Live {
  const { recorder, clock, log } = options;
  const watchers = new Set<Watcher>();
  let unlisten: (() => void) | undefined;
  let timer: unknown;

  /** All calls that are kept: looked for once a tick, however many watch. */
  let keptNow: readonly CallRecord[] | undefined;
  const allKept = (): readonly CallRecord[] => {
    keptNow ??= recorder.store.calls();
    return keptNow;
  };

  const watcherOf = (scope: LiveScope, visibility?: LiveVisibility): Watching => {
    if (scope.kind === 'overview') return watchOverview(options, allKept, visibility);
    return scope.kind === 'call' ? watchCall(options, scope.id) : watchApplication(options, scope.name);
  };

  const tell = (watcher: Watcher): void => {
    try {
      const message = watcher.next();
      if (message) watcher.send(JSON.stringify(message));
    } catch (error) {
      log.error({ error }, 'cannot update the live view');
    }
  };
  const tick = (): void => {
    timer = clock.setTimeout(tick, liveIntervalMs);
    for (const watcher of watchers) tell(watcher);
    keptNow = undefined;
  };
  const start = (): void => {
    unlisten = recorder.listen((entry, call) => {
      for (const watcher of watchers) watcher.hear(entry, call);
    });
    timer = clock.setTimeout(tick, liveIntervalMs);
  };
  const stop = (): void => {
    unlisten?.();
    unlisten = undefined;
    clock.clearTimeout(timer);
  };

  return {
    require: (scope) => void watcherOf(scope),
    watch(scope, send, visibility) {
      const watcher: Watcher = { ...watcherOf(scope, visibility), send };
      if (watchers.size === 0) start();
      watchers.add(watcher);
      tell(watcher);
      keptNow = undefined;
      return () => {
        if (watchers.delete(watcher) && watchers.size === 0) stop();
      };
    },
    get watchers() {
      return watchers.size;
    },
    close() {
      watchers.clear();
      stop();
    },
  };
}
