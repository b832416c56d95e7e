import type { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { type Duration, inSeconds, toMs } from './duration.ts';
import type { HttpWatch } from './http-watch.ts';

/** Audio goes in steps of this length, in ms. */
const stepMs = 20;
/** How long, in real time, a program may do nothing before a wait fails, in ms. */
const patienceMs = 1_000;
const lookMs = 20;

/** A failed expectation. */
export class ExpectationError extends Error {
  override readonly name = 'ExpectationError';
}

/** Simulated time, moved only while the programs under test are quiet. */
export class World {
  readonly clock: ManualClock;
  readonly http: HttpWatch;
  /** Phones that are being plugged in. */
  readonly opening = new Set<Promise<unknown>>();
  /** Calls of all phones that are up: without any, time may jump to the next timer. */
  talking = () => false;

  constructor(clock: ManualClock, http: HttpWatch) {
    this.clock = clock;
    this.http = http;
  }

  /** Moves time; programs under test do meanwhile what they do. */
  async advance(duration: Duration): Promise<void> {
    const end = this.clock.now() + toMs(duration);
    await this.settle();
    while (this.clock.now() < end) await this.#step(end);
  }

  async settle(): Promise<void> {
    await Promise.all(this.opening);
    do await this.clock.run(0);
    while (await this.http.settle());
  }

  /**
   * Moves time until something holds, at most by `within`.
   * @throws ExpectationError with what `late` says. A program that is slow in real time gets another second.
   */
  async until(holds: () => boolean | Promise<boolean>, within: Duration, late: () => string): Promise<void> {
    let end = this.clock.now() + toMs(within);
    for (let waited = 0; ; ) {
      await this.settle();
      if (await holds()) return;
      if (this.clock.now() < end) await this.#step(end);
      else if (waited >= patienceMs) throw new ExpectationError(late());
      else {
        const { requests } = this.http;
        await new Promise((resolve) => setTimeout(resolve, lookMs));
        waited += lookMs;
        if (await this.http.settle()) end = this.clock.now() + (this.http.requests > requests ? toMs(within) : 0);
      }
    }
  }

  async #step(end: number): Promise<void> {
    const now = this.clock.now();
    const next = this.talking() ? now + stepMs : Math.max(now + stepMs, this.clock.nextDue);
    await this.clock.run(Math.min(end, next) - now);
    if (await this.http.settle()) await this.settle();
  }
}

export const within = (duration: Duration): string => `within ${inSeconds(toMs(duration))}`;
