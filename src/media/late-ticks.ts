import { tickMs } from './ticker.ts';

/** A tick that runs later than this after its time is late, in ms; packets that waited meanwhile are read as long after it. */
const mostLateMs = 5;

/**
 * Tells packets that came late from packets that this thread read late. When the thread stood still, its ticks are late, too,
 * and the packets that it reads then say nothing about the network.
 */
export class LateTicks {
  /** Nominal time of the last tick, monotonic ms. */
  #tickedAt = Number.NaN;
  /** Until when packets are read that waited for a late tick, too, and for how long they may have waited, in ms. */
  #lateUntil = Number.NEGATIVE_INFINITY;
  #stoodMs = 0;

  /** Takes a tick into account. @param nominal its time. @param now monotonic ms. @returns whether it is late. */
  tick(nominal: number, now: number): boolean {
    this.#tickedAt = nominal;
    const isLate = now - nominal > mostLateMs;
    if (!isLate) return false;
    const stoodMs = now - nominal + tickMs;
    this.#stoodMs = now <= this.#lateUntil ? Math.max(this.#stoodMs, stoodMs) : stoodMs;
    this.#lateUntil = now + mostLateMs;
    return true;
  }

  /** Whether packets that are read now may have waited for this thread. @param ms of media behind the first of them. */
  excuse(now: number, ms = 0): boolean {
    const sinceTick = now - this.#tickedAt;
    return (now <= this.#lateUntil && ms <= this.#stoodMs) || (sinceTick > tickMs + mostLateMs && ms <= sinceTick);
  }
}
