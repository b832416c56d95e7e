/** What `mutablesOf` is tested with: two variables, a field and a member that change, and some that are no state. */

let total = 0;

export class Counter {
  #count = 0;
  readonly #step: number;

  constructor(step: number) {
    this.#step = step;
  }

  add(other: { seen?: number }): number {
    let local = 1;
    for (let index = 0; index < 3; index++) local += index;
    this.#count += this.#step;
    other.seen = local;
    total++;
    return this.#count;
  }
}

export function makeTotal(): () => number {
  let outer = 0;
  let first = total;
  first += 1;
  return () => {
    [outer] = [outer + first];
    return outer;
  };
}
