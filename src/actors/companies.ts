import type { ChannelEntry } from './channel-entry.ts';

/** Channels that the dialplan has brought together, or is about to: a Dial with its caller and those it calls. */
export type Company = {
  /** Another channel takes the place of one of them. */
  replaced(old: ChannelEntry, newcomer: ChannelEntry): void;
  /** One of them goes elsewhere, and is not to be hung up for that. */
  departed(entry: ChannelEntry): void;
};

/** Which companies each channel is in. */
export class Companies {
  readonly #ofChannel = new Map<string, Set<Company>>();
  readonly #members = new Map<Company, Set<string>>();

  add(channelId: string, company: Company): void {
    this.#ofChannel.set(channelId, (this.#ofChannel.get(channelId) ?? new Set()).add(company));
    this.#members.set(company, (this.#members.get(company) ?? new Set()).add(channelId));
  }

  /** The company is over, for all in it. */
  remove(company: Company): void {
    for (const id of this.#members.get(company) ?? []) {
      const all = this.#ofChannel.get(id);
      if (all?.delete(company) && all.size === 0) this.#ofChannel.delete(id);
    }
    this.#members.delete(company);
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

  get size(): number {
    return this.#members.size;
  }
}
