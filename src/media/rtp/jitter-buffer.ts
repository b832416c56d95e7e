import { sequenceDistance } from './header.ts';

export type JitterBufferOptions = {
  /** Nothing is held longer than this, in ms. */
  maximumMs?: number;
};

/** Packets the buffer can span; more than the bound in time at 10 ms a packet. A power of two. */
const window = 64;
const minimumMs = 20;
const stepMs = 20;
/** Packets without a late one after which the hold is shortened. */
const calmPackets = 500;

/**
 * Puts packets back into their order: those in order are given out at once, a gap is waited for within a bound of time.
 * `T` is whatever the owner keeps of a packet.
 */
export class JitterBuffer<T> {
  readonly #maximumMs: number;
  readonly #items: (T | undefined)[] = new Array(window).fill(undefined);
  readonly #arrivals = new Float64Array(window);
  #held = 0;
  #expected = -1;
  /** How long a gap is waited for, in ms. */
  #hold = 2 * minimumMs;
  #calm = 0;
  /** Packets that came after their place was given up, and were dropped. */
  late = 0;
  /** Places given up because their packet had not come; late ones are among them. */
  lost = 0;
  duplicates = 0;

  constructor({ maximumMs = 200 }: JitterBufferOptions = {}) {
    this.#maximumMs = maximumMs;
  }

  /** Packets held now. */
  get size(): number {
    return this.#held;
  }

  /** The present bound for waiting, in ms: it grows when packets come late and shrinks when all is calm. */
  get holdMs(): number {
    return this.#hold;
  }

  /** Puts a packet in; false when it is late or a duplicate and therefore dropped. @param now monotonic ms. */
  put(sequence: number, item: T, now: number): boolean {
    if (this.#expected < 0) this.#begin(sequence);
    const ahead = sequenceDistance(this.#expected, sequence);
    if (ahead < 0) return this.#refuse(ahead, sequence, item, now);
    if (ahead >= window) {
      // The source jumped: waiting for what lies between is pointless.
      this.lost += ahead - this.#held;
      this.clear();
      this.#begin(sequence);
    }
    const slot = sequence % window;
    if (this.#items[slot] !== undefined) {
      this.duplicates++;
      return false;
    }
    this.#items[slot] = item;
    this.#arrivals[slot] = now;
    this.#held++;
    this.#settle();
    return true;
  }

  /** The next packet that is due, in order; undefined when none is. To be called until it gives undefined. */
  take(now: number): T | undefined {
    if (this.#held === 0) return undefined;
    let slot = this.#expected % window;
    if (this.#items[slot] === undefined) {
      const gap = this.#gap();
      slot = (this.#expected + gap) % window;
      if (now < this.#arrivals[slot]! + this.#hold) return undefined;
      this.lost += gap;
      this.#expected = (this.#expected + gap) & 0xffff;
    }
    const item = this.#items[slot];
    this.#items[slot] = undefined;
    this.#held--;
    this.#expected = (this.#expected + 1) & 0xffff;
    return item;
  }

  /** Drops what is held and forgets the sequence: another source follows. */
  clear(): void {
    this.#items.fill(undefined);
    this.#held = 0;
    this.#expected = -1;
  }

  #begin(sequence: number): void {
    this.#expected = sequence;
  }

  #refuse(ahead: number, sequence: number, item: T, now: number): boolean {
    if (ahead <= -window) {
      // Far behind: the source began its numbers anew.
      this.clear();
      return this.put(sequence, item, now);
    }
    this.late++;
    this.#calm = 0;
    this.#hold = Math.min(this.#maximumMs, this.#hold + stepMs);
    return false;
  }

  /** Shortens the hold when nothing came late for a while. */
  #settle(): void {
    if (++this.#calm < calmPackets) return;
    this.#calm = 0;
    this.#hold = Math.max(minimumMs, this.#hold - stepMs);
  }

  #gap(): number {
    let gap = 1;
    while (this.#items[(this.#expected + gap) % window] === undefined) gap++;
    return gap;
  }
}
