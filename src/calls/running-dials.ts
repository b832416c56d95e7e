import type { DialDump } from '../actors/dumps.ts';
import { Roster, SlotMap } from '../lib/slot-map.ts';

/** A Dial that can be saved: undefined when nothing is to go on of it. */
type SavedDial = { dump(): DialDump | undefined };

/** The Dials that call, or whose parties are with each other: what is put down of them, and what they go on from. */
export class RunningDials {
  readonly #running = new Roster<SavedDial>();
  readonly #restored = new SlotMap<string, DialDump>();

  /** From now on a Dial is put down. @returns its number, by which it is removed. */
  add(dial: SavedDial): number {
    return this.#running.add(dial);
  }

  remove(number: number): void {
    this.#running.remove(number);
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
    return [...this.#restored.values(), ...[...this.#running].flatMap((dial) => dial.dump() ?? [])];
  }

  /** Takes Dials up again, before the dialplan of their channels goes on. */
  restore(dumps: readonly DialDump[]): void {
    for (const dump of dumps) this.#restored.set(dump.actor.context.caller, dump);
  }
}
