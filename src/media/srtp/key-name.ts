import type { Transform } from './layout.ts';

/** The octets that name the key in each packet (the MKI, RFC 3711 3.1). Nothing proves them, and they are not secret. */
export class KeyName {
  readonly #octets: Buffer;

  /** @param mki octets in hexadecimal; left out, packets name no key. */
  constructor(mki = '') {
    this.#octets = Buffer.from(mki, 'hex');
  }

  get length(): number {
    return this.#octets.length;
  }

  /**
   * A sealed packet with the MKI: before the tag in counter mode (RFC 3711 3.1, 3.4), else at the end (RFC 7714 8.2,
   * 9.2).
   */
  addTo(sealed: Buffer, transform: Transform): Buffer {
    if (this.length === 0) return sealed;
    const at = sealed.length - tagBehind(transform);
    return Buffer.concat([sealed.subarray(0, at), this.#octets, sealed.subarray(at)]);
  }

  /** A packet without the name; undefined when it names another key or none. */
  takeFrom(packet: Uint8Array, transform: Transform): Uint8Array | undefined {
    if (this.length === 0) return packet;
    const end = packet.length - tagBehind(transform);
    const at = end - this.length;
    if (at < 0 || this.#octets.compare(packet, at, end) !== 0) return undefined;
    return end === packet.length
      ? packet.subarray(0, at)
      : Buffer.concat([packet.subarray(0, at), packet.subarray(end)]);
  }
}

/** Octets of the tag that stand behind the name. */
const tagBehind = ({ trailerIsLast, tag }: Transform): number => (trailerIsLast ? 0 : tag);
