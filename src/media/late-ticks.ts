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
  /** Until when packets are read that waited for a late tick, too. */
  #lateUntil = Number.NEGATIVE_INFINITY;

  /** Takes a tick into account. @param nominal its time. @param now monotonic ms. @returns whether it is late. */
  tick(nominal: number, now: number): boolean {
    this.#tickedAt = nominal;
    const isLate = now - nominal > mostLateMs;
    if (isLate) this.#lateUntil = now + mostLateMs;
    return isLate;
  }

  /** Whether a packet that is read now may have waited for this thread. */
  excuse(now: number): boolean {
    return now <= this.#lateUntil || now - this.#tickedAt > tickMs + mostLateMs;
  }
}
