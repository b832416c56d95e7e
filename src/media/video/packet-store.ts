import type { LimitHit } from '../../lib/limit-counts.ts';

/** One place; it is used again and again. `packet` is undefined once it was let go of. */
type Stored = { number: number; packet: Uint8Array | undefined; at: number; again: number; againAt: number };

type PacketStoreOptions = {
  /** Packets that are kept, at most. */
  packets: number;
  /** How long each is kept, in ms. */
  ms: number;
  /** Takes a packet that is not kept any more. */
  letGo: (packet: Uint8Array) => void;
  /** Hears of packets that are missed and not kept any more. */
  hit: LimitHit;
};

/** A packet is sent again so often, and not sooner after the last time than this, in ms: who asks more is not answered. */
const again = { most: 2, everyMs: 20 };

/** The last packets of a stream that was sent, for who missed some. Bounded in number and time. */
export class PacketStore {
  readonly #options: PacketStoreOptions;
  readonly #slots: (Stored | undefined)[] = [];
  /** The lowest number that may still be kept, and the one behind the highest. */
  #from = 0;
  #to = 0;

  constructor(options: PacketStoreOptions) {
    this.#options = options;
  }

  /** Keeps a packet. @param number its sequence number, never wrapped. */
  put(number: number, packet: Uint8Array, at: number): void {
    const { packets } = this.#options;
    if (packets === 0 || number < this.#to - packets) return;
    // What numbers left out are of another time.
    if (this.#to === this.#from || number - this.#to > packets) {
      this.clear();
      this.#from = number;
      this.#to = number;
    }
    const slot = number % packets;
    const stored = this.#slots[slot];
    if (stored) {
      if (stored.packet) this.#options.letGo(stored.packet);
      stored.number = number;
      stored.packet = packet;
      stored.at = at;
      stored.again = 0;
      stored.againAt = Number.NEGATIVE_INFINITY;
    } else this.#slots[slot] = { number, packet, at, again: 0, againAt: Number.NEGATIVE_INFINITY };
    if (number >= this.#to) this.#to = number + 1;
    this.#from = Math.max(Math.min(this.#from, number), this.#to - packets);
  }

  /** A packet that somebody misses, by its number of 16 bits; undefined when it is gone, or was sent again often enough. */
  take(sequence: number, now: number): Uint8Array | undefined {
    const { packets, ms, hit } = this.#options;
    if (packets === 0 || this.#to === 0) return undefined;
    const last = this.#to - 1;
    const behind = (last - sequence) & 0xffff;
    // Numbers that were not used yet are behind by more than half of all.
    if (behind >= packets) {
      if (behind < 0x8000) hit('media.video.resend_packets');
      return undefined;
    }
    const number = last - behind;
    const stored = this.#slots[number % packets];
    if (number < this.#from || (stored?.packet && now - stored.at > ms)) {
      hit('media.video.resend_time');
      return undefined;
    }
    if (!stored?.packet || stored.number !== number) return undefined;
    if (stored.again >= again.most || now - stored.againAt < again.everyMs) return undefined;
    stored.again++;
    stored.againAt = now;
    return stored.packet;
  }

  /** Lets go of what was kept long enough. */
  expire(now: number): void {
    const { packets, ms, letGo } = this.#options;
    for (; this.#from < this.#to; this.#from++) {
      const stored = this.#slots[this.#from % packets];
      if (stored?.packet && stored.number === this.#from && now - stored.at <= ms) return;
      if (!stored?.packet) continue;
      letGo(stored.packet);
      stored.packet = undefined;
    }
  }

  clear(): void {
    for (const stored of this.#slots) if (stored?.packet) this.#options.letGo(stored.packet);
    this.#slots.length = 0;
    this.#from = this.#to;
  }
}
