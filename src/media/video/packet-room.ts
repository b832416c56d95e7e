/** Octets of the memory that packets are made in, one behind the other. */
const slabOctets = 65_536;
/** Octets of packets that may wait to be used again; what is given back beyond that is let go. */
const mostWaiting = 8_388_608;

/**
 * Memory for packets that are kept for a while: a large piece at a time, so that a packet costs no allocation of its own. What
 * was given back is used again by the next packet of that length, as those of video mostly have one: otherwise everything that
 * is kept for a second would grow old in the heap, which would be marked as a whole several times a second.
 */
export class PacketRoom {
  #slab = new ArrayBuffer(0);
  #used = 0;
  /** What was given back, by length. */
  readonly #waiting = new Map<number, Uint8Array[]>();
  #waitingOctets = 0;

  /** Memory of so many octets, which hold anything. */
  take(octets: number): Uint8Array {
    const again = this.#waiting.get(octets)?.pop();
    if (again) {
      this.#waitingOctets -= octets;
      return again;
    }
    if (this.#slab.byteLength - this.#used < octets) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(slabOctets, octets)).buffer;
      this.#used = 0;
    }
    const taken = new Uint8Array(this.#slab, this.#used, octets);
    this.#used += octets;
    return taken;
  }

  /** Nobody reads or keeps this any more; it was taken here. */
  give(memory: Uint8Array): void {
    const { length } = memory;
    if (this.#waitingOctets + length > mostWaiting) {
      // Of lengths that nobody needs again: the pieces that they lie in would stay for them.
      this.#waiting.clear();
      this.#waitingOctets = 0;
    }
    const waiting = this.#waiting.get(length);
    if (waiting) waiting.push(memory);
    else this.#waiting.set(length, [memory]);
    this.#waitingOctets += length;
  }
}
