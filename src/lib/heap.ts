import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/**
 * Collects this thread's whole heap and returns free pages to the system. V8 itself does so only under load. An idle
 * server would keep the memory of its start or its last calls. Stops the thread for tens of ms. The young generation
 * only shrinks in V8's minor collection, after five quiet seconds: it comes first.
 */
export function compactHeap(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as typeof globalThis.gc;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'minor' });
  collect?.();
}

/** From now on V8 keeps compiled code that is not used for a while. */
export const keepCompiledCode = (): void => setFlagsFromString('--no-flush-bytecode');

/**
 * From now on V8 collects the whole heap when it has grown to twice what lived after the last time. V8 itself lets it grow
 * to four times, for speed; but memory that is touched again is cheaper than new memory (docs/performance.md). To be called
 * before code is loaded that was compiled earlier (`compiled-code.ts`).
 */
export const limitGrowth = (): void => setFlagsFromString('--heap-growing-percent=100');

/** How often {@link compactWhenIdle} looks, in ms: longer than the time over which V8 counts what is allocated. */
const lookMs = 6_000;

/** Growth of the heap in octets that justifies compacting. */
const worthwhileOctets = 16_000_000;

/** Looks in a row that have to find nothing under way: after the start, and after calls. */
const quietAfterStart = 2;
const quietAfterCalls = 10;

/**
 * Compacts memory when `idle` was true for a minute (after the start for two looks), and the heap holds much more than
 * after the last time; the first time in any case. Checks every six seconds. A whole collection drops the optimised code of
 * calls: the next thousands of calls take twice the CPU, so a short pause must not cause one.
 * @param compact returns unused memory.
 * @returns a function that stops it
 */
export function compactWhenIdle(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  idle: () => boolean,
  compact: () => void,
  held = heapOctets,
): () => void {
  let least = 0;
  let quiet = 0;
  let enough = quietAfterStart;
  const look = (): void => {
    if (idle()) quiet++;
    else {
      quiet = 0;
      enough = quietAfterCalls;
    }
    if (quiet >= enough && held() > least + worthwhileOctets) {
      compact();
      least = held();
    }
    least = Math.min(least, held());
    timer = clock.setTimeout(look, lookMs);
  };
  let timer = clock.setTimeout(look, lookMs);
  return () => clock.clearTimeout(timer);
}

const heapOctets = (): number => getHeapStatistics().total_heap_size;
