import type { Resumption } from '../actors/applications.ts';
import type { EventEntry } from './entries.ts';
import { octetsOf } from './entries.ts';
import { Queue } from './queue.ts';

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
    let kept: EventEntry[] = [];
    let last = 0;
    for (const entry of this.#events.all()) {
      if (entry.application !== application) continue;
      // It was gone for good in between, and its events are counted anew.
      if (entry.number <= last) kept = [];
      last = entry.number;
      if (entry.number > number) kept.push(entry);
    }
    if (number > made) return { events: [], lost: undefined };
    const [first] = kept;
    return { events: kept.map(({ json }) => json), lost: (first?.number ?? made + 1) - 1 - number };
  }

  /** The last events of an application, oldest first. */
  last(application: string, count: number): EventEntry[] {
    return this.#events
      .all()
      .filter((entry) => entry.application === application)
      .slice(-count);
  }
}
