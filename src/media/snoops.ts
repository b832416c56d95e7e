import type { End } from './end.ts';
import { SnoopEnd } from './snoop-end.ts';

/** Snoops by the end they listen to, which they do not outlive. */
export class Snoops {
  readonly #ofTargets = new Map<End, Set<SnoopEnd>>();
  readonly #oldestFirst: SnoopEnd[] = [];
  readonly #failed: (snoop: SnoopEnd, error: unknown) => void;

  /** @param failed may close the snoop */
  constructor(failed: (snoop: SnoopEnd, error: unknown) => void) {
    this.#failed = failed;
  }

  add(target: End, snoop: SnoopEnd): void {
    const snoops = this.#ofTargets.get(target) ?? new Set();
    this.#ofTargets.set(target, snoops.add(snoop));
    this.#oldestFirst.push(snoop);
  }

  /** Last phase of a tick for snoops, before others: whispered audio is sent in the same tick. */
  send(): void {
    // The newest first: a snoop may whisper to an older one.
    for (let index = this.#oldestFirst.length - 1; index >= 0; index--) {
      const snoop = this.#oldestFirst[index];
      try {
        snoop?.send();
      } catch (error) {
        if (snoop) this.#failed(snoop, error);
      }
    }
  }

  /**
   * An end closes, be it a target or a snoop.
   * @returns the snoops that listened to it and have to end with it
   */
  forget(end: End): Iterable<SnoopEnd> {
    const snoops = this.#ofTargets.get(end) ?? [];
    this.#ofTargets.delete(end);
    if (end instanceof SnoopEnd) {
      for (const others of this.#ofTargets.values()) others.delete(end);
      this.#oldestFirst.splice(this.#oldestFirst.indexOf(end), 1);
    }
    return snoops;
  }
}
