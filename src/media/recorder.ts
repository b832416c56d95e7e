import type { RecordAction, RecordProgress, RecordReport, RecordRequest } from '../telephony/media.ts';
import { TalkDetector } from './dsp/talk-detector.ts';
import type { End } from './end.ts';
import type { OpenFiles } from './file/open-files.ts';
import {
  defaultRecordingLimits,
  openRecording,
  RecordingError,
  type RecordingLimits,
  type RecordingWriter,
} from './file/recording-writer.ts';
import { type Frame, frameSamples } from './frame.ts';
import type { Mixing } from './mix.ts';
import { RateChanger } from './rate-changer.ts';
import type { Tap } from './talk-tap.ts';
import { tickMs } from './ticker.ts';

/** A recordable object: a session's sides, or a mix. */
interface RecordSource {
  /** Audio of the first and second track in this tick; undefined: silence. */
  readonly tracks: readonly [Frame | undefined, Frame | undefined];
  /** Requests frames; false ends that. */
  listen(on: boolean): void;
  /** Plays a beep to the recorded party; `done` is called at its end. */
  beep(done: () => void): void;
}

/** The audio of a session's far side, and with two tracks the audio that it hears. */
export function sourceOfEnd(end: End, channels: 1 | 2, language: string): RecordSource {
  return {
    get tracks() {
      return [end.heardAlone, channels === 2 ? end.saidAlone : undefined] as const;
    },
    listen(on) {
      if (on) end.listen();
      else end.unlisten();
      if (channels === 1) return;
      if (on) end.overhear();
      else end.unoverhear();
    },
    beep: (done) => end.beep(beepId, { uri: 'sound:beep', language, offsetMs: 0 }, done),
  };
}

/** The sum of a mix. */
export function sourceOfMix(mix: Mixing, language: string): RecordSource {
  return {
    get tracks() {
      return [mix.said, undefined] as const;
    },
    listen: (on) => (on ? mix.listen() : mix.unlisten()),
    beep: (done) => mix.beep(beepId, { uri: 'sound:beep', language, offsetMs: 0 }, done),
  };
}

type EndReason = Extract<RecordReport, { type: 'record.finished' }>['reason'];

/** No other item has this number. */
const beepId = -1;
/** Mean amplitude above silence in a recording, and the quiet time before silence begins, in ms. */
const talking = { thresholdLevel: 256, silenceMs: 200 };

type RecorderOptions = {
  source: RecordSource;
  request: RecordRequest;
  /** 32 random bits. */
  serial: number;
  /** How its file is written, where that is configured. */
  limits?: RecordingLimits;
  files?: OpenFiles | undefined;
  /** Progress of the file: durationMs, talkingMs. */
  progress?: Float64Array;
  told: (report: RecordReport) => void;
  /** Hears once that nothing more is recorded. */
  ended: () => void;
};

/**
 * One recording: opening, perhaps with a beep, then recording, paused or muted, then ended once. Its reports are at most
 * one `record.started`, when its file is open and before the beep, and exactly one other.
 */
export class Recorder implements Tap {
  readonly #options: RecorderOptions;
  readonly #detector = new TalkDetector(talking);
  #writer: RecordingWriter | undefined;
  #left = new RateChanger(8000);
  #right = new RateChanger(8000);
  #silence = new Int16Array(0);
  #state: 'opening' | 'recording' | 'ended' = 'opening';
  #paused = false;
  #muted = false;
  /** How far it was before it was gone on with. */
  readonly #before: RecordProgress;
  #durationMs = 0;
  #talkingMs = 0;
  #reason: EndReason | undefined;
  #failed = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { request, serial, files } = options;
    const { goOn, ...wanted } = request;
    this.#before = goOn ?? { durationMs: 0, talkingMs: 0 };
    this.#durationMs = this.#before.durationMs;
    this.#talkingMs = this.#before.talkingMs;
    this.#keep(0);
    options.source.listen(true);
    const limits = options.limits ?? defaultRecordingLimits;
    // A recording without audio may have no file yet.
    const begun = goOn && (goOn.durationMs > 0 ? 'surely' : 'perhaps');
    const written = (ms: number) => this.#keep(ms);
    openRecording({ ...limits, ...wanted, serial, files, goOn: begun, written }, (error) => this.#fail(error)).then(
      (writer) => this.#opened(writer),
      (error: unknown) => (isComplete(error) ? this.#wasComplete() : this.#fail(error)),
    );
  }

  tick(): void {
    const writer = this.#writer;
    if (!writer || this.#state !== 'recording' || this.#paused) return;
    const [first, second] = this.#options.source.tracks;
    const left = this.#samples(this.#muted ? undefined : first, this.#left);
    const { request } = this.#options;
    writer.write(
      left,
      request.channels === 2 ? this.#samples(this.#muted ? undefined : second, this.#right) : undefined,
    );
    this.#detector.take(left, tickMs);
    this.#durationMs += tickMs;
    if (this.#detector.talking) this.#talkingMs += tickMs;
    if (request.maxDurationMs > 0 && this.#durationMs >= request.maxDurationMs) this.#finish('duration');
    else if (request.maxSilenceMs > 0 && this.#detector.quietMs >= request.maxSilenceMs) this.#finish('silence');
  }

  /** The far side pressed a digit. */
  digit(digit: string): void {
    const { terminateOn } = this.#options.request;
    if (terminateOn === 'any' || terminateOn === digit) this.#finish('digit');
  }

  control(action: RecordAction): void {
    switch (action) {
      case 'stop':
        this.#finish('stopped');
        return;
      case 'discard':
        this.#discard();
        return;
      case 'pause':
        this.#paused = true;
        this.#writer?.flush();
        return;
      case 'resume':
        this.#paused = false;
        return;
      case 'mute':
        this.#muted = true;
        return;
      case 'unmute':
        this.#muted = false;
        return;
    }
  }

  close(): void {
    this.#finish('sourceGone');
  }

  /** Writes what it has recorded: its thread is about to be stopped. */
  flushNow(): void {
    this.#writer?.flushNow();
  }

  #opened(writer: RecordingWriter): void {
    this.#writer = writer;
    const { source, request, told } = this.#options;
    const ended = this.#state === 'ended';
    // A recording that ends before its file is open still reports its start; a continued one has reported it before.
    if (!ended || (this.#reason !== undefined && !request.goOn)) told({ type: 'record.started' });
    if (ended) {
      this.#close(writer);
      return;
    }
    this.#left = new RateChanger(writer.sampleRate);
    this.#right = new RateChanger(writer.sampleRate);
    this.#silence = new Int16Array(frameSamples(writer.sampleRate));
    if (request.beep && this.#before.durationMs === 0) source.beep(() => this.#begin());
    else this.#begin();
  }

  /** The previous recorder finished it but could not report that. */
  #wasComplete(): void {
    this.#leave('stopped');
    const { durationMs, talkingMs } = this.#before;
    const silenceMs = durationMs - talkingMs;
    this.#options.told({ type: 'record.finished', reason: 'stopped', durationMs, talkingMs, silenceMs });
  }

  #keep(writtenMs: number): void {
    const { progress } = this.#options;
    if (!progress) return;
    progress[0] = this.#before.durationMs + writtenMs;
    progress[1] = Math.min(this.#talkingMs, progress[0]);
  }

  #begin(): void {
    if (this.#state === 'opening') this.#state = 'recording';
  }

  #samples(frame: Frame | undefined, rate: RateChanger): Int16Array {
    return frame ? rate.samples(frame) : this.#silence;
  }

  #finish(reason: EndReason): void {
    this.#leave(reason);
  }

  #discard(): void {
    this.#leave(undefined);
  }

  #fail(error: unknown): void {
    const failed = this.#failed;
    this.#failed = true;
    this.#leave(undefined);
    if (failed) return;
    this.#options.told({ type: 'record.failed', reason: inWords(error) });
    // The written part stays, for the clean-up at the next start.
    void this.#writer?.finish().catch(() => undefined);
  }

  /** Stops taking audio; the result is reported when the file is closed. @param reason undefined: discard. */
  #leave(reason: EndReason | undefined): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#reason = reason;
    this.#options.source.listen(false);
    this.#options.ended();
    // A file that is not open yet is closed once it is.
    if (this.#writer && !this.#failed) this.#close(this.#writer);
  }

  #close(writer: RecordingWriter): void {
    const reason = this.#reason;
    const durationMs = this.#durationMs;
    const talkingMs = this.#talkingMs;
    const silenceMs = durationMs - talkingMs;
    const done = reason === undefined ? writer.discard() : writer.finish();
    done.then(
      () =>
        this.#options.told(
          reason === undefined
            ? { type: 'record.discarded' }
            : { type: 'record.finished', reason, durationMs, talkingMs, silenceMs },
        ),
      (error: unknown) => this.#fail(error),
    );
  }
}

const isComplete = (error: unknown): boolean => error instanceof RecordingError && error.code === 'complete';

function inWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
