import type { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { type Duration, inSeconds, toMs } from './duration.ts';
import type { HttpWatch } from './http-watch.ts';

/** Audio goes in steps of this length, in ms. */
const stepMs = 20;
/** How long, in real time, a program may rest before a wait fails, in ms. */
const patienceMs = 1_000;
const lookMs = 20;
/** How long reading and writing of files may take, in ms of real time: some, such as of a pipe, never ends. */
const fileMs = 2_000;
/** Turns of the event loop without a pause meanwhile. */
const fileTurns = 1_000;

/** Requests for files that have not ended within that time. */
let endless = 0;

/** What Node calls requests for files: reading or writing one, and closing the handle of one. */
const isFileRequest = (name: string): boolean => name.startsWith('FSReq') || name === 'CloseReq';

/** Whether a file is being read, written or closed in this process. */
function isBusy(): boolean {
  const requests = process.getActiveResourcesInfo().filter(isFileRequest).length;
  endless = Math.min(endless, requests);
  return requests > endless;
}

/** Waits, in real time, until no file is being read or written in this process. @returns whether any was. */
async function filesAtRest(): Promise<boolean> {
  if (!isBusy()) return false;
  for (let turn = 0; turn < fileTurns && isBusy(); turn++) await new Promise((resolve) => setImmediate(resolve));
  for (let waited = 0; waited < fileMs && isBusy(); waited++) await new Promise((resolve) => setTimeout(resolve, 1));
  if (isBusy()) endless = Number.POSITIVE_INFINITY;
  return true;
}

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
  /** Called whenever the programs under test are quiet. */
  quiet = () => {};
  /** What is waited for now; `over` ends it. */
  #era: { over?: Error } = {};

  constructor(clock: ManualClock, http: HttpWatch) {
    this.clock = clock;
    this.http = http;
  }

  /** Moves time; programs under test do meanwhile what they do. */
  async advance(duration: Duration): Promise<void> {
    const era = this.#era;
    const end = this.clock.now() + toMs(duration);
    await this.#settle(era);
    while (this.clock.now() < end) await this.#step(end, era);
  }

  settle(): Promise<void> {
    return this.#settle(this.#era);
  }

  /** Lets everything that waits fail with this error, also what begins to wait, until {@link resume}. */
  interrupt(error: Error): void {
    this.#era.over = error;
  }

  /** Ends the interruption; what was waiting before it fails all the same. */
  resume(): void {
    this.#era = {};
  }

  async #settle(era: { over?: Error }): Promise<void> {
    await Promise.all(this.opening);
    do await this.clock.run(0);
    while ((await filesAtRest()) || (await this.http.settle()));
    this.quiet();
    if (era.over) throw era.over;
  }

  /**
   * Moves time until something holds, at most by `within`.
   * @throws ExpectationError with what `late` says. A program that is slow in real time gets another second.
   */
  async until(holds: () => boolean, within: Duration, late: () => string): Promise<void> {
    const era = this.#era;
    let end = this.clock.now() + toMs(within);
    for (let waited = 0; ; ) {
      await this.#settle(era);
      if (holds()) return;
      if (this.clock.now() < end) await this.#step(end, era);
      else if (waited >= patienceMs) throw new ExpectationError(late());
      else {
        const { requests } = this.http;
        await new Promise((resolve) => setTimeout(resolve, lookMs));
        waited += (await this.http.programs.atRest()) ? lookMs : patienceMs;
        if (await this.http.settle()) end = this.clock.now() + (this.http.requests > requests ? toMs(within) : 0);
      }
    }
  }

  async #step(end: number, era: { over?: Error }): Promise<void> {
    const now = this.clock.now();
    const next = this.talking() ? now + stepMs : Math.max(now + stepMs, this.clock.nextDue);
    await this.clock.run(Math.min(end, next) - now);
    if ((await filesAtRest()) || (await this.http.settle())) await this.#settle(era);
  }
}

export const within = (duration: Duration): string => `within ${inSeconds(toMs(duration))}`;
