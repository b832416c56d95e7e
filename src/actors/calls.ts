import { SlotMap } from '../lib/slot-map.ts';
import { lifeOf } from '../machines/channel.ts';
import { callOf } from '../machines/channel-vocabulary.ts';
import { type ChannelEntry, type ChannelFacts, snapshotOf } from './channel-entry.ts';

/** The channels of each call (`linkedid`) in joining order, and which channel is called for which: told by their facts. */
export class CalledChannels {
  readonly #channels = new SlotMap<string, ChannelEntry[]>();
  /** By id of the channel, as the others. */
  readonly #callOf = new Map<string, string>();
  readonly #callerOf = new SlotMap<string, ChannelEntry>();
  readonly #calledBy = new SlotMap<string, Set<ChannelEntry>>();

  constructor(facts: ChannelFacts) {
    for (const type of ['ChannelCreated', 'channel.restored', 'call.joined'] as const)
      facts.on(type, (entry) => this.#enter(entry));
    facts.on('channel.gone', (entry) => this.#leave(entry));
  }

  /** The channel belongs to its call from now on, and to no other. */
  #enter(entry: ChannelEntry): void {
    const call = callOf(snapshotOf(entry).context.linked);
    this.#leaveCall(entry);
    this.#callOf.set(entry.id, call);
    const channels = this.#channels.get(call);
    if (channels) channels.push(entry);
    else this.#channels.set(call, [entry]);
  }

  /** Removes an ended channel. */
  #leave(entry: ChannelEntry): void {
    this.#leaveCall(entry);
    const caller = this.#callerOf.get(entry.id);
    if (caller) this.#forget(caller, entry);
    for (const called of this.#calledBy.get(entry.id) ?? []) this.#callerOf.delete(called.id);
    this.#calledBy.delete(entry.id);
  }

  /** A channel is called for another one, which need not be of its call: they will probably meet. */
  calledFor(called: ChannelEntry, caller: ChannelEntry): void {
    const before = this.#callerOf.get(called.id);
    if (before) this.#forget(before, called);
    this.#callerOf.set(called.id, caller);
    const all = this.#calledBy.get(caller.id);
    if (all) all.add(called);
    else this.#calledBy.set(caller.id, new Set([called]));
  }

  /** The audio formats of the caller that a channel is called for; undefined without one. */
  callerFormats(entry: ChannelEntry): readonly string[] | undefined {
    return this.#callerOf.get(entry.id)?.leg.formats;
  }

  #forget(caller: ChannelEntry, called: ChannelEntry): void {
    this.#callerOf.delete(called.id);
    const all = this.#calledBy.get(caller.id);
    all?.delete(called);
    if (all?.size === 0) this.#calledBy.delete(caller.id);
  }

  #leaveCall(entry: ChannelEntry): void {
    const call = this.#callOf.get(entry.id);
    const channels = call === undefined ? undefined : this.#channels.get(call);
    if (call === undefined || !channels) return;
    this.#callOf.delete(entry.id);
    channels.splice(channels.indexOf(entry), 1);
    if (channels.length === 0) this.#channels.delete(call);
  }

  /**
   * The audio formats of the channel's probable peer once it is answered. First choice: the Up channel that was last
   * called for it. Second: the Up channel of its call that joined last. Undefined without one.
   */
  partnerFormats(entry: ChannelEntry): readonly string[] | undefined {
    const isPartner = (each: ChannelEntry): boolean => each !== entry && lifeOf(snapshotOf(each)) === 'up';
    const called = [...(this.#calledBy.get(entry.id) ?? [])].findLast(isPartner);
    return (called ?? this.#channels.get(this.#callOf.get(entry.id) ?? '')?.findLast(isPartner))?.leg.formats;
  }
}
