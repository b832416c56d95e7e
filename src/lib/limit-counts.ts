/** Hears that a bound was met: the setting that makes it, e.g. `sip.limits.source_rate`. */
export type LimitHit = (setting: string) => void;

/** Where nobody counts. */
export const uncounted: LimitHit = () => {};

/** Counts how often bounds were met, by the setting that makes them. */
export class LimitCounts {
  readonly #counts = new Map<string, number>();

  /** Counts one. */
  readonly hit: LimitHit = (setting) => void this.#counts.set(setting, (this.#counts.get(setting) ?? 0) + 1);

  /** Counts so far; a bound that was never met is left out. */
  figures(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
