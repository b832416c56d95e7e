import type { ChannelEntry } from '../actors/channel-entry.ts';
import { SlotMap } from '../lib/slot-map.ts';

/** Channels that the dialplan has brought together, or is about to: a Dial with its caller and those it calls. */
export type Company = {
  /** Another channel takes the place of one of them. */
  replaced(old: ChannelEntry, newcomer: ChannelEntry): void;
  /** One of them goes elsewhere, and is not to be hung up for that. */
  departed(entry: ChannelEntry): void;
  /** One of them talks to somebody else, and is waited for; or not any longer. */
  absent(isAbsent: boolean): void;
};

/** Which companies each channel is in. */
export class Companies {
  readonly #ofChannel = new SlotMap<string, Set<Company>>();
  readonly #members = new WeakMap<Company, Set<string>>();
  #size = 0;

  add(channelId: string, company: Company): void {
    this.#ofChannel.set(channelId, (this.#ofChannel.get(channelId) ?? new Set()).add(company));
    const members = this.#members.get(company);
    if (members) members.add(channelId);
    else {
      this.#members.set(company, new Set([channelId]));
      this.#size++;
    }
  }

  /** The company is over, for all in it. */
  remove(company: Company): void {
    for (const id of this.#members.get(company) ?? []) {
      const all = this.#ofChannel.get(id);
      if (all?.delete(company) && all.size === 0) this.#ofChannel.delete(id);
    }
    if (this.#members.delete(company)) this.#size--;
  }

  /** One channel takes the place of another wherever that is. */
  replace(old: ChannelEntry, newcomer: ChannelEntry): void {
    for (const company of [...(this.#ofChannel.get(old.id) ?? [])]) {
      this.add(newcomer.id, company);
      company.replaced(old, newcomer);
    }
  }

  /** A channel goes elsewhere. */
  depart(entry: ChannelEntry): void {
    for (const company of [...(this.#ofChannel.get(entry.id) ?? [])]) company.departed(entry);
  }

  /** A channel talks to somebody else, and those it was with wait for it; or not any longer. */
  absent(channelId: string, isAbsent: boolean): void {
    for (const company of [...(this.#ofChannel.get(channelId) ?? [])]) company.absent(isAbsent);
  }

  get size(): number {
    return this.#size;
  }
}
