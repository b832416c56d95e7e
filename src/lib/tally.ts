import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

/** Least time between two lines of the log about one matter, in ms. */
const tellEveryMs = 60_000;

/**
 * Logs how often something happened, as a warning: the first immediately, then at most once a minute, with the last
 * one's fields.
 */
export function createTally(clock: Clock, log: Pick<Logger, 'warn'>, sentence: string): (fields: object) => void {
  let untold = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (fields) => {
    untold++;
    if (clock.monotonic() < toldAt + tellEveryMs) return;
    log.warn({ ...fields, times: untold }, sentence);
    untold = 0;
    toldAt = clock.monotonic();
  };
}
