import type { End } from './end.ts';
import { SnoopEnd } from './snoop-end.ts';

/** Snoops by the end they listen to, which they do not outlive. */
export class Snoops {
  readonly #ofTargets = new Map<End, Set<SnoopEnd>>();

  add(target: End, snoop: SnoopEnd): void {
    const snoops = this.#ofTargets.get(target) ?? new Set();
    this.#ofTargets.set(target, snoops.add(snoop));
  }

  /**
   * An end closes, be it a target or a snoop.
   * @returns the snoops that listened to it and have to end with it
   */
  forget(end: End): Iterable<SnoopEnd> {
    const snoops = this.#ofTargets.get(end) ?? [];
    this.#ofTargets.delete(end);
    if (end instanceof SnoopEnd) for (const others of this.#ofTargets.values()) others.delete(end);
    return snoops;
  }
}
