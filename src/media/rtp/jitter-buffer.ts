import { samplesPerMs } from '../codec/codecs.ts';
import { sequenceDistance, timestampDistance } from './header.ts';

export type JitterBufferOptions = {
  /**
   * `immediate`: packets in order are given out at once, only a gap is waited for. `paced`: packets are given out at
   * the pace of their timestamps, so late that the jitter seen so far is covered.
   */
  pacing: 'immediate' | 'paced';
  /** Nothing is held longer than this, in ms. */
  maximumMs?: number;
};

/** Packets the buffer can span; more than the bound in time at 10 ms a packet. A power of two. */
const window = 64;
const minimumMs = 20;
const stepMs = 20;
/** Packets without a late one after which the hold is shortened. */
const calmPackets = 500;

/** Puts packets back into their order, within a bound of time. `T` is whatever the owner keeps of a packet. */
export class JitterBuffer<T> {
  readonly #paced: boolean;
  readonly #maximumMs: number;
  readonly #items: (T | undefined)[] = new Array(window).fill(undefined);
  readonly #arrivals = new Float64Array(window);
  readonly #timestamps = new Float64Array(window);
  #held = 0;
  #expected = -1;
  /** How long a gap is waited for, or (paced) how late packets are given out, in ms. */
  #hold: number;
  #calm = 0;
  /** Paced: time at which timestamp `#anchorTimestamp` is due. */
  #anchorTime = 0;
  #anchorTimestamp = 0;
  #transit: number | undefined;
  #jitterMs = 0;
  /** Packets that came after their place was given up, and were dropped. */
  late = 0;
  /** Places given up because their packet had not come; late ones are among them. */
  lost = 0;
  duplicates = 0;

  constructor({ pacing, maximumMs = 200 }: JitterBufferOptions) {
    this.#paced = pacing === 'paced';
    this.#maximumMs = maximumMs;
    this.#hold = this.#paced ? minimumMs : 2 * minimumMs;
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
  put(sequence: number, timestamp: number, item: T, now: number): boolean {
    if (this.#expected < 0) this.#begin(sequence, timestamp, now);
    const ahead = sequenceDistance(this.#expected, sequence);
    if (ahead < 0) return this.#refuse(ahead, sequence, timestamp, item, now);
    if (ahead >= window) {
      // The source jumped: waiting for what lies between is pointless.
      this.lost += ahead - this.#held;
      this.clear();
      this.#begin(sequence, timestamp, now);
    }
    const slot = sequence % window;
    if (this.#items[slot] !== undefined) {
      this.duplicates++;
      return false;
    }
    this.#items[slot] = item;
    this.#arrivals[slot] = now;
    this.#timestamps[slot] = timestamp;
    this.#held++;
    if (this.#paced) this.#observeJitter(timestamp, now);
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
      const due = this.#paced ? this.#dueAt(this.#timestamps[slot]!) : this.#arrivals[slot]! + this.#hold;
      if (now < due) return undefined;
      this.lost += gap;
      this.#expected = (this.#expected + gap) & 0xffff;
    } else if (this.#paced && now < this.#dueAt(this.#timestamps[slot]!)) return undefined;
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
    this.#transit = undefined;
  }

  #begin(sequence: number, timestamp: number, now: number): void {
    this.#expected = sequence;
    this.#anchorTimestamp = timestamp;
    this.#anchorTime = now + this.#hold;
  }

  #refuse(ahead: number, sequence: number, timestamp: number, item: T, now: number): boolean {
    if (ahead <= -window) {
      // Far behind: the source began its numbers anew.
      this.clear();
      return this.put(sequence, timestamp, item, now);
    }
    this.late++;
    this.#calm = 0;
    const longer = Math.min(this.#maximumMs, this.#hold + stepMs);
    this.#anchorTime += longer - this.#hold;
    this.#hold = longer;
    return false;
  }

  /** Shortens the hold when nothing came late for a while. */
  #settle(): void {
    if (++this.#calm < calmPackets) return;
    this.#calm = 0;
    const wanted = this.#paced ? Math.max(minimumMs, 4 * this.#jitterMs) : minimumMs;
    const shorter = Math.min(this.#maximumMs, Math.max(wanted, this.#hold - stepMs));
    this.#anchorTime += shorter - this.#hold;
    this.#hold = shorter;
  }

  #gap(): number {
    let gap = 1;
    while (this.#items[(this.#expected + gap) % window] === undefined) gap++;
    return gap;
  }

  #dueAt(timestamp: number): number {
    return this.#anchorTime + timestampDistance(this.#anchorTimestamp, timestamp) / samplesPerMs;
  }

  /** Jitter as RFC 3550 A.8 estimates it, in ms; the hold follows it upwards at once. */
  #observeJitter(timestamp: number, now: number): void {
    const transit = now - timestampDistance(this.#anchorTimestamp, timestamp) / samplesPerMs;
    if (this.#transit !== undefined) this.#jitterMs += (Math.abs(transit - this.#transit) - this.#jitterMs) / 16;
    this.#transit = transit;
    const wanted = Math.min(this.#maximumMs, 4 * this.#jitterMs);
    if (wanted > this.#hold) {
      this.#anchorTime += wanted - this.#hold;
      this.#hold = wanted;
    }
  }
}
