import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Batch, Spool } from '../stores/spool.ts';

/** Delivers a spool, the oldest records first. Repeats each batch until the receiver accepts it. */
interface Delivery {
  /** Something was put into the spool. */
  wake(): void;
  /** Ends what is under way; what was not taken stays in the spool. */
  close(): Promise<void>;
}

type DeliveryOptions = {
  spool: Pick<Spool, 'oldest' | 'drop' | 'setAside' | 'octets'>;
  /** @returns the status of the answer. @throws Error (rejects) when there was none. */
  post(body: string): Promise<number>;
  /** Gives up what is posted now. */
  abort(): void;
  /** From 0 up to 1, at random: so that many do not come back at the same time. */
  chance(): number;
  /** How long to wait after a first failure, and at most, in ms: twice as long after each. */
  retryMs: number;
  longestRetryMs: number;
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
  log: Logger;
};

/** Statuses that will not change with a retry (RFC 9110 15.5). */
const forGood: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Makes a delivery, which begins when it is woken. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { spool, post, abort, chance, retryMs, longestRetryMs, clock, log } = options;
  let closed = false;
  let wanted = false;
  let running: Promise<void> | undefined;
  let timer: unknown;
  let failures = 0;

  /** @returns whether the next batch may follow without a pause. */
  const deliver = async (batch: Batch): Promise<boolean> => {
    let reason: string;
    try {
      const status = await post(`{"records":[${batch.lines.map((line) => line.trimEnd()).join(',')}]}`);
      if (status >= 200 && status < 300) {
        if (failures > 0) log.info({ attempts: failures + 1 }, 'the delivery of records resumed');
        failures = 0;
        spool.drop(batch);
        return true;
      }
      if (forGood.has(status)) {
        const file = spool.setAside(batch);
        log.error({ status, records: batch.lines.length, file }, 'call detail records were refused and set aside');
        return true;
      }
      reason = `it answered ${status}`;
    } catch (error) {
      reason = (error as Error).message;
    }
    if (!closed) later(reason);
    return false;
  };

  const later = (reason: string): void => {
    const waitMs = Math.min(longestRetryMs, retryMs * 2 ** Math.min(failures, 30)) * (1 - chance() / 2);
    failures++;
    const fields = { reason, attempts: failures, waiting_bytes: spool.octets, next_s: Math.round(waitMs) / 1000 };
    log.warn(fields, 'cannot deliver records; they are queued');
    timer = clock.setTimeout(() => {
      timer = undefined;
      start();
    }, waitMs);
  };

  const run = async (): Promise<void> => {
    while (!closed) {
      wanted = false;
      const batch = await spool.oldest();
      if (closed) return;
      if (batch ? !(await deliver(batch)) : !wanted) return;
    }
  };

  const start = (): void => {
    wanted = true;
    if (closed || running || timer !== undefined) return;
    running = run()
      .catch((error: unknown) => log.error({ error }, 'the delivery of records failed'))
      .then(() => {
        running = undefined;
        // Woken just as it found nothing more.
        if (wanted && timer === undefined) start();
      });
  };

  return {
    wake: start,
    async close() {
      closed = true;
      clock.clearTimeout(timer);
      abort();
      await running;
    },
  };
}
