/** Whether a far side that is expected to send still does. */
export class Presence {
  readonly #limitMs: number;
  readonly #given: () => void;
  #heardAt = 0;
  #isGone = false;

  /** @param limitMs longest silence; 0: no limit. @param given called at each timeout. */
  constructor(limitMs: number, given: () => void) {
    this.#limitMs = limitMs;
    this.#given = given;
  }

  /** When it was last heard or expected; monotonic ms. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** It was given up, and not heard since. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** It is there, or is expected from now on. @returns whether it was given up before. */
  heard(at: number): boolean {
    const was = this.#isGone;
    this.#heardAt = at;
    this.#isGone = false;
    return was;
  }

  /** Something else of it has come that shows that it lives, which does not end that it was given up. */
  lives(at: number): void {
    this.#heardAt = at;
  }

  /** Gives it up when that is due. @param expected whether it should send at all. */
  check(now: number, expected: boolean): void {
    if (this.#limitMs <= 0 || this.#isGone) return;
    if (!expected) this.#heardAt = now;
    if (now - this.#heardAt < this.#limitMs) return;
    this.#isGone = true;
    this.#given();
  }

  /** When it is to be {@link check}ed next; monotonic ms. */
  dueAt(now: number, expected: boolean): number {
    if (this.#limitMs <= 0 || this.#isGone) return Number.POSITIVE_INFINITY;
    return (expected ? this.#heardAt : now) + this.#limitMs;
  }
}
