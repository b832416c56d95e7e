import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Timers, Timing } from './stack.ts';

/** A 200 to INVITE being repeated. */
export type OkRepeats = { stop(): void };

/**
 * Repeats the last response of a transaction until stopped: after T1, doubling up to T2, on every transport since the
 * ACK is end to end (RFC 3261 13.3.1.4). @param onLost hears that 64·T1 have passed without a stop.
 */
export function repeatOk(
  timing: Timing,
  timers: Timers,
  transaction: ServerTransaction,
  onLost: () => void,
): OkRepeats {
  const response = transaction.lastResponse;
  let interval = timing.t1Ms;
  const again = () => {
    if (response) transaction.respond(response);
    interval = Math.min(interval * 2, timing.t2Ms);
    repeat = timers.start(again, interval);
  };
  let repeat = timers.start(again, interval);
  const limit = timers.start(() => {
    timers.clear(repeat);
    onLost();
  }, 64 * timing.t1Ms);
  return {
    stop() {
      timers.clear(repeat);
      timers.clear(limit);
    },
  };
}
