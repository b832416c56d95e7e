import type { Clock } from '../lib/clock.ts';

type Timer = { at: number; order: number; fn: () => void };

const nothing = (): void => {};

/**
 * Simulated time: nothing happens until it is moved. Due timers run by time, then by order of setting, so that runs are
 * reproducible.
 */
export class ManualClock implements Clock {
  readonly #timers = new Map<number, Timer>();
  /** A binary heap of all timers set, those forgotten meanwhile included. */
  readonly #heap: Timer[] = [];
  #now: number;
  #next = 1;
  #soon = 0;

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
    const order = this.#next++;
    const timer = { at: this.#now + Math.max(0, ms), order, fn };
    this.#timers.set(order, timer);
    this.#push(timer);
    return order;
  }

  clearTimeout(id: unknown): void {
    const timer = this.#timers.get(id as number);
    if (!timer) return;
    // It stays on the heap until its time: it must not keep what it would have called.
    timer.fn = nothing;
    this.#timers.delete(timer.order);
  }

  /** Runs in real time: the end of a turn of the event loop needs no wait. */
  soon(fn: () => void): void {
    this.#soon++;
    setImmediate(() => {
      this.#soon--;
      fn();
    });
  }

  /** How many timers are waiting: a leak check. */
  get pending(): number {
    return this.#timers.size;
  }

  /** No timer is due before this time; Infinity without timers. */
  get nextDue(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  /** Moves time by `ms`, running what falls due on the way, timers set meanwhile included. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let due = this.#due(end); due; due = this.#due(end)) this.#run(due);
    this.#now = end;
  }

  /**
   * As {@link advance}, but settles promises and `soon` tasks at each instant. It does not wait for external work
   * (files, real sockets).
   */
  async run(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.#rest();
    for (let due = this.#due(end); due; due = this.#due(end)) {
      const instant = Math.max(this.#now, due.at);
      for (let now: Timer | undefined = due; now; now = this.#due(instant)) this.#run(now);
      await this.#rest();
    }
    this.#now = end;
  }

  async #rest(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#soon > 0);
  }

  #run(timer: Timer): void {
    this.#timers.delete(timer.order);
    this.#now = Math.max(this.#now, timer.at);
    timer.fn();
  }

  /** Takes the earliest timer off the heap when it is due by `end`; those forgotten are dropped on the way. */
  #due(end: number): Timer | undefined {
    for (let first = this.#heap[0]; first && first.at <= end; first = this.#heap[0]) {
      this.#pop();
      if (this.#timers.get(first.order) === first) return first;
    }
    return undefined;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (isBefore(heap[above]!, timer)) break;
      heap[index] = heap[above]!;
      index = above;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
      if (isBefore(last, heap[below]!)) break;
      heap[index] = heap[below]!;
      index = below;
    }
    heap[index] = last;
  }
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);
