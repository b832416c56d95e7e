import { type Kept, octetsOf } from './entries.ts';

/** Entries in order, of which the oldest go. */
export class EntryList {
  #entries: (Kept | undefined)[] = [];
  #first = 0;
  /** Octets that they take, roughly. */
  octets = 0;

  /** Puts one to its place in the order; nearly always that is the last. */
  add(entry: Kept): void {
    const entries = this.#entries;
    this.octets += octetsOf(entry);
    let at = entries.length;
    while (at > this.#first && (entries[at - 1] as Kept).order > entry.order) at--;
    if (at === entries.length) entries.push(entry);
    else entries.splice(at, 0, entry);
  }

  /** Lets the oldest one go. */
  shift(): Kept | undefined {
    const entry = this.#entries[this.#first];
    if (entry === undefined) return undefined;
    this.octets -= octetsOf(entry);
    this.#entries[this.#first++] = undefined;
    if (this.#first > 100 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#first = 0;
    }
    return entry;
  }

  /** Oldest first. */
  all(): Kept[] {
    return this.#entries.slice(this.#first) as Kept[];
  }
}
