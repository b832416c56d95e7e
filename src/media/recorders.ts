import type { RecordReport, SessionCommand } from '../telephony/media.ts';
import type { MediaConfig } from './config.ts';
import { End } from './end.ts';
import type { OpenFiles } from './file/open-files.ts';
import type { Mixing } from './mix.ts';
import type { EngineReport } from './protocol.ts';
import { Recorder, sourceOfEnd, sourceOfMix } from './recorder.ts';
import type { Tap } from './talk-tap.ts';

export type RecordersOptions = {
  /** Receivers at each tick: recorders are added and removed here. */
  taps: Set<Tap>;
  random32: () => number;
  /** How files are written, and the language of what is heard first. */
  config: Pick<MediaConfig, 'recording' | 'defaultLanguage'>;
  /** Registry of open files. */
  files?: OpenFiles | undefined;
  report: (report: EngineReport) => void;
};

/** Recording commands of sessions and mixes. */
type RecordingCommand = Extract<SessionCommand, { type: 'record' | 'controlRecording' }>;

/** All recordings under way in one thread, by what they record. */
export class Recorders {
  readonly #options: RecordersOptions;
  readonly #recorders = new Map<End | Mixing, Map<number, Recorder>>();
  /** Incomplete recordings of each, and callbacks for their end. */
  readonly #unfinished = new Map<End | Mixing, { recordings: number; done: (() => void) | undefined }>();

  constructor(options: RecordersOptions) {
    this.#options = options;
  }

  /** Begins a recording, or does something to one. */
  apply(owner: End | Mixing, command: RecordingCommand): void {
    if (command.type === 'record') this.#record(owner, command);
    else this.#recorders.get(owner)?.get(command.recording)?.control(command.action);
  }

  #record(owner: End | Mixing, { recording, request, progress }: RecordingCommand & { type: 'record' }): void {
    const recorders = this.#recorders.get(owner) ?? new Map<number, Recorder>();
    this.#recorders.set(owner, recorders);
    owner.onDigit = (digit) => {
      for (const each of [...recorders.values()]) each.digit(digit);
    };
    const unfinished = this.#unfinished.get(owner) ?? { recordings: 0, done: undefined };
    this.#unfinished.set(owner, unfinished);
    unfinished.recordings++;
    const { recording: limits, defaultLanguage: language } = this.#options.config;
    const recorder = new Recorder({
      source: owner instanceof End ? sourceOfEnd(owner, request.channels, language) : sourceOfMix(owner, language),
      request,
      serial: this.#options.random32(),
      limits,
      files: this.#options.files,
      ...(progress && { progress: new Float64Array(progress) }),
      told: (report) => {
        this.#tell(owner, recording, report);
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

  /** Completes the recordings of an ended end or mix. */
  end(owner: End | Mixing): void {
    for (const each of [...(this.#recorders.get(owner)?.values() ?? [])]) each.close();
    this.#recorders.delete(owner);
  }

  /** Writes what all have recorded: this thread is about to be stopped, and another process goes on. */
  flushNow(): void {
    for (const each of this.#recorders.values()) for (const recorder of each.values()) recorder.flushNow();
  }

  /** Calls back once all of its recordings are written. */
  whenComplete(owner: End | Mixing, then: () => void): void {
    const unfinished = this.#unfinished.get(owner);
    if (unfinished) unfinished.done = then;
    else then();
  }

  #tell(owner: End | Mixing, recording: number, report: RecordReport): void {
    if (owner instanceof End) this.#options.report({ type: 'recorded', session: owner.session, recording, report });
    else this.#options.report({ type: 'mixRecorded', mix: owner.mix, recording, report });
  }
}
