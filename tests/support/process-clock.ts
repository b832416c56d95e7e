import type { Clock } from '../../src/lib/clock.ts';

/** The clock of a process on another one: nothing that was set on it happens once the process is over. */
export function createProcessClock(clock: Clock) {
  let alive = true;
  const own: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout: (fn, ms) => clock.setTimeout(() => alive && fn(), ms),
    clearTimeout: (id) => clock.clearTimeout(id),
    soon: (fn) => clock.soon(() => alive && fn()),
  };
  return {
    clock: own,
    get alive() {
      return alive;
    },
    end: () => {
      alive = false;
    },
  };
}
