import type {
  PlayHandle,
  PlayReport,
  RecordAction,
  RecordHandle,
  RecordProgress,
  RecordReport,
  RecordRequest,
  SessionCommand,
} from '../telephony/media.ts';

/** Callbacks of started items, by number. */
class Started<Report> {
  readonly #told = new Map<number, (report: Report) => void>();
  #next = 1;

  /** Registers a callback under a new number. */
  add(told: (report: Report) => void): number {
    const number = this.#next++;
    this.#told.set(number, told);
    return number;
  }

  has(number: number): boolean {
    return this.#told.has(number);
  }

  /** Whether any has not ended. */
  get underWay(): boolean {
    return this.#told.size > 0;
  }

  /** Passes a report on. */
  tell(number: number, report: Report): void {
    this.#told.get(number)?.(report);
  }

  /** Passes the last report on. */
  end(number: number, report: Report): void {
    const told = this.#told.get(number);
    this.#told.delete(number);
    told?.(report);
  }

  /** Tells all that are left: in a later turn, never from inside a call of theirs. */
  protected endAll(report: Report): void {
    const left = [...this.#told.values()];
    this.#told.clear();
    if (left.length > 0)
      queueMicrotask(() => {
        for (const told of left) told(report);
      });
  }
}

/** The items of one session or mix on the main thread, with their callbacks. */
export class Plays extends Started<PlayReport> {
  failAll(reason: string): void {
    this.endAll({ type: 'media.failed', reason });
  }
}

type RecordOrder = Extract<SessionCommand, { type: 'record' }>;
type RecordControl = Extract<SessionCommand, { type: 'controlRecording' }>;

/** Data to continue a recording elsewhere. */
type Recorded = { request: RecordRequest; progress: Float64Array; started: boolean; holds: Set<RecordAction> };

/** Actions that cancel each other. */
const undoes: Partial<Record<RecordAction, RecordAction>> = { resume: 'pause', unmute: 'mute' };

/** The recordings of one session or mix. */
export class Recordings extends Started<RecordReport> {
  readonly #recorded = new Map<number, Recorded>();

  /** The command that starts a registered recording. */
  order(recording: number, request: RecordRequest): RecordOrder {
    const memory = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT);
    const progress = new Float64Array(memory);
    progress.set([request.goOn?.durationMs ?? 0, request.goOn?.talkingMs ?? 0]);
    this.#recorded.set(recording, { request, progress, started: false, holds: new Set() });
    return { type: 'record', recording, request, progress: memory };
  }

  /** Remembers the commands to one, for the next thread. */
  done(recording: number, action: RecordAction): void {
    const holds = this.#recorded.get(recording)?.holds;
    const undone = undoes[action];
    if (undone) holds?.delete(undone);
    else holds?.add(action);
  }

  progressOf(recording: number): RecordProgress {
    const [durationMs = 0, talkingMs = 0] = this.#recorded.get(recording)?.progress ?? [];
    return { durationMs, talkingMs };
  }

  /** Commands to continue all running recordings in another thread. */
  again(): (RecordOrder | RecordControl)[] {
    return [...this.#recorded].flatMap(([recording, recorded]) => {
      const { request, progress, started, holds } = recorded;
      const memory = progress.buffer as SharedArrayBuffer;
      const wanted = { ...request, beep: request.beep && !started, goOn: this.progressOf(recording) };
      return [
        { type: 'record' as const, recording, request: wanted, progress: memory },
        ...[...holds].map((action) => ({ type: 'controlRecording' as const, recording, action })),
      ];
    });
  }

  override tell(number: number, report: RecordReport): void {
    if (report.type !== 'record.started') {
      this.#recorded.delete(number);
      this.end(number, report);
      return;
    }
    const recorded = this.#recorded.get(number);
    if (recorded?.started) return;
    if (recorded) recorded.started = true;
    super.tell(number, report);
  }

  failAll(reason: string): void {
    this.#recorded.clear();
    this.endAll({ type: 'record.failed', reason });
  }
}

/** Controls an item by commands; does nothing once it has ended. */
export function playHandle(
  plays: Plays,
  play: number,
  ask: (command: Extract<SessionCommand, { type: 'control' | 'seek' }>) => void,
): PlayHandle {
  const control = (action: 'stop' | 'pause' | 'resume' | 'restart') => () => {
    if (plays.has(play)) ask({ type: 'control', play, action });
  };
  return {
    stop: control('stop'),
    pause: control('pause'),
    resume: control('resume'),
    restart: control('restart'),
    seek: (ms) => {
      if (plays.has(play)) ask({ type: 'seek', play, ms });
    },
  };
}

/** Controls a recording by commands; does nothing once it has ended. */
export function recordHandle(
  recordings: Recordings,
  recording: number,
  ask: (command: Extract<SessionCommand, { type: 'controlRecording' }>) => void,
): RecordHandle {
  const control = (action: RecordAction) => () => {
    if (!recordings.has(recording)) return;
    recordings.done(recording, action);
    ask({ type: 'controlRecording', recording, action });
  };
  return {
    stop: control('stop'),
    discard: control('discard'),
    pause: control('pause'),
    resume: control('resume'),
    mute: control('mute'),
    unmute: control('unmute'),
    progress: () => recordings.progressOf(recording),
  };
}
