/** Most things whose crashes are counted; the oldest goes first. */
const mostCounted = 1_000;

/** Counts the crashes of each call: a call that crashes the server repeatedly is not restored. */
export class Blame {
  readonly #crashes = new Map<string, number>();
  readonly #left = new Set<string>();

  /** @returns whether that was one crash too many. */
  count(mark: string, most: number): boolean {
    const crashes = (this.#crashes.get(mark) ?? 0) + 1;
    this.#crashes.delete(mark);
    this.#crashes.set(mark, crashes);
    if (this.#crashes.size > mostCounted) this.#crashes.delete(this.#crashes.keys().next().value as string);
    if (crashes < most) return false;
    this.#left.add(mark);
    return true;
  }

  /** What is not taken up again. */
  get left(): string[] {
    return [...this.#left];
  }

  /** A server runs without them. */
  forgetLeft(): void {
    for (const mark of this.#left) this.#crashes.delete(mark);
    this.#left.clear();
  }
}
