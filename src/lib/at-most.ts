import type { Clock } from './clock.ts';

/** Waits for something, at most so many ms; leaves no timer behind. */
export async function atMost(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  ms: number,
  done: Promise<void>,
): Promise<void> {
  let timer: unknown;
  const timeout = new Promise<void>((resolve) => {
    timer = clock.setTimeout(resolve, ms);
  });
  await Promise.race([done, timeout]);
  clock.clearTimeout(timer);
}
