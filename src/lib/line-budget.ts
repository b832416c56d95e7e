import type { Clock } from './clock.ts';

/** Keeps lines that others can cause at will from filling the log. */
interface LineBudget {
  /** Writes a line within the budget; `untold` is the number of lines dropped before it. */
  write(line: (untold: number) => void): void;
}

/**
 * @param most lines that are written in a period; @param everyMs the period, in ms.
 */
export function createLineBudget(clock: Pick<Clock, 'monotonic'>, most: number, everyMs: number): LineBudget {
  let left = most;
  let since = Number.NEGATIVE_INFINITY;
  let untold = 0;
  return {
    write(line) {
      const now = clock.monotonic();
      if (now - since >= everyMs) {
        since = now;
        left = most;
      }
      if (left === 0) {
        untold++;
        return;
      }
      left--;
      const missed = untold;
      untold = 0;
      line(missed);
    },
  };
}
