/** Octets of the memory that packets are made in, one behind the other. */
const slabOctets = 65_536;
/** Octets of returned packets that may wait for reuse; more are freed. */
const mostWaiting = 8_388_608;

/**
 * Memory for packets that are kept for a while, allocated in large pieces. Returned memory is reused by the next packet
 * of that length; most video packets have one length. Otherwise packets kept for a second would enter the old
 * generation, which would be marked several times a second.
 */
export class PacketRoom {
  #slab = new ArrayBuffer(0);
  #used = 0;
  /** Returned memory, by length. */
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

  /** Returns memory that was taken here and is no longer used. */
  give(memory: Uint8Array): void {
    const { length } = memory;
    if (this.#waitingOctets + length > mostWaiting) {
      // Lengths that are not used again would keep their pieces.
      this.#waiting.clear();
      this.#waitingOctets = 0;
    }
    const waiting = this.#waiting.get(length);
    if (waiting) waiting.push(memory);
    else this.#waiting.set(length, [memory]);
    this.#waitingOctets += length;
  }
}
