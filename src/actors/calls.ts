import { lifeOf } from '../machines/channel.ts';
import type { ChannelEntry } from './channel-entry.ts';

/** Which channels belong to one call (`linkedid`), in the order in which they came to it. */
export class Calls {
  readonly #channels = new Map<string, ChannelEntry[]>();
  readonly #callOf = new Map<ChannelEntry, string>();

  /** The channel belongs to that call from now on, and to no other. */
  enter(entry: ChannelEntry, call: string): void {
    this.leave(entry);
    this.#callOf.set(entry, call);
    const channels = this.#channels.get(call);
    if (channels) channels.push(entry);
    else this.#channels.set(call, [entry]);
  }

  /** The channel is no more. */
  leave(entry: ChannelEntry): void {
    const call = this.#callOf.get(entry);
    const channels = call === undefined ? undefined : this.#channels.get(call);
    if (call === undefined || !channels) return;
    this.#callOf.delete(entry);
    channels.splice(channels.indexOf(entry), 1);
    if (channels.length === 0) this.#channels.delete(call);
  }

  /**
   * The audio formats of whom a channel will probably meet once it is answered: of the channels of its call that are Up the
   * one that came last. Undefined where there is none.
   */
  partnerFormats(entry: ChannelEntry): readonly string[] | undefined {
    const channels = this.#channels.get(this.#callOf.get(entry) ?? '') ?? [];
    const partner = channels.findLast((each) => each !== entry && lifeOf(each.actor.getSnapshot()) === 'up');
    return partner?.leg.formats;
  }
}
