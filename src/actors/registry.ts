import { SlotMap, valuesOf } from '../lib/slot-map.ts';
import { AriError, type AriErrorCode, type AriErrorParameters } from '../models/errors.ts';

/** Refusals whose message names no parameter. */
type PlainErrorCode = {
  [C in AriErrorCode]: keyof AriErrorParameters<C> extends never ? C : never;
}[AriErrorCode];

/** Running objects by id, listed in the order in which they were added. Knows which error a missing one is. */
export class Registry<A> {
  readonly #items = new SlotMap<string, A>();
  readonly #notFound: PlainErrorCode;

  /** @param notFound the error that {@link get} throws for an unknown id. */
  constructor(notFound: PlainErrorCode) {
    this.#notFound = notFound;
  }

  /** @throws Error when the id is taken: callers check with {@link has} and refuse in their own words. */
  add(id: string, item: A): void {
    if (this.#items.has(id)) throw new Error(`the id '${id}' is already registered`);
    this.#items.set(id, item);
  }

  /** Forgets an id; an unknown one is ignored. */
  remove(id: string): void {
    this.#items.delete(id);
  }

  has(id: string): boolean {
    return this.#items.has(id);
  }

  find(id: string): A | undefined {
    return this.#items.get(id);
  }

  /** @throws AriError the registry's not-found error. */
  get(id: string): A {
    const item = this.#items.get(id);
    if (item === undefined) throw new AriError(this.#notFound);
    return item;
  }

  /** The item with that id, if there is one; all without an id. */
  those(id: string | undefined): A[] {
    return valuesOf(this.#items, id);
  }

  /** A copy, safe to walk while items come and go. */
  all(): A[] {
    return [...this.#items.values()];
  }

  get size(): number {
    return this.#items.size;
  }
}
