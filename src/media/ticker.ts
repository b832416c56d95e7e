import type { Clock } from '../lib/clock.ts';

/** Time of one step of the plane, in ms. */
export const tickMs = 20;

/** A tick that runs later than this after its time is counted as late, in ms. */
const lateMs = 10;
/** Ticks run in one turn of the event loop: sockets are read and commands carried out between such turns. */
const atOnce = 3;
/**
 * Ticks that may be owed, one second: receivers have given up on later audio, and sockets and jitter buffers hold
 * packets of one second.
 */
export const mostOwed = 50;
/** Time of continuous debt after which the machine is too slow: owed ticks are skipped. */
const longestDebtMs = 2000;

/**
 * Runs a function every 20 ms on average. Each tick has its nominal time on a fixed grid, so a late one delays none
 * after it. Late ticks are made up for, a few in each turn of the event loop. After a delay of more than one second, or
 * two seconds of lateness, the oldest are skipped.
 */
export class Ticker {
  readonly #clock: Clock;
  readonly #run: (nominal: number, skipped: number) => void;
  readonly #phaseMs: number;
  #timer: unknown;
  #running = false;
  #isHeld = false;
  #next = 0;
  /** Since when ticks have been owed without a break, monotonic ms; undefined while none is. */
  #owingSince: number | undefined;
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
    if (this.#running || this.#isHeld) return;
    this.#running = true;
    const since = this.#clock.monotonic() - this.#phaseMs;
    this.#next = Math.floor(since / tickMs) * tickMs + tickMs + this.#phaseMs;
    this.#owingSince = undefined;
    this.#plan();
  }

  /** Does not tick before {@link goOn}. */
  hold(): void {
    this.#isHeld = true;
  }

  goOn(): void {
    this.#isHeld = false;
    this.start();
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
    // A timer may fire early.
    if (this.#next > now) {
      this.#plan();
      return;
    }
    const behind = Math.floor((now - this.#next) / tickMs);
    if (behind > 0 && this.#owingSince === undefined) {
      // Packets that arrived meanwhile are read first, so that late ticks have them.
      this.#owingSince = now;
      this.#plan();
      return;
    }
    let skipped = this.#toSkip(behind, now);
    this.skipped += skipped;
    this.#next += skipped * tickMs;
    for (let ran = 0; this.#running && ran < atOnce && this.#next <= now; ran++) {
      if (now - this.#next > lateMs) this.late++;
      const nominal = this.#next;
      this.#next += tickMs;
      this.#run(nominal, skipped);
      skipped = 0;
    }
    if (this.#running) this.#plan();
  }

  /** Number of ticks to skip before the present one. */
  #toSkip(behind: number, now: number): number {
    if (behind === 0) {
      this.#owingSince = undefined;
      return 0;
    }
    if (this.#owingSince !== undefined && now - this.#owingSince >= longestDebtMs) {
      this.#owingSince = undefined;
      return behind;
    }
    return Math.max(0, behind - mostOwed + 1);
  }
}
