import type { Logger } from '../lib/log.ts';
import type { AriEventBody } from '../models/events.ts';
import type { Topic } from './topics.ts';

/** One published event. */
export type Publication = {
  event: AriEventBody;
  /** Topics whose subscribers get it, chosen by the publisher. May be empty with `to`. */
  topics: readonly Topic[];
  /** Name of the one application that it is meant for, which gets it without any subscription. */
  to?: string;
  /** Id of the request that it follows from; the bus puts it there. */
  causedBy?: string | undefined;
};

type Listener = (publication: Publication) => void;
type Reads = (topics: Publication['topics']) => boolean;

/** For listeners that only read which object an event is about. */
export const readsNames: Reads = () => false;

/**
 * Carries events from publishers to the delivery.
 *
 * - Order: every listener gets publications in the order of `publish` calls.
 * - No re-entrance: an event published during a dispatch waits until all listeners have had the present one. A
 *   `publish` from outside a listener returns after all dispatches, consequences included.
 * - A listener that throws is logged; other listeners and later publications are not affected.
 * - A listener added during a dispatch gets the next publication first. A removed one gets none.
 * - Nothing is stored: without listeners a publication is lost.
 */
export interface Bus {
  publish(publication: Publication): void;
  /**
   * @param reads whether it reads all members of events of these topics; left out: always. See {@link readsNames}.
   * @returns a function that removes the listener; calling it again does nothing.
   */
  subscribe(listener: Listener, reads?: Reads): () => void;
  /** Whether a listener reads all members of events of these topics: long lists are made for nobody else. */
  isRead(topics: Publication['topics']): boolean;
}

type BusOptions = {
  log: Logger;
  /** The request that what is under way follows from. */
  request?: (() => string | undefined) | undefined;
};

export function createBus({ log, request }: BusOptions): Bus {
  // Replaced on change, never changed: a dispatch that is under way walks the list it began with.
  let listeners: readonly Listener[] = [];
  let readers: readonly Reads[] = [];
  let waiting: Publication[] = [];
  let dispatching = false;

  const deliver = (publication: Publication): void => {
    for (const listener of listeners) {
      // Removed by an earlier listener of this very publication.
      if (!listeners.includes(listener)) continue;
      try {
        listener(publication);
      } catch (error) {
        log.error({ event: publication.event.type, error }, 'a listener of the bus failed');
      }
    }
  };

  return {
    publish(publication) {
      const causedBy = request?.();
      if (causedBy !== undefined) publication.causedBy = causedBy;
      if (dispatching) {
        waiting.push(publication);
        return;
      }
      dispatching = true;
      deliver(publication);
      while (waiting.length > 0) {
        const batch = waiting;
        waiting = [];
        for (const next of batch) deliver(next);
      }
      dispatching = false;
    },

    subscribe(listener, reads = () => true) {
      const own: Listener = (publication) => listener(publication);
      const ownReads: Reads = (topics) => reads(topics);
      listeners = [...listeners, own];
      readers = [...readers, ownReads];
      return () => {
        listeners = listeners.filter((other) => other !== own);
        readers = readers.filter((other) => other !== ownReads);
      };
    },

    isRead: (topics) => readers.some((reads) => reads(topics)),
  };
}
