import type {
  PlayHandle,
  PlayReport,
  RecordAction,
  RecordHandle,
  RecordReport,
  SessionCommand,
} from '../telephony/media.ts';

/** Who is told what became of what was started, by number. */
class Started<Report> {
  readonly #told = new Map<number, (report: Report) => void>();
  #next = 1;

  /** Numbers one and keeps who is told. */
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

/** The items of one session or mix as the main thread knows them: who is to be told how each ended. */
export class Plays extends Started<PlayReport> {
  failAll(reason: string): void {
    this.endAll({ type: 'media.failed', reason });
  }
}

/** The recordings of one session or mix. */
export class Recordings extends Started<RecordReport> {
  override tell(number: number, report: RecordReport): void {
    if (report.type === 'record.started') super.tell(number, report);
    else this.end(number, report);
  }

  failAll(reason: string): void {
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
    if (recordings.has(recording)) ask({ type: 'controlRecording', recording, action });
  };
  return {
    stop: control('stop'),
    discard: control('discard'),
    pause: control('pause'),
    resume: control('resume'),
    mute: control('mute'),
    unmute: control('unmute'),
  };
}
