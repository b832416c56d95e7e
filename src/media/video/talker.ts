/** Time of the last change of the shown member. */
type TalkerOptions = {
  /** Time as active speaker before it is shown, in ms: coughs are shorter. */
  afterMs: number;
  /** How long at least the same one is shown, in ms. */
  holdMs: number;
};

/** The source of all members: the active speaker with video, with hysteresis; and the source of that member. */
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
   * Decides again.
   * @param speaker the active speaker. @param live members with video, in joining order. @param now monotonic ms.
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

  /** The source of a member: the present talker; for the talker the previous one, or any other. */
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
