/** Octets of the memory that packets are made in, one behind the other. */
const slabOctets = 65_536;

/** Memory for packets that are kept for a while: a large piece at a time, so that a packet costs no allocation of its own. */
export class PacketRoom {
  #slab = new ArrayBuffer(0);
  #used = 0;

  /** Memory of so many octets, which hold anything. */
  take(octets: number): Uint8Array {
    if (this.#slab.byteLength - this.#used < octets) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(slabOctets, octets)).buffer;
      this.#used = 0;
    }
    const taken = new Uint8Array(this.#slab, this.#used, octets);
    this.#used += octets;
    return taken;
  }
}
