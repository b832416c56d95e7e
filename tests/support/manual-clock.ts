import type { Clock } from '../../src/lib/clock.ts';

type Timer = { at: number; order: number; fn: () => void };

/** Simulated time: nothing happens until `advance`; timers due run in order of their time, then of their setting. */
export class ManualClock implements Clock {
  readonly #timers = new Map<number, Timer>();
  #now: number;
  #next = 1;

  /** @param start wall-clock time to begin with, in ms since the epoch. */
  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): number {
    const id = this.#next++;
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), order: id, fn });
    return id;
  }

  clearTimeout(id: unknown): void {
    this.#timers.delete(id as number);
  }

  /** Runs in real time: what ends a turn of the event loop is no matter of waiting. */
  soon(fn: () => void): void {
    setImmediate(fn);
  }

  /** How many timers are waiting: a leak check. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time by `ms`, running what falls due on the way, timers set meanwhile included. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let due = this.#earliest(end); due; due = this.#earliest(end)) {
      const [id, timer] = due;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, timer.at);
      timer.fn();
    }
    this.#now = end;
  }

  #earliest(end: number): [number, Timer] | undefined {
    let found: [number, Timer] | undefined;
    for (const entry of this.#timers) {
      const timer = entry[1];
      if (
        timer.at <= end &&
        (!found || timer.at < found[1].at || (timer.at === found[1].at && timer.order < found[1].order))
      )
        found = entry;
    }
    return found;
  }
}
