import type { ChannelFacts } from '../actors/channel-facts.ts';
import type { DialDump } from '../actors/dumps.ts';
import { Roster, SlotMap } from '../lib/slot-map.ts';

/** A Dial that can be saved: undefined when nothing is to go on of it. */
type SavedDial = { dump(): DialDump | undefined };

/** The running Dials, for the dump, and the saved ones to continue from. */
export class RunningDials {
  readonly #running = new Roster<SavedDial>();
  readonly #restored = new SlotMap<string, DialDump>();

  constructor(facts: ChannelFacts) {
    facts.on('channel.gone', ({ id }) => this.#restored.delete(id));
  }

  /** Adds a Dial to the dump. @returns its number, to remove it. */
  add(dial: SavedDial): number {
    return this.#running.add(dial);
  }

  remove(number: number): void {
    this.#running.remove(number);
  }

  /** Takes the saved Dial of a channel; once. */
  take(caller: string): DialDump | undefined {
    const dump = this.#restored.get(caller);
    this.#restored.delete(caller);
    return dump;
  }

  dump(): DialDump[] {
    return [...this.#restored.values(), ...[...this.#running].flatMap((dial) => dial.dump() ?? [])];
  }

  /** Takes Dials up again, before the dialplan of their channels goes on. */
  restore(dumps: readonly DialDump[]): void {
    for (const dump of dumps) this.#restored.set(dump.actor.context.caller, dump);
  }
}
