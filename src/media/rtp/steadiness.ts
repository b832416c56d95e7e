import { sequenceDistance } from './header.ts';

/** Packets without trouble after which a stream counts as steady again: ten seconds of 20 ms each. */
const calmPackets = 500;
/** Interarrival jitter (RFC 3550 A.8) beyond which packets wait in the jitter buffer, in ms. */
const mostJitterMs = 10;
/** How late the next packet may be before it is missed, in ms. */
const mostLateMs = 10;

/**
 * Tells whether a stream needs a jitter buffer. It does not while every packet is the next one and comes at its time. After a
 * loss, a change of order, a gap or jitter it needs one until ten seconds have gone well.
 */
export class Steadiness {
  #next = -1;
  #calm = calmPackets;
  #dueAt = 0;

  get steady(): boolean {
    return this.#calm >= calmPackets;
  }

  /** Takes a packet into account. @param lastsMs how long it lasts. @param now monotonic ms. @returns whether `steady` has changed. */
  hear(sequence: number, lastsMs: number, jitterMs: number, now: number): boolean {
    const ahead = this.#next < 0 ? 0 : sequenceDistance(this.#next, sequence);
    if (ahead >= 0) this.#next = (sequence + 1) & 0xffff;
    this.#dueAt = now + lastsMs + mostLateMs;
    return this.#becomes(ahead === 0 && jitterMs <= mostJitterMs ? Math.min(calmPackets, this.#calm + 1) : 0);
  }

  /** Looks whether the next packet is missed. @param now nominal time of a tick. @returns whether `steady` has changed. */
  check(now: number): boolean {
    return this.#next >= 0 && now > this.#dueAt && this.#becomes(0);
  }

  /** Another source begins: its numbers are its own. */
  restart(): void {
    this.#next = -1;
  }

  #becomes(calm: number): boolean {
    const before = this.steady;
    this.#calm = calm;
    return this.steady !== before;
  }
}
