import type { ChannelEntry } from '../actors/channel-entry.ts';
import { SlotMap } from '../lib/slot-map.ts';

/** Channels that the dialplan has brought together, or is about to: a Dial with its caller and those it calls. */
export type Company = {
  /** Another channel replaces one of its parties. */
  replaced(old: ChannelEntry, newcomer: ChannelEntry): void;
  /** One of them goes elsewhere, and is not to be hung up for that. */
  departed(entry: ChannelEntry): void;
  /** One of its parties is in a consultation call, or has returned. */
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

  /** Replaces a channel by another in its session. */
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

  /** A channel starts or ends a consultation call; its previous partners wait. */
  absent(channelId: string, isAbsent: boolean): void {
    for (const company of [...(this.#ofChannel.get(channelId) ?? [])]) company.absent(isAbsent);
  }

  get size(): number {
    return this.#size;
  }
}
