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
  /** Runs `fn` once the current turn of the event loop is over: after what it has begun to answer or send. */
  soon(fn: () => void): void;
}

/** Node's own clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout | undefined),
  soon: (fn) => void setImmediate(fn),
};
