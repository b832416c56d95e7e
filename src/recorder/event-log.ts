import type { EventEntry } from './entries.ts';
import { octetsOf } from './entries.ts';
import { Queue } from './queue.ts';

/** What an application may be sent again. */
export type Resumption = {
  /** The events behind the one that it had last, in order, as they were written. */
  events: string[];
  /** How many of those that it did not have are no longer kept. */
  lost: number;
};

/** The last events made for applications, whoever they were for, bounded together. */
export class EventLog {
  readonly #limit: number;
  readonly #events = new Queue<EventEntry>();
  #octets = 0;

  /** @param limit octets that all of them may take, roughly. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#events.size;
  }

  add(entry: EventEntry): void {
    this.#events.push(entry);
    this.#octets += octetsOf(entry);
    while (this.#octets > this.#limit) {
      const oldest = this.#events.shift();
      if (!oldest) return;
      this.#octets -= octetsOf(oldest);
    }
  }

  /**
   * What an application missed that had all up to `number`.
   * @param made how many events were made for it so far.
   */
  after(application: string, number: number, made: number): Resumption {
    const kept = this.#events
      .all()
      .filter((entry) => entry.application === application && entry.number > number && entry.number <= made);
    const [first] = kept;
    const lost = (first?.number ?? made + 1) - 1 - number;
    return { events: kept.map(({ json }) => json), lost: Math.max(0, lost) };
  }

  /** The last events of an application, oldest first. */
  last(application: string, count: number): EventEntry[] {
    return this.#events
      .all()
      .filter((entry) => entry.application === application)
      .slice(-count);
  }
}
