import type { Clock } from '../../lib/clock.ts';
import { Concealer } from '../dsp/concealer.ts';
import { emptyFrame, type Frame } from '../frame.ts';
import { mostOwed, tickMs } from '../ticker.ts';

/** Frames that may wait at most, besides those of ticks that are owed; beyond that all but the last are left out. */
const most = 4;
/** After so many ticks in which more waited than were needed, one is left out. */
const calmTicks = 250;
/** The same while more wait than that, after frames came late. */
const hurriedTicks = 25;
/** Frames that wait in a pause. */
const wanted = 2;
/** Ticks for which audio that does not come is made up. */
const longestConcealed = 3;

/**
 * Frames from another thread, taken in our ticks. The ticks of two threads have different phases, so one frame is ready
 * each time. A late one is concealed, and the added delay is removed again.
 */
export class FrameQueue {
  #waiting: (Frame | undefined)[] = [];
  #concealer: { of: Concealer; frame: Frame } | undefined;
  #running = false;
  #concealed = 0;
  #calm = 0;
  #fewest = Number.POSITIVE_INFINITY;
  readonly #clock: Pick<Clock, 'monotonic'> | undefined;
  /** When the last tick should have been, monotonic ms. */
  #tickedAt: number | undefined;
  /** Ticks without a frame: late frames for them may wait. */
  #missed = 0;

  /** @param clock tells how late ticks are: frames for those that are owed wait as well. */
  constructor(clock?: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Takes what was said in a tick; undefined = nothing. */
  put(frame: Frame | undefined): void {
    this.#waiting.push(frame);
    const room = most + Math.min(mostOwed, this.#missed + this.#owed());
    if (this.#waiting.length > room) this.#waiting.splice(0, this.#waiting.length - 1);
  }

  /** Late ticks that follow at once, and take a frame each. */
  #owed(): number {
    if (!this.#clock || this.#tickedAt === undefined) return 0;
    return Math.max(0, Math.floor((this.#clock.monotonic() - this.#tickedAt) / tickMs) - 1);
  }

  /** What is said in this tick. @param now nominal time of the tick. */
  take(now?: number): Frame | undefined {
    this.#tickedAt = now;
    if (this.#waiting.length === 0) {
      this.#missed = Math.min(mostOwed, this.#missed + 1);
      this.#calm = 0;
    } else if (this.#waiting.length <= most) this.#missed = 0;
    this.#shorten();
    if (this.#waiting.length === 0) return this.#make();
    const frame = this.#waiting.shift();
    this.#running = frame !== undefined;
    this.#concealed = 0;
    if (frame) this.#concealerFor(frame.sampleRate).of.heard(frame.samples);
    return frame;
  }

  /** Returns and clears the waiting frames: another part continues with them. */
  flush(): Frame[] {
    const frames = this.#waiting.filter((frame) => frame !== undefined);
    this.#waiting = [];
    this.#running = false;
    return frames;
  }

  #make(): Frame | undefined {
    if (!this.#running || !this.#concealer || this.#concealed >= longestConcealed) {
      this.#running = false;
      return undefined;
    }
    this.#concealed++;
    const { of, frame } = this.#concealer;
    of.conceal(frame.samples);
    return frame;
  }

  #shorten(): void {
    // A pause is shorter than it was: nothing is lost by that.
    while (this.#waiting.length > wanted && this.#waiting[0] === undefined) this.#waiting.shift();
    this.#fewest = Math.min(this.#fewest, this.#waiting.length);
    const isLong = this.#waiting.length > most + this.#owed();
    if (++this.#calm < (isLong ? hurriedTicks : calmTicks)) return;
    if (isLong || this.#fewest > 1) this.#waiting.shift();
    this.#calm = 0;
    this.#fewest = Number.POSITIVE_INFINITY;
  }

  #concealerFor(sampleRate: number) {
    if (this.#concealer?.frame.sampleRate !== sampleRate)
      this.#concealer = { of: new Concealer(sampleRate), frame: emptyFrame(sampleRate) };
    return this.#concealer;
  }
}
