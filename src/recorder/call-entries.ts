import type { CommittedStep } from '../actors/step.ts';
import { type Entry, type EventEntry, type Kept, readAll } from './entries.ts';
import { EntryList } from './entry-list.ts';
import { type ObjectHistory, passOver } from './history.ts';
import type { Journal, RowOwner, Segment } from './journal.ts';
import { readRow, rowsOf, writeEvent, writeRow, writeStep } from './rows.ts';

const none: readonly never[] = [];

/**
 * What is kept of one call, in order: rows of the journal that all calls share, and, before the journal lets those go
 * while the call is live, entries of its own.
 */
export class CallEntries {
  readonly #journal: Journal;
  readonly #owner: RowOwner;
  /** Newest rows of calls that have become part of this one. */
  #joined: readonly number[] = none;
  /** Made when something is taken out of the journal: most calls end before. */
  #taken: EntryList | undefined;
  /** How many there are. */
  size = 0;
  /** How many went. */
  gone = 0;

  constructor(journal: Journal, owner: RowOwner) {
    this.#journal = journal;
    this.#owner = owner;
  }

  /** Octets of those that are not in the journal, roughly. */
  get ownOctets(): number {
    return this.#taken?.octets ?? 0;
  }

  addStep(step: CommittedStep, history: ObjectHistory): void {
    writeStep(this.#journal, this.#owner, step, history);
    this.size++;
  }

  /** @returns the piece of the journal where it is. */
  addEvent(event: EventEntry): Segment {
    this.size++;
    return writeEvent(this.#journal, this.#owner, event);
  }

  add(entry: Kept): void {
    writeRow(this.#journal, this.#owner, entry);
    this.size++;
  }

  /** Takes them out of the journal, which is about to let them go. */
  takeOut(): void {
    const own = this.#own();
    for (const entry of this.#rows()) own.add(entry);
    this.#owner.last = 0;
    this.#joined = none;
  }

  /** Lets the oldest ones go. */
  drop(count: number): void {
    this.takeOut();
    const own = this.#own();
    for (let left = count; left > 0; left--) {
      const entry = own.shift();
      if (!entry) break;
      if (entry.kind === 'step') passOver(entry);
      this.gone++;
      this.size--;
    }
  }

  /** As they are kept, oldest first. */
  kept(): Kept[] {
    const rows = this.#rows();
    const own = this.#taken?.all() ?? none;
    if (own.length === 0 || rows.length === 0) return own.length === 0 ? rows : [...own];
    return [...own, ...rows].sort(byOrder);
  }

  /** As they were, oldest first. */
  all(): Entry[] {
    return readAll(this.kept());
  }

  /** Takes the entries of another call into this one. */
  absorb(other: CallEntries): void {
    this.#joined = [...this.#joined, other.#owner.last, ...other.#joined];
    for (const entry of other.#taken?.take(() => true) ?? none) this.#own().add(entry);
    this.size += other.size;
    this.gone += other.gone;
  }

  #own(): EntryList {
    this.#taken ??= new EntryList();
    return this.#taken;
  }

  #rows(): Kept[] {
    const found: Kept[] = [];
    for (const last of [this.#owner.last, ...this.#joined])
      for (const [segment, place] of rowsOf(this.#journal, last)) found.push(readRow(segment, place));
    return found.sort(byOrder);
  }
}

const byOrder = (a: Kept, b: Kept): number => a.order - b.order;
