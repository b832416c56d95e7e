/** Values that were seen from time to time: the last of them, and how far they lie apart. */
export type SpreadFigures = { last: number; minimum: number; maximum: number; mean: number; deviation: number };

/** Keeps of values that come one after another what their statistics need, in constant space. */
export class Spread {
  #count = 0;
  #sum = 0;
  #squares = 0;
  #last = 0;
  #minimum = Number.POSITIVE_INFINITY;
  #maximum = Number.NEGATIVE_INFINITY;

  add(value: number): void {
    this.#count++;
    this.#sum += value;
    this.#squares += value * value;
    this.#last = value;
    this.#minimum = Math.min(this.#minimum, value);
    this.#maximum = Math.max(this.#maximum, value);
  }

  /** Undefined before the first value. */
  get figures(): SpreadFigures | undefined {
    if (this.#count === 0) return undefined;
    const mean = this.#sum / this.#count;
    return {
      last: this.#last,
      minimum: this.#minimum,
      maximum: this.#maximum,
      mean,
      deviation: Math.sqrt(Math.max(0, this.#squares / this.#count - mean * mean)),
    };
  }
}
