import type { Clock } from '../lib/clock.ts';

/** Keeps the event loop awake for a moment. */
interface BusyPoll {
  /** A request arrived: the next one may follow soon. */
  awake(): void;
}

/** Moments in a row that nothing came of before they are tried only now and then. */
const patience = 4;
/** How seldom they are tried then: once in so many requests. */
const retryEvery = 32;

/**
 * Polls for the next request instead of sleeping, for up to `microseconds` after each one. Commands of a call follow
 * each other within a fraction of a millisecond. On an idle virtual machine a wake-up can cost more than polling, as with
 * halt polling of kernels. It adapts: if requests are rare, it only polls now and then, so that a quiet server stays idle.
 * Where others wait for a core, polling takes time from clients and other threads.
 * @param areFree whether cores are free: without a free one it does not poll
 */
export function createBusyPoll(clock: Clock, microseconds: number, areFree: () => boolean): BusyPoll {
  let until = 0;
  /** Turns of the event loop since then: each takes more than 1 µs, so a clock that stands still ends it as well. */
  let turns = 0;
  let polling = false;
  /** Moments without a request in a row, and requests since the last probe. */
  let fruitless = 0;
  let skipped = 0;

  const poll = (): void => {
    if (clock.monotonic() < until && ++turns <= microseconds) {
      clock.soon(poll);
      return;
    }
    polling = false;
    fruitless++;
  };

  return {
    awake() {
      if (microseconds === 0) return;
      if (polling) fruitless = 0;
      else if (fruitless >= patience && ++skipped < retryEvery) return;
      if (!areFree()) return;
      skipped = 0;
      until = clock.monotonic() + microseconds / 1000;
      turns = 0;
      if (polling) return;
      polling = true;
      clock.soon(poll);
    },
  };
}
