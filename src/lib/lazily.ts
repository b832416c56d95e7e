/**
 * The items of a list, each made when it is asked for: a long answer is then made in slices. `make` gives undefined for
 * what has gone meanwhile.
 */
export function* lazily<From, To>(from: Iterable<From>, make: (item: From) => To | undefined): Generator<To> {
  for (const item of from) {
    const made = make(item);
    if (made !== undefined) yield made;
  }
}
