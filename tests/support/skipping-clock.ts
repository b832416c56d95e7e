import { type Clock, systemClock } from '../../src/lib/clock.ts';

type Timer = { due: number; order: number; fn: () => void; real: unknown };

/**
 * The system's time, which a test can move forward at once: long timers (SIP's 32 s, an expiry of an hour) are waited
 * for by `skip`, everything that depends on sockets and other threads runs in real time.
 */
export class SkippingClock implements Clock {
  readonly #timers = new Map<number, Timer>();
  #skipped = 0;
  #next = 1;

  now(): number {
    return systemClock.now() + this.#skipped;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#skipped;
  }

  setTimeout(fn: () => void, ms: number): number {
    const id = this.#next++;
    const wait = Math.max(0, ms);
    const real = systemClock.setTimeout(() => this.#run(id), wait);
    this.#timers.set(id, { due: this.monotonic() + wait, order: id, fn, real });
    return id;
  }

  clearTimeout(id: unknown): void {
    systemClock.clearTimeout(this.#timers.get(id as number)?.real);
    this.#timers.delete(id as number);
  }

  soon(fn: () => void): void {
    systemClock.soon(fn);
  }

  /** How many timers are waiting: a leak check. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time by `ms`; timers that fall due on the way run now, in their order, those set meanwhile included. */
  skip(ms: number): void {
    const end = this.monotonic() + ms;
    for (let id = this.#earliest(end); id !== undefined; id = this.#earliest(end)) {
      this.#skipped += Math.max(0, this.#timers.get(id)!.due - this.monotonic());
      this.#run(id);
    }
    this.#skipped += Math.max(0, end - this.monotonic());
  }

  #run(id: number): void {
    const timer = this.#timers.get(id);
    this.clearTimeout(id);
    timer?.fn();
  }

  #earliest(end: number): number | undefined {
    const due = [...this.#timers].filter(([, timer]) => timer.due <= end);
    return due.sort(([, a], [, b]) => a.due - b.due || a.order - b.order)[0]?.[0];
  }
}
