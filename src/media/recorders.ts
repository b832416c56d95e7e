import type { RecordAction, RecordReport, RecordRequest } from '../telephony/media.ts';
import type { End } from './end.ts';
import type { RecordingLimits } from './file/recording-writer.ts';
import type { Mixing } from './mix.ts';
import { Recorder, type RecordSource } from './recorder.ts';
import type { Tap } from './talk-tap.ts';

export type RecordersOptions = {
  /** What is driven by the tick: recorders come and go there. */
  taps: Set<Tap>;
  random32: () => number;
  /** How files are written. */
  limits: RecordingLimits;
};

/** What is to be recorded. */
export type RecordingOrder = {
  /** Its number, which is its owner's. */
  recording: number;
  source: RecordSource;
  request: RecordRequest;
  /** See {@link RecordProgress}. */
  progress?: SharedArrayBuffer | undefined;
  told: (report: RecordReport) => void;
};

/** All recordings under way in one thread, by what they record. */
export class Recorders {
  readonly #options: RecordersOptions;
  readonly #recorders = new Map<End | Mixing, Map<number, Recorder>>();
  /** How many recordings of each are not complete, and what waits for that. */
  readonly #unfinished = new Map<End | Mixing, { recordings: number; done: (() => void) | undefined }>();

  constructor(options: RecordersOptions) {
    this.#options = options;
  }

  record(owner: End | Mixing, { recording, source, request, progress, told }: RecordingOrder): void {
    const recorders = this.#recorders.get(owner) ?? new Map<number, Recorder>();
    this.#recorders.set(owner, recorders);
    owner.onDigit = (digit) => {
      for (const each of [...recorders.values()]) each.digit(digit);
    };
    const unfinished = this.#unfinished.get(owner) ?? { recordings: 0, done: undefined };
    this.#unfinished.set(owner, unfinished);
    unfinished.recordings++;
    const recorder = new Recorder({
      source,
      request,
      serial: this.#options.random32(),
      limits: this.#options.limits,
      ...(progress && { progress: new Float64Array(progress) }),
      told: (report) => {
        told(report);
        if (report.type === 'record.started' || --unfinished.recordings > 0) return;
        this.#unfinished.delete(owner);
        unfinished.done?.();
      },
      ended: () => {
        recorders.delete(recording);
        this.#options.taps.delete(recorder);
      },
    });
    recorders.set(recording, recorder);
    this.#options.taps.add(recorder);
  }

  control(owner: End | Mixing, recording: number, action: RecordAction): void {
    this.#recorders.get(owner)?.get(recording)?.control(action);
  }

  /** What is recorded of an end or a mix that is gone is complete. */
  end(owner: End | Mixing): void {
    for (const each of [...(this.#recorders.get(owner)?.values() ?? [])]) each.close();
    this.#recorders.delete(owner);
  }

  /** Calls back once nothing of it is being written any more: at once when that is so. */
  whenComplete(owner: End | Mixing, then: () => void): void {
    const unfinished = this.#unfinished.get(owner);
    if (unfinished) unfinished.done = then;
    else then();
  }
}
