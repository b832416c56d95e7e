import { Concealer } from '../dsp/concealer.ts';
import { emptyFrame, type Frame } from '../frame.ts';

/** Frames that may wait at most; beyond that all but the last are left out. */
const most = 4;
/** After so many ticks in which more waited than were needed, one is left out. */
const calmTicks = 250;
/** Ticks for which audio that does not come is made up. */
const longestConcealed = 3;

/**
 * What another thread says, a frame for each of its ticks, taken in ticks of ours. Ticks of two threads lie apart, so that
 * one frame is there each time; when one is late it is made up, and the wait that comes of it is taken up again.
 */
export class FrameQueue {
  #waiting: (Frame | undefined)[] = [];
  #concealer: { of: Concealer; frame: Frame } | undefined;
  #running = false;
  #concealed = 0;
  #calm = 0;
  #fewest = most;

  /** Takes what was said in a tick; undefined = nothing. */
  put(frame: Frame | undefined): void {
    this.#waiting.push(frame);
    if (this.#waiting.length > most) this.#waiting.splice(0, most);
  }

  /** What is said in this tick. */
  take(): Frame | undefined {
    this.#shorten();
    if (this.#waiting.length === 0) return this.#make();
    const frame = this.#waiting.shift();
    this.#running = frame !== undefined;
    this.#concealed = 0;
    if (frame) this.#concealerFor(frame.sampleRate).of.heard(frame.samples);
    return frame;
  }

  /** Gives out what waits and is empty: somebody else goes on with it. */
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
    this.#fewest = Math.min(this.#fewest, this.#waiting.length);
    if (++this.#calm < calmTicks) return;
    if (this.#fewest > 1) this.#waiting.shift();
    this.#calm = 0;
    this.#fewest = most;
  }

  #concealerFor(sampleRate: number) {
    if (this.#concealer?.frame.sampleRate !== sampleRate)
      this.#concealer = { of: new Concealer(sampleRate), frame: emptyFrame(sampleRate) };
    return this.#concealer;
  }
}
