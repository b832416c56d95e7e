/**
 * A map for what comes and goes all the time, such as calls: like a `Map`, in whose order it is walked, but what has been
 * deleted is let go of for good.
 *
 * A `Map` of V8 (`OrderedHashMap`) lays its entries into a new table whenever the old one is full of deleted ones, and leaves
 * in the old table what was there, and the way to the new one. Once one such table has got old enough to be left alone by the
 * collector of young objects, it keeps all that come after it, and with them everything they ever held, until the whole heap
 * is collected: each call survives, is copied twice and fills the old generation. Here tables hold nothing but keys
 * and numbers; values lie beside them, in slots that are cleared and used again.
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

  /** Puts a value in the place of the one before, or behind all others. */
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

/** A set of objects that come and go all the time, in the order in which they came: see {@link SlotMap}. */
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
