import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/**
 * Collects this thread's whole heap and returns its free pages to the system. V8 itself does so only under load, so a
 * server without calls would keep what loading its code, or its last calls, needed. Stops the thread for tens of ms.
 * The young generation shrinks only if the thread has allocated little in the last five seconds, and only V8's quick
 * collection does that: it comes first.
 */
export function compactHeap(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as typeof globalThis.gc;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'minor' });
  collect?.();
}

/** How often {@link compactWhenIdle} looks, in ms: longer than the time over which V8 counts what is allocated. */
const lookMs = 6_000;

/** Growth of the heap from which compacting it is worth the time, in octets. */
const worthwhileOctets = 16_000_000;

/**
 * Compacts memory when `idle` was true at two looks, one after the other, and the heap holds much more than after the last
 * time. The first time it does so in any case. Looks every six seconds.
 * @param compact returns memory that is not used.
 * @returns a function that ends that
 */
export function compactWhenIdle(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  idle: () => boolean,
  compact: () => void,
  held = heapOctets,
): () => void {
  let least = 0;
  let wasIdle = false;
  const look = (): void => {
    const isIdle = idle();
    if (isIdle && wasIdle && held() > least + worthwhileOctets) {
      compact();
      least = held();
    }
    wasIdle = isIdle;
    least = Math.min(least, held());
    timer = clock.setTimeout(look, lookMs);
  };
  let timer = clock.setTimeout(look, lookMs);
  return () => clock.clearTimeout(timer);
}

const heapOctets = (): number => getHeapStatistics().total_heap_size;
