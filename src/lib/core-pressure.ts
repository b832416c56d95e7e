import { readFileSync } from 'node:fs';
import type { Clock } from './clock.ts';

/** How often the pressure is read at most, in ms: one reading takes about 20 µs. */
const readEveryMs = 250;
/** Share of the time in which some task waited for a processor, from which cores are not free. */
const mostWaiting = 0.25;

/** Where Linux tells how long tasks have waited for a processor (Documentation/accounting/psi.rst). */
const pressureFile = '/proc/pressure/cpu';

/** µs in which some task of the machine waited for a processor, since it started; undefined where nobody counts them. */
export function waitedForCores(): number | undefined {
  try {
    const total = /^some .*total=(\d+)/m.exec(readFileSync(pressureFile, 'latin1'))?.[1];
    return total === undefined ? undefined : Number(total);
  } catch {
    return undefined;
  }
}

/**
 * Says whether the cores of the machine were free a moment ago: nobody waited for one for more than a quarter of the time.
 * False at first, and where the system does not tell.
 */
export function watchCores(clock: Pick<Clock, 'monotonic'>, waited = waitedForCores): { areFree(): boolean } {
  let last: { at: number; us: number | undefined } | undefined;
  let free = false;
  return {
    areFree() {
      const at = clock.monotonic();
      if (last && at - last.at < readEveryMs) return free;
      const us = waited();
      free = us !== undefined && last?.us !== undefined && us - last.us <= mostWaiting * 1000 * (at - last.at);
      last = { at, us };
      return free;
    },
  };
}
