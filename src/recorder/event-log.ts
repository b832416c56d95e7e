import type { Resumption } from '../actors/resumptions.ts';
import type { EventEntry } from './entries.ts';
import { type Journal, numberOf, type Segment } from './journal.ts';
import { readRow } from './rows.ts';

/** Applications whose events may be looked for before those are forgotten of which nothing is left. */
const manyApplications = 1_000;

/** How what tells a connection that it has lost an application begins. */
const replacedHead = '{"type":"ApplicationReplaced"';

/** The last events made for applications, as long as the journal has them: rows of an application are chained. */
export class EventLog {
  readonly #journal: Journal;
  /** Place of the newest row of each application. */
  readonly #newest = new Map<string, number>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** The newest row of the journal is an event of an application. */
  note(application: string, segment: Segment): void {
    const place = this.#journal.places;
    segment.follow(place, this.#newest.get(application) ?? 0);
    this.#newest.set(application, place);
    if (this.#newest.size > manyApplications) this.#prune();
  }

  /** Events that an application missed after `number`. */
  after(application: string, number: number, made: number): Resumption {
    if (number > made) return { events: [], lost: undefined };
    const events: string[] = [];
    let first = made + 1;
    for (const [segment, place] of this.#rowsOf(application)) {
      const each = segment.number(place, numberOf.number);
      // Earlier events are complete; or the application was removed in between, and its count started again.
      if (each <= number || each >= first) break;
      const json = segment.text(place, 'utf8');
      // It concerned a connection that was another's by then, and has the number of the event before it.
      if (json.startsWith(replacedHead)) continue;
      first = each;
      events.push(json);
    }
    return { events: events.reverse(), lost: first - 1 - number };
  }

  /** The last events of an application, oldest first. */
  last(application: string, count: number): EventEntry[] {
    const found: EventEntry[] = [];
    for (const [segment, place] of this.#rowsOf(application)) {
      if (found.length === count) break;
      found.push(readRow(segment, place) as EventEntry);
    }
    return found.reverse();
  }

  *#rowsOf(application: string): Generator<[segment: Segment, place: number]> {
    for (let place = this.#newest.get(application) ?? 0; place > 0; ) {
      const segment = this.#journal.find(place);
      if (!segment) return;
      yield [segment, place];
      place = segment.number(place, numberOf.sibling);
    }
  }

  #prune(): void {
    for (const [application, place] of this.#newest) if (!this.#journal.find(place)) this.#newest.delete(application);
  }
}
