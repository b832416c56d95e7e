/** When who is shown changes. */
type TalkerOptions = {
  /** How long somebody must have had the floor, in ms: a cough has it for less. */
  afterMs: number;
  /** How long at least the same one is shown, in ms. */
  holdMs: number;
};

/** Whom all are shown: who has the floor and sends video, but not each moment another; and whom that one is shown. */
export class Talker {
  readonly #options: TalkerOptions;
  #current: number | undefined;
  #previous: number | undefined;
  #since = Number.NEGATIVE_INFINITY;
  #candidate: { session: number; since: number } | undefined;

  constructor(options: TalkerOptions) {
    this.#options = options;
  }

  get current(): number | undefined {
    return this.#current;
  }

  /**
   * Decides anew.
   * @param speaker who has the floor. @param live those who send video, in the order they came. @param now monotonic ms.
   */
  decide(speaker: number | undefined, live: readonly number[], now: number): void {
    if (this.#current === undefined || !live.includes(this.#current)) {
      const next = [speaker, this.#previous].find((each) => each !== undefined && live.includes(each)) ?? live[0];
      if (next !== this.#current) this.#show(next, now);
      return;
    }
    if (speaker === undefined || speaker === this.#current || !live.includes(speaker)) {
      this.#candidate = undefined;
      return;
    }
    if (this.#candidate?.session !== speaker) this.#candidate = { session: speaker, since: now };
    const { afterMs, holdMs } = this.#options;
    if (now - this.#candidate.since >= afterMs && now - this.#since >= holdMs) this.#show(speaker, now);
  }

  /** Whom a member is shown: the current one; that one the one before, or any other. */
  shownTo(session: number, live: readonly number[]): number | undefined {
    if (session !== this.#current) return this.#current;
    const previous = this.#previous;
    if (previous !== undefined && previous !== session && live.includes(previous)) return previous;
    return live.find((each) => each !== session);
  }

  #show(session: number | undefined, now: number): void {
    if (this.#current !== undefined) this.#previous = this.#current;
    this.#current = session;
    this.#since = now;
    this.#candidate = undefined;
  }
}
