/** First in, first out; taking the first costs the same however many there are. */
export class Queue<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get first(): T | undefined {
    return this.#items[this.#first];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#first];
    if (this.#first === this.#items.length) return undefined;
    this.#items[this.#first++] = undefined;
    if (this.#first > 1_000 && this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
