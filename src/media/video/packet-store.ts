import type { LimitHit } from '../../lib/limit-counts.ts';

/** One entry; it is reused. `packet` is undefined after it was freed. */
type Stored = { number: number; packet: Uint8Array | undefined; at: number; again: number; againAt: number };

type PacketStoreOptions = {
  /** Packets that are kept, at most. */
  packets: number;
  /** How long each is kept, in ms. */
  ms: number;
  /** Gets a packet that is no longer kept. */
  letGo: (packet: Uint8Array) => void;
  /** Counts missed packets that are no longer kept. */
  hit: LimitHit;
};

/** Limits of retransmissions of a packet: their number, and the interval in ms. */
const again = { most: 2, everyMs: 20 };

/** The last packets of a sent stream, for retransmission. Bounded in number and time. */
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
    // Numbers before a gap belong to another time.
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

  /** A missed packet by its 16-bit number; undefined if it is gone, or was sent again often enough. */
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

  /** Frees packets beyond their time. */
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
