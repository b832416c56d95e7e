import type { Clock } from '../lib/clock.ts';
import { LimitCounts, type LimitHit } from '../lib/limit-counts.ts';

/** Delay of reports about reached limits, in ms; further ones are added. */
const tellMs = 1_000;

/** Counts limits reached in a media thread and reports them in batches, because every packet may reach one. */
export function limitTeller(
  clock: Pick<Clock, 'setTimeout'>,
  tell: (counts: Readonly<Record<string, number>>) => void,
): LimitHit {
  const counts = new LimitCounts();
  let isPlanned = false;
  return (setting, times) => {
    counts.hit(setting, times);
    if (isPlanned) return;
    isPlanned = true;
    clock.setTimeout(() => {
      isPlanned = false;
      tell(counts.take());
    }, tellMs);
  };
}
