import type { Clock } from '../lib/clock.ts';

/** Time of one step of the plane, in ms. */
export const tickMs = 20;

/** A tick that runs later than this after its time is counted as late, in ms. */
const lateMs = 10;
/** Ticks made up for at once after a delay; what is older is skipped. */
const maximumCatchUp = 3;

/**
 * Runs a function every 20 ms on average for ever: each tick has its nominal time on a fixed grid, so a late one
 * delays none after it. After a longer delay at most three are made up for, the others are skipped.
 */
export class Ticker {
  readonly #clock: Clock;
  readonly #run: (nominal: number, skipped: number) => void;
  readonly #phaseMs: number;
  #timer: unknown;
  #running = false;
  #next = 0;
  /** Ticks that ran late, and that were left out. */
  late = 0;
  skipped = 0;

  /**
   * @param run gets the tick's nominal monotonic time in ms and how many ticks were skipped just before it.
   * @param phaseMs where in each 20 ms it ticks.
   */
  constructor(clock: Clock, run: (nominal: number, skipped: number) => void, phaseMs = 0) {
    this.#clock = clock;
    this.#run = run;
    this.#phaseMs = phaseMs;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Starts ticking, on a grid that all starts share; nothing when it runs already. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    const since = this.#clock.monotonic() - this.#phaseMs;
    this.#next = Math.floor(since / tickMs) * tickMs + tickMs + this.#phaseMs;
    this.#plan();
  }

  stop(): void {
    this.#running = false;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #plan(): void {
    // Rounded up: a timer that fires early would only have to wait again.
    this.#timer = this.#clock.setTimeout(
      () => this.#due(),
      Math.max(0, Math.ceil(this.#next - this.#clock.monotonic())),
    );
  }

  #due(): void {
    const now = this.#clock.monotonic();
    const behind = Math.floor((now - this.#next) / tickMs);
    let skipped = 0;
    if (behind >= maximumCatchUp) {
      skipped = behind - maximumCatchUp + 1;
      this.skipped += skipped;
      this.#next += skipped * tickMs;
    }
    while (this.#running && this.#next <= now) {
      if (now - this.#next > lateMs) this.late++;
      const nominal = this.#next;
      this.#next += tickMs;
      this.#run(nominal, skipped);
      skipped = 0;
    }
    if (this.#running) this.#plan();
  }
}
