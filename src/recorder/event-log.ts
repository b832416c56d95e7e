import type { Resumption } from '../actors/applications.ts';
import type { EventEntry } from './entries.ts';
import { Journal, numberOf, type RowOwner } from './journal.ts';
import { readRow, rowsOf, writeEvent } from './rows.ts';

/** The rows of one application. */
type Rows = RowOwner & { readonly application: string; gone: boolean };

/** The last events made for applications, whoever they were for, bounded together. */
export class EventLog {
  readonly #journal: Journal;
  readonly #byApplication = new Map<string, Rows>();

  /** @param limit octets that all of them may take, roughly. */
  constructor(limit: number) {
    this.#journal = new Journal(
      limit,
      (more) => this.#journal.octets + more <= limit,
      (segment) => {
        for (const rows of segment.owners as Rows[]) {
          if (rows.last >= segment.first + segment.size) continue;
          rows.gone = true;
          this.#byApplication.delete(rows.application);
        }
      },
    );
  }

  /** Octets that they take, roughly. */
  get octets(): number {
    return this.#journal.octets;
  }

  add(entry: EventEntry): void {
    const { application } = entry;
    let rows = this.#byApplication.get(application);
    if (!rows) {
      rows = { application, last: 0, gone: false };
      this.#byApplication.set(application, rows);
    }
    writeEvent(this.#journal, rows, entry);
    // All of its others went to make room.
    if (rows.gone) this.#byApplication.set(application, rows);
    rows.gone = false;
  }

  /**
   * What an application missed that had all up to `number`.
   * @param made how many events were made for it so far.
   */
  after(application: string, number: number, made: number): Resumption {
    if (number > made) return { events: [], lost: undefined };
    const events: string[] = [];
    let first = made + 1;
    for (const [segment, place] of this.#rowsOf(application)) {
      const each = segment.number(place, numberOf.number);
      // What is further back is done with; or it was gone for good in between, and its events were counted anew.
      if (each <= number || each >= first) break;
      first = each;
      events.push(segment.text(place, 'utf8'));
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

  #rowsOf(application: string) {
    return rowsOf(this.#journal, this.#byApplication.get(application)?.last ?? 0);
  }
}
