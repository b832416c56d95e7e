import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

/**
 * Wraps `fn` for sockets, timers and promises: exceptions are logged and end there.
 * @param what for the log: "the timer of a call".
 * @param failed called after an exception; its own exceptions are only logged.
 */
export function guarded<Args extends unknown[]>(
  log: Pick<Logger, 'error'>,
  what: string,
  fn: (...args: Args) => void,
  failed?: () => void,
): (...args: Args) => void {
  return (...args) => {
    try {
      fn(...args);
    } catch (error) {
      log.error({ error }, `${what} failed`);
      if (failed) guarded(log, `giving up after ${what}`, failed)();
    }
  };
}

/** A clock whose timers cannot end the process: their errors are logged. */
export const guardedClock = (clock: Clock, log: Pick<Logger, 'error'>, what: string): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  setTimeout: (fn, ms) => clock.setTimeout(guarded(log, what, fn), ms),
  clearTimeout: (id) => clock.clearTimeout(id),
  soon: (fn) => clock.soon(guarded(log, what, fn)),
});
