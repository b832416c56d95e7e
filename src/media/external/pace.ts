import { LateTicks } from '../late-ticks.ts';

/** Frames in a row in their time after which a stream that had trouble is even again: ten seconds of 20 ms each. */
const calmFrames = 500;
/** How far from its time a frame may come, in ms. */
const mostOffMs = 10;
/** A stream that stands still for longer has paused, and was not late, in ms. */
const longestLateMs = 100;
/** How much earlier each frame may come than the one before it, in ms: one part in a thousand of 20 ms, for clocks that differ. */
const driftMs = 0.02;
const frameMs = 20;

/**
 * Tells whether a server sends audio frame by frame as it is to be heard. It does not when several frames come together, or one
 * comes too early or too late; it does again after ten seconds without that. A pause is no trouble, nor are frames that this
 * thread read late, because it stood still itself.
 */
export class Pace {
  #calm = calmFrames;
  /** When the next frame should come, monotonic ms. */
  #dueAt = Number.NEGATIVE_INFINITY;
  #paused = true;
  readonly #ticks = new LateTicks();

  /** Whether its frames can be given on when they come. */
  get even(): boolean {
    return !this.#paused && this.#calm >= calmFrames;
  }

  /** Takes 20 ms of audio into account, with `waiting` more behind it. @returns whether `even` has changed. */
  hear(waiting: number, now: number): boolean {
    const before = this.even;
    this.#paused = false;
    if (this.#ticks.excuse(now, waiting * frameMs)) {
      this.#dueAt += (1 + waiting) * frameMs;
      return this.even !== before;
    }
    const lateMs = now - this.#dueAt;
    const isNew = lateMs > longestLateMs;
    const isTrouble = waiting > 0 || (!isNew && Math.abs(lateMs) > mostOffMs);
    this.#dueAt = (isNew || isTrouble ? now : Math.max(now, this.#dueAt - driftMs)) + frameMs;
    this.#calm = isTrouble ? 0 : Math.min(calmFrames, this.#calm + 1);
    return this.even !== before;
  }

  /** Looks whether the stream has paused. @param nominal time of a tick. @param now monotonic ms. @returns whether `even` has changed. */
  check(nominal: number, now: number): boolean {
    const before = this.even;
    if (!this.#ticks.tick(nominal, now) && nominal > this.#dueAt + mostOffMs) this.#paused = true;
    return this.even !== before;
  }
}
