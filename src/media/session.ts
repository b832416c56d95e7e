import type { Clock } from '../lib/clock.ts';
import type { Codec, Indication, PlayItem } from '../telephony/media.ts';
import { samplesPerMs } from './codec/codecs.ts';
import type { AudioLoader } from './item-loader.ts';
import type { PlayControl } from './player.ts';
import type { EngineReport } from './protocol.ts';
import { DigitSender, type DigitTiming } from './rtp/digit-sender.ts';
import { digitOfEvent } from './rtp/telephone-event.ts';
import { tickMs } from './ticker.ts';
import { Voice } from './voice.ts';

/** Samples of one tick. */
export const tickSamples = tickMs * samplesPerMs;

export type SessionOptions = {
  /** Number of the session, given by the main thread. */
  session: number;
  clock: Clock;
  loader: AudioLoader;
  codec: Codec;
  report: (report: EngineReport) => void;
};

/** What all sessions of the engine have: a voice, digits to send, and a tick that moves both on. */
export abstract class Session {
  readonly session: number;
  protected readonly clock: Clock;
  protected readonly report: (report: EngineReport) => void;
  protected readonly voice: Voice;
  protected readonly digits = new DigitSender(tickMs);

  constructor({ session, clock, loader, codec, report }: SessionOptions) {
    this.session = session;
    this.clock = clock;
    this.report = report;
    this.voice = new Voice(loader, codec);
  }

  /** An item is under way. */
  get playing(): boolean {
    return this.voice.playing;
  }

  play(play: number, item: PlayItem): void {
    this.voice.play(play, item, (report) => this.report({ type: 'played', session: this.session, play, report }));
  }

  control(play: number, action: PlayControl | 'stop'): void {
    this.voice.control(play, action);
  }

  seek(play: number, ms: number): void {
    this.voice.seek(play, ms);
  }

  sendDigits(sequence: DigitTiming): void {
    this.digits.add(sequence);
  }

  indicate(indication: Indication | undefined): void {
    if (indication !== this.voice.indication) this.voice.indicate(indication);
  }

  /** Moves on by 20 ms. @param now nominal monotonic time of the tick. */
  abstract tick(now: number): void;

  /** Ticks were skipped: time went by in which nothing could be sent. */
  skipped(): void {}

  /** Ends the session; an item under way is told `reason`. */
  close(reason: string): void {
    this.voice.close(reason);
  }
}

/** Half of a local pair: what it plays is heard by nobody but takes its time, digits are told once they are sent. */
export class LocalSession extends Session {
  readonly #unheard = new Uint8Array(tickSamples);

  override tick(): void {
    const step = this.digits.tick();
    if (!step) {
      this.voice.fill(this.#unheard, 0, tickSamples);
      return;
    }
    if (step.ended)
      this.report({
        type: 'digitSent',
        session: this.session,
        digit: digitOfEvent[step.event]!,
        durationMs: step.duration / samplesPerMs,
      });
  }
}
