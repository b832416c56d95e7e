import type { LimitHit } from '../../lib/limit-counts.ts';

type Missed = { at: number; asked: number; askedAt: number };

/**
 * Times of lost packets in ms: until it counts as lost, until it is requested again and how often, and until it is
 * given up.
 */
const waits = { reorderMs: 20, againMs: 100, most: 3, givenUpMs: 1000 };

/** Packets of a source that have not come, by their numbers, to be asked for again. */
export class MissedPackets {
  readonly #missed = new Map<number, Missed>();
  readonly #most: number;
  readonly #hit: LimitHit;
  /** How often packets were asked for. */
  asked = 0;

  /** @param most missed packets at the same time; beyond that none is requested. @param hit counts that. */
  constructor(most: number, hit: LimitHit) {
    this.#most = most;
    this.#hit = hit;
  }

  get size(): number {
    return this.#missed.size;
  }

  /** Packets from `from` to before `to` were left out. */
  skipped(from: number, to: number, now: number): void {
    if (this.#missed.size + to - from > this.#most) {
      this.#missed.clear();
      if (this.#most > 0) this.#hit('media.video.resend_packets');
      return;
    }
    for (let index = from; index < to; index++)
      this.#missed.set(index, { at: now, asked: 0, askedAt: Number.NEGATIVE_INFINITY });
  }

  /** One has come after all. */
  came(index: number): void {
    if (this.#missed.size > 0) this.#missed.delete(index);
  }

  /** A key frame begins: earlier packets are not needed. */
  before(index: number): void {
    for (const each of this.#missed.keys()) if (each < index) this.#missed.delete(each);
  }

  clear(): void {
    this.#missed.clear();
  }

  /** Packets to request now, in order. */
  due(now: number): number[] {
    if (this.#missed.size === 0) return [];
    const due: number[] = [];
    for (const [index, missed] of this.#missed) {
      if (missed.asked >= waits.most || now - missed.at > waits.givenUpMs) this.#missed.delete(index);
      else if (now - missed.at >= waits.reorderMs && now - missed.askedAt >= waits.againMs) {
        missed.asked++;
        missed.askedAt = now;
        due.push(index);
      }
    }
    this.asked += due.length;
    return due.sort((one, other) => one - other);
  }
}
