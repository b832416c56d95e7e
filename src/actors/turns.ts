import { SlotMap } from '../lib/slot-map.ts';
import type { WaitsBehind } from '../machines/ownership.ts';
import type { ChannelEntry } from './channel-entry.ts';
import type { QueuedWork } from './media-queue.ts';
import type { Playbacks } from './playbacks.ts';

/**
 * Turns of channels that leave their application after their playbacks, as Asterisk's channel commands wait. The
 * ownership chart has one pending departure for each turn, or is carrying it out.
 */
export interface Turns {
  /** Takes a turn behind all that sounds or waits on a channel. */
  queue(entry: ChannelEntry): void;
  /** Gives up the first turns of a channel, until so many are left. */
  release(channelId: string, left: number): void;
  /** Takes a turn again that had come: nothing else may sound before it is given up. */
  hold(entry: ChannelEntry): void;
  /** Takes a turn again where it was: behind something, or before everything. */
  restore(entry: ChannelEntry, behind: WaitsBehind | undefined): void;
  /** Channels with turns: for tests. */
  readonly size: number;
}

/**
 * Makes the owner of all turns.
 * @param begin tells a channel that its first turn has come
 */
export function createTurns(playbacks: Pick<Playbacks, 'queueOf'>, begin: (entry: ChannelEntry) => void): Turns {
  const turns = new SlotMap<string, Turn[]>();

  const make = (entry: ChannelEntry): Turn => {
    const turn = new Turn(entry, turns, begin);
    const others = turns.get(entry.id);
    if (others) others.push(turn);
    else turns.set(entry.id, [turn]);
    return turn;
  };
  const queueOf = (id: string) => playbacks.queueOf({ kind: 'channel', id });

  return {
    queue: (entry) => queueOf(entry.id).add(make(entry)),
    hold: (entry) => queueOf(entry.id).add(make(entry), true),
    restore: (entry, behind) => queueOf(entry.id).insert(make(entry), behind),

    release(id, left) {
      const all = turns.get(id);
      if (!all) return;
      const released = all.splice(0, all.length - left);
      if (all.length === 0) turns.delete(id);
      for (const turn of released) queueOf(id).finished(turn);
    },

    get size() {
      return turns.size;
    },
  };
}

class Turn implements QueuedWork {
  readonly #entry: ChannelEntry;
  readonly #turns: SlotMap<string, Turn[]>;
  readonly #begin: (entry: ChannelEntry) => void;

  constructor(entry: ChannelEntry, turns: SlotMap<string, Turn[]>, begin: (entry: ChannelEntry) => void) {
    this.#entry = entry;
    this.#turns = turns;
    this.#begin = begin;
  }

  begin(): void {
    this.#begin(this.#entry);
  }

  /** The channel is being hung up: nothing plays on it. */
  abandon(): void {
    this.#turns.delete(this.#entry.id);
  }
}
