import type { BridgeEntry, Entry, Stray } from '../actors/bridge-entry.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';

type BridgeRejoinsOptions = {
  clock: Clock;
  log: Logger;
  /** Between two attempts, in ms. */
  everyMs: number;
  /** After this time nobody comes again, in ms. 0: at once. */
  mostMs: number;
  /** Asks a node for channels again. @throws (rejects) AriError */
  enter(bridge: BridgeEntry, node: string, channels: readonly string[], entry: Entry): Promise<void>;
  /** Whether a bridge is still there. */
  isThere(bridge: BridgeEntry): boolean;
};

/** Lost members of one bridge at one node. */
type Rejoin = {
  readonly bridge: BridgeEntry;
  readonly node: string;
  readonly members: Map<string, Entry>;
  until: number;
  timer: unknown;
};

/**
 * Members at other nodes whose link was lost, because one of both nodes began again or was taken over, or the audio failed. The
 * other node is asked for them again until it answers, or the time is over. It adds those that are in no other bridge.
 */
export class BridgeRejoins {
  readonly #options: BridgeRejoinsOptions;
  readonly #rejoins = new Map<string, Rejoin>();

  constructor(options: BridgeRejoinsOptions) {
    this.#options = options;
  }

  add(strays: readonly Stray[]): void {
    const { clock, mostMs } = this.#options;
    if (mostMs === 0) return;
    for (const { bridge, node, member } of strays) {
      const key = `${node} ${bridge.id}`;
      const known = this.#rejoins.get(key);
      const rejoin =
        known?.bridge === bridge ? known : { bridge, node, members: new Map(), until: 0, timer: undefined };
      if (rejoin !== known) this.#forget(key);
      const { channelId, ...entry } = member;
      rejoin.members.set(channelId, entry);
      rejoin.until = clock.monotonic() + mostMs;
      this.#rejoins.set(key, rejoin);
      rejoin.timer ??= clock.setTimeout(() => this.#try(key, rejoin), 0);
    }
  }

  close(): void {
    for (const key of [...this.#rejoins.keys()]) this.#forget(key);
  }

  #forget(key: string): void {
    this.#options.clock.clearTimeout(this.#rejoins.get(key)?.timer);
    this.#rejoins.delete(key);
  }

  #try(key: string, rejoin: Rejoin): void {
    const { clock, log, everyMs } = this.#options;
    const again = (error: unknown): void => {
      if (this.#rejoins.get(key) !== rejoin) return;
      const isAway = error instanceof AriError && error.code === 'nodeUnavailable';
      if (isAway && clock.monotonic() + everyMs < rejoin.until)
        rejoin.timer = clock.setTimeout(() => this.#try(key, rejoin), everyMs);
      else {
        const { bridge, node, members } = rejoin;
        log.warn(
          { bridge: bridge.id, node, members: members.size, error },
          'lost members of a bridge do not come again',
        );
        this.#forget(key);
      }
    };
    const done = (): void => {
      if (this.#rejoins.get(key) !== rejoin) return;
      // More were lost meanwhile.
      if (rejoin.members.size > 0) rejoin.timer = clock.setTimeout(() => this.#try(key, rejoin), everyMs);
      else this.#forget(key);
    };
    this.#enter(rejoin).then(done, again);
  }

  /** Those with the same settings come together. Who has come again meanwhile stays. */
  async #enter({ bridge, node, members }: Rejoin): Promise<void> {
    const groups = new Map<string, { entry: Entry; channels: string[] }>();
    for (const [channelId, entry] of members) {
      if (bridge.guests.has(channelId)) continue;
      const key = JSON.stringify(entry);
      const group = groups.get(key) ?? { entry, channels: [] };
      group.channels.push(channelId);
      groups.set(key, group);
    }
    members.clear();
    const waiting = [...groups.values()];
    try {
      for (let group = waiting[0]; group && this.#options.isThere(bridge); group = waiting[0]) {
        await this.#options.enter(bridge, node, group.channels, group.entry);
        waiting.shift();
      }
    } catch (error) {
      for (const { entry, channels } of waiting)
        for (const channelId of channels) if (!members.has(channelId)) members.set(channelId, entry);
      throw error;
    }
  }
}
