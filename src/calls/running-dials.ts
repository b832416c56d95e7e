import type { DialDump } from '../actors/dumps.ts';
import { SlotMap } from '../lib/slot-map.ts';

/** The Dials that call, or whose parties are with each other: what is put down of them, and what they go on from. */
export class RunningDials {
  readonly #running = new SlotMap<string, () => DialDump | undefined>();
  readonly #restored = new SlotMap<string, DialDump>();

  /** From now on a Dial is put down. @param caller id of its channel. @returns a function that ends it. */
  add(caller: string, dump: () => DialDump | undefined): () => void {
    this.#running.set(caller, dump);
    return () => {
      if (this.#running.get(caller) === dump) this.#running.delete(caller);
    };
  }

  /** What the Dial of a channel goes on from; once. */
  take(caller: string): DialDump | undefined {
    const dump = this.#restored.get(caller);
    this.#restored.delete(caller);
    return dump;
  }

  /** The channel is gone: its Dial will not begin any more. */
  forget(caller: string): void {
    this.#restored.delete(caller);
  }

  dump(): DialDump[] {
    return [...this.#restored.values(), ...[...this.#running.values()].flatMap((dump) => dump() ?? [])];
  }

  /** Takes Dials up again, before the dialplan of their channels goes on. */
  restore(dumps: readonly DialDump[]): void {
    for (const dump of dumps) this.#restored.set(dump.caller, dump);
  }
}
