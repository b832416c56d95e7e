import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/**
 * Collects this thread's whole heap and returns its free pages to the system. V8 itself does so only under load, so a
 * server without calls would keep what loading its code, or its last calls, needed. Stops the thread for tens of ms.
 */
export function compactHeap(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect();
}

/** How often {@link compactWhenIdle} looks, in ms. */
const lookMs = 10_000;

/** Growth of the heap from which compacting it is worth the time, in octets. */
const worthwhileOctets = 16_000_000;

/**
 * Compacts this thread's heap whenever `idle` is true and the heap holds much more than after the last time. Looks every ten
 * seconds.
 * @returns a function that ends that
 */
export function compactWhenIdle(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  idle: () => boolean,
  { held = heapOctets, compact = compactHeap } = {},
): () => void {
  let least = held();
  const look = (): void => {
    least = Math.min(least, held());
    if (idle() && held() > least + worthwhileOctets) {
      compact();
      least = held();
    }
    timer = clock.setTimeout(look, lookMs);
  };
  let timer = clock.setTimeout(look, lookMs);
  return () => clock.clearTimeout(timer);
}

const heapOctets = (): number => getHeapStatistics().total_heap_size;
