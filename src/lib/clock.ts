/** The one source of time: made in `build/base.ts`, passed down, replaced by a simulated one in tests. */
export interface Clock {
  /** Wall-clock time in ms since the Unix epoch, for timestamps shown to people and clients. */
  now(): number;
  /** Monotonic time in ms (fractions included), for measuring spans; its zero is arbitrary. */
  monotonic(): number;
  /** Runs `fn` once after `ms` milliseconds; the result is only good for `clearTimeout`. */
  setTimeout(fn: () => void, ms: number): unknown;
  /** Forgets a timer; an id that fired, was cleared or is undefined is ignored. */
  clearTimeout(id: unknown): void;
  /** Runs `fn` after the present turn of the event loop and its output. */
  soon(fn: () => void): void;
}

/** The longest Node timer, in ms; a longer one fires immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A timer that is longer than one of Node's: several in a row. */
class LongTimer {
  timer: NodeJS.Timeout;

  constructor(fn: () => void, ms: number) {
    const begin = (left: number): NodeJS.Timeout => {
      if (left <= LONGEST_TIMER_MS) return setTimeout(fn, left);
      return setTimeout(() => {
        this.timer = begin(left - LONGEST_TIMER_MS);
      }, LONGEST_TIMER_MS);
    };
    this.timer = begin(ms);
  }
}

/** Node's own clock and timers; a timer may be of any length. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms) => (ms > LONGEST_TIMER_MS ? new LongTimer(fn, ms) : setTimeout(fn, ms)),
  clearTimeout: (id) => clearTimeout(id instanceof LongTimer ? id.timer : (id as NodeJS.Timeout | undefined)),
  soon: (fn) => void setImmediate(fn),
};
