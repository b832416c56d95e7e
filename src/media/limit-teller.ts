import type { Clock } from '../lib/clock.ts';
import { LimitCounts, type LimitHit } from '../lib/limit-counts.ts';

/** How soon it is told that bounds were met, in ms; what is met meanwhile is told with it. */
const tellMs = 1_000;

/** Counts bounds that were met in a media thread, and tells of them all at once: they may be met with every packet. */
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
