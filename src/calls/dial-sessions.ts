import type { ChannelEntry, ChannelFacts } from '../actors/channel-entry.ts';
import type { DialDump } from '../actors/dumps.ts';
import { Roster, SlotMap } from '../lib/slot-map.ts';

/** Channels that the dialplan has brought together, or is about to: a Dial with its caller and those it calls. */
export type Session = {
  /** Another channel replaces one of its parties. */
  replaced(old: ChannelEntry, newcomer: ChannelEntry): void;
  /** One of them goes elsewhere, and is not to be hung up for that. */
  departed(entry: ChannelEntry): void;
  /** One of its parties is in a consultation call, or has returned. */
  absent(isAbsent: boolean): void;
};

/** Which dialSessions each channel is in. */
export class DialSessions {
  readonly #ofChannel = new SlotMap<string, Set<Session>>();
  readonly #members = new WeakMap<Session, Set<string>>();
  #size = 0;

  add(channelId: string, session: Session): void {
    this.#ofChannel.set(channelId, (this.#ofChannel.get(channelId) ?? new Set()).add(session));
    const members = this.#members.get(session);
    if (members) members.add(channelId);
    else {
      this.#members.set(session, new Set([channelId]));
      this.#size++;
    }
  }

  /** The session is over, for all in it. */
  remove(session: Session): void {
    for (const id of this.#members.get(session) ?? []) {
      const all = this.#ofChannel.get(id);
      if (all?.delete(session) && all.size === 0) this.#ofChannel.delete(id);
    }
    if (this.#members.delete(session)) this.#size--;
  }

  /** Replaces a channel by another in its session. */
  replace(old: ChannelEntry, newcomer: ChannelEntry): void {
    for (const session of [...(this.#ofChannel.get(old.id) ?? [])]) {
      this.add(newcomer.id, session);
      session.replaced(old, newcomer);
    }
  }

  /** A channel goes elsewhere. */
  depart(entry: ChannelEntry): void {
    for (const session of [...(this.#ofChannel.get(entry.id) ?? [])]) session.departed(entry);
  }

  /** A channel starts or ends a consultation call; its previous partners wait. */
  absent(channelId: string, isAbsent: boolean): void {
    for (const session of [...(this.#ofChannel.get(channelId) ?? [])]) session.absent(isAbsent);
  }

  get size(): number {
    return this.#size;
  }
}

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
