import { LateTicks } from '../late-ticks.ts';
import { sequenceDistance } from './header.ts';

/** Packets without trouble after which a stream counts as steady again: ten seconds of 20 ms each. */
const calmPackets = 500;
/** Mean deviation of packets from their time beyond which they wait in the jitter buffer, in ms. */
const mostJitterMs = 10;
/** How late the next packet may be before it is missed, in ms. */
const mostLateMs = 10;
/** How long a packet lasts that is no audio, in ms: another follows a digit's packet after at most 50 ms. */
const otherMs = 40;
/** A stream that stands still for longer has paused, and was not late, in ms. */
const longestLateMs = 100;

/**
 * Tells whether a stream needs a jitter buffer. It does not while every packet is the next one and comes at its time.
 * After a loss, a reordering, a late packet or jitter it needs one for ten seconds without another. A pause is no
 * trouble, whether timestamps count it or not: when a stalled network delivers, packets come too close together.
 * Packets that this thread read late, because it stood still itself, are no trouble.
 */
export class Steadiness {
  #next = -1;
  #calm = calmPackets;
  /** When the next packet should come, monotonic ms. */
  #dueAt = 0;
  #missed = false;
  #jitterMs = 0;
  /** The last packet was audio, and whether it was the first after a pause. */
  #wasAudio = false;
  #resumed = false;
  readonly #ticks = new LateTicks();

  get steady(): boolean {
    return !this.#missed && this.#calm >= calmPackets;
  }

  /**
   * Takes a packet into account. @param lastsMs how long its audio lasts; undefined if it has none. @param now monotonic ms.
   * @returns whether `steady` has changed.
   */
  hear(sequence: number, lastsMs: number | undefined, now: number): boolean {
    const before = this.steady;
    const isFirst = this.#next < 0;
    const ahead = isFirst ? 0 : sequenceDistance(this.#next, sequence);
    const isExcused = this.#ticks.excuse(now);
    const lateMs = isFirst || isExcused ? 0 : now - this.#dueAt;
    const isTrouble = this.#isLateOrEarly(lateMs, lastsMs !== undefined) || ahead !== 0;
    if (ahead >= 0) this.#next = (sequence + 1) & 0xffff;
    this.#dueAt = (isExcused && !isFirst ? this.#dueAt : now) + (lastsMs ?? otherMs);
    this.#wasAudio = lastsMs !== undefined;
    this.#calm = isTrouble ? 0 : Math.min(calmPackets, this.#calm + 1);
    return this.steady !== before;
  }

  #isLateOrEarly(lateMs: number, isAudio: boolean): boolean {
    const wasMissed = this.#missed;
    const isBurst = this.#resumed && lateMs < -mostLateMs;
    this.#missed = false;
    this.#resumed = lateMs > longestLateMs;
    if (this.#resumed) return false;
    if (isAudio && this.#wasAudio) this.#jitterMs += (Math.abs(lateMs) - this.#jitterMs) / 16;
    return wasMissed || isBurst || this.#jitterMs > mostJitterMs;
  }

  /** Takes a tick into account. @param nominal its time. @param now monotonic ms. @returns whether it is late. */
  tick(nominal: number, now: number): boolean {
    return this.#ticks.tick(nominal, now);
  }

  /**
   * Looks whether the next packet is missed, in a tick that is not late. @param nominal its time.
   * @returns whether `steady` has changed.
   */
  check(nominal: number): boolean {
    const before = this.steady;
    if (this.#next >= 0 && nominal > this.#dueAt + mostLateMs) this.#missed = true;
    return this.steady !== before;
  }

  /** Another source begins: its numbers are its own. */
  restart(): void {
    this.#next = -1;
  }
}
