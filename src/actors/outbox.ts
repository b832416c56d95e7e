import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';

/** Queues events for a connection that may be away, in order, up to a number of bytes. */
export interface Outbox {
  /** Takes one event, a JSON text. Sends it if connected and nothing waits, else keeps it. */
  readonly take: (json: string) => void;
  /**
   * Sends events through `send` from now on. Waiting events stay until {@link flush}, so that a greeting can go first.
   */
  connected(send: (json: string) => void): void;
  /** Sends what waits. */
  flush(): void;
  /** The waiting events, in order. */
  waiting(): readonly string[];
  /** Puts in front what waited in an earlier outbox. */
  restore(waiting: readonly string[]): void;
  /** Events wait from now on. */
  disconnected(): void;
  readonly isConnected: boolean;
}

type OutboxOptions = {
  /** Bytes that may wait; further events are dropped, counted, and told to the log twice: at the first and in the end. */
  limit: number;
  log: Logger;
  /** Counts each dropped event, by the setting of the bound. */
  hit?: LimitHit | undefined;
};

export function createOutbox({ limit, log, hit = uncounted }: OutboxOptions): Outbox {
  let send: ((json: string) => void) | undefined;
  let waiting: string[] = [];
  let bytes = 0;
  let dropped = 0;

  const keep = (json: string): void => {
    const size = Buffer.byteLength(json);
    // Once something is missing nothing may follow it unseen: the gap stays in one place.
    if (dropped > 0 || bytes + size > limit) {
      hit('http.limits.websocket_queue');
      if (++dropped === 1)
        log.warn({ bytes, limit }, 'an application was away too long: its queued events are dropped');
      return;
    }
    bytes += size;
    waiting.push(json);
  };

  const take = (json: string): void => (send ? send(json) : keep(json));

  return {
    take,

    connected(next) {
      send = next;
    },

    flush() {
      const events = waiting;
      waiting = [];
      bytes = 0;
      if (dropped > 0) log.warn({ dropped }, 'an application reconnected and lost events');
      dropped = 0;
      // If the connection is lost meanwhile, the rest waits again.
      for (const json of events) take(json);
    },

    waiting: () => waiting,

    restore(earlier) {
      for (const json of earlier) keep(json);
    },

    disconnected() {
      send = undefined;
    },
    get isConnected() {
      return send !== undefined;
    },
  };
}
