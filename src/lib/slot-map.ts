/**
 * A map for entries that come and go, such as calls: like a `Map`, in the same order, but deleted entries become
 * garbage directly.
 *
 * V8's `Map` (`OrderedHashMap`) moves to a new table when the old one is full of deleted entries. The old table keeps
 * its entries and a link to the new one. Once such a table is in the old generation, it keeps all later tables alive
 * until a full collection. So it keeps everything they ever held. Then each call survives, is copied twice and fills
 * the old generation. Here tables hold only keys and numbers. Values are in separate slots that are cleared and
 * reused.
 */
export class SlotMap<K extends string | number, V> {
  readonly #slots = new Map<K, number>();
  #values: (V | undefined)[] = [];
  #free: number[] = [];

  get size(): number {
    return this.#slots.size;
  }

  has(key: K): boolean {
    return this.#slots.has(key);
  }

  get(key: K): V | undefined {
    const slot = this.#slots.get(key);
    return slot === undefined ? undefined : this.#values[slot];
  }

  /** Sets a value, in its old position or behind all others. */
  set(key: K, value: V): this {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = this.#free.pop() ?? this.#values.length;
      this.#slots.set(key, slot);
    }
    this.#values[slot] = value;
    return this;
  }

  /** @returns whether it was there */
  delete(key: K): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    this.#slots.delete(key);
    this.#values[slot] = undefined;
    this.#free.push(slot);
    return true;
  }

  clear(): void {
    this.#slots.clear();
    this.#values = [];
    this.#free = [];
  }

  keys(): IterableIterator<K> {
    return this.#slots.keys();
  }

  /** Values in the order in which their keys came; what comes while it is walked comes too. */
  *values(): IterableIterator<V> {
    for (const slot of this.#slots.values()) yield this.#values[slot] as V;
  }

  *entries(): IterableIterator<[K, V]> {
    for (const [key, slot] of this.#slots) yield [key, this.#values[slot] as V];
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.entries();
  }
}

/** A set of objects that come and go, in insertion order: see {@link SlotMap}. */
export class Roster<T extends object> implements Iterable<T> {
  readonly #items = new SlotMap<number, T>();
  #last = 0;

  get size(): number {
    return this.#items.size;
  }

  /** @returns the number by which it is taken out again */
  add(item: T): number {
    this.#items.set(++this.#last, item);
    return this.#last;
  }

  /** Takes out what was added under a number. @returns whether it was there */
  remove(number: number): boolean {
    return this.#items.delete(number);
  }

  clear(): void {
    this.#items.clear();
  }

  [Symbol.iterator](): IterableIterator<T> {
    return this.#items.values();
  }
}

/** The value of a key as a list, empty if there is none; without a key all values. */
export function valuesOf<K, V>(map: { get(key: K): V | undefined; values(): Iterable<V> }, key: K | undefined): V[] {
  if (key === undefined) return [...map.values()];
  const value = map.get(key);
  return value === undefined ? [] : [value];
}
