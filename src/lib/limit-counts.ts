/** Hears that a bound was met, so many times (once): the setting that makes it, e.g. `sip.limits.source_rate`. */
export type LimitHit = (setting: string, times?: number) => void;

/** Used without counting. */
export const uncounted: LimitHit = () => {};

/** Counts how often bounds were met, by the setting that makes them. */
export class LimitCounts {
  readonly #counts = new Map<string, number>();

  /** Counts one, or as many. */
  readonly hit: LimitHit = (setting, times = 1) =>
    void this.#counts.set(setting, (this.#counts.get(setting) ?? 0) + times);

  /** Counts so far; a bound that was never met is left out. */
  figures(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Counts since they were taken last. */
  take(): Readonly<Record<string, number>> {
    const taken = this.figures();
    this.#counts.clear();
    return taken;
  }
}
