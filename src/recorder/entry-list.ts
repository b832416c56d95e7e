import { type Entry, octetsOf } from './entries.ts';

/** Entries in order, of which the oldest go. */
export class EntryList {
  #entries: (Entry | undefined)[] = [];
  #first = 0;
  /** Octets that they take, roughly. */
  octets = 0;
  /** How many went. */
  gone = 0;

  get size(): number {
    return this.#entries.length - this.#first;
  }

  /** Puts one to its place in the order; nearly always that is the last. */
  add(entry: Entry): void {
    const entries = this.#entries;
    this.octets += octetsOf(entry);
    let at = entries.length;
    while (at > this.#first && (entries[at - 1] as Entry).order > entry.order) at--;
    if (at === entries.length) entries.push(entry);
    else entries.splice(at, 0, entry);
  }

  /** Lets the oldest ones go. */
  drop(count: number): void {
    const end = Math.min(this.#entries.length, this.#first + count);
    for (; this.#first < end; this.#first++) {
      this.octets -= octetsOf(this.#entries[this.#first] as Entry);
      this.#entries[this.#first] = undefined;
      this.gone++;
    }
    if (this.#first * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }

  /** Those behind a place in the order, oldest first. */
  after(order: number): Entry[] {
    let at = this.#entries.length;
    while (at > this.#first && (this.#entries[at - 1] as Entry).order > order) at--;
    return this.#entries.slice(at) as Entry[];
  }

  all(): Entry[] {
    return this.#entries.slice(this.#first) as Entry[];
  }

  /** Takes the entries of another list into this one. */
  merge(other: EntryList): void {
    const entries = [...this.all(), ...other.all()].sort((a, b) => a.order - b.order);
    this.#entries = entries;
    this.#first = 0;
    this.octets += other.octets;
    this.gone += other.gone;
  }
}
