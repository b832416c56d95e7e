import type { SystemCalls } from './system-calls.ts';

/** Numbers of the families of addresses on Linux. */
export const addressFamily = { ipv4: 2, ipv6: 10 } as const;
export type AddressFamily = (typeof addressFamily)[keyof typeof addressFamily];

/** Octets that hold a socket address of either family, and how many of them one of each takes (ip(7), ipv6(7)). */
const room = 28;
const lengths = { [addressFamily.ipv4]: 16, [addressFamily.ipv6]: 28 };
/** Where in it the address begins, and where an IPv6 address has the number of its network interface. */
const addressAt = { [addressFamily.ipv4]: 4, [addressFamily.ipv6]: 8 };
const scopeAt = 24;
/** Octets of the longest address and of the longest name of an interface as text. */
const textRoom = 64;

/**
 * An address and a port in the kernel's own form. What was read or written last is remembered as text, so that packets of
 * one far side are compared with five words of it, and nothing is made of them.
 */
export class SocketAddress {
  /** Memory that calls read and write. */
  readonly octets = new Uint8Array(new ArrayBuffer(room));
  /** Where that is. */
  readonly at: number;
  readonly #calls: SystemCalls;
  readonly #words = new Int32Array(this.octets.buffer);
  readonly #known = new Int32Array(this.#words.length);
  #address = '';
  #port = -1;

  constructor(calls: SystemCalls) {
    this.#calls = calls;
    this.at = calls.addressOf(this.octets);
  }

  /** How many octets are the address that was written last. */
  length = 0;

  /** As text, in the form that `node:dgram` has it; {@link look} says of which octets. */
  get address(): string {
    return this.#address;
  }

  get port(): number {
    return this.#port;
  }

  /** Takes over what a call has written. */
  look(): void {
    const words = this.#words;
    const known = this.#known;
    // Family and port, then the address of IPv4; flow labels are nobody's.
    const isKnown =
      words[0] === known[0] &&
      (this.octets[0] === addressFamily.ipv4
        ? words[1] === known[1]
        : words[2] === known[2] &&
          words[3] === known[3] &&
          words[4] === known[4] &&
          words[5] === known[5] &&
          words[6] === known[6]);
    if (!isKnown) this.#read();
  }

  /** Writes an address for calls to read; false = it is none of that family, and there is nothing to go by. */
  write(family: AddressFamily, address: string, port: number): boolean {
    if (port === this.#port && address === this.#address) return true;
    const { octets } = this;
    octets.fill(0);
    octets[0] = family;
    this.length = lengths[family];
    octets[2] = port >> 8;
    octets[3] = port;
    const [text = '', zone] = address.split('%');
    if (zone !== undefined) this.#words[scopeAt / 4] = this.#calls.if_nametoindex(zone) || Number(zone) || 0;
    const isWritten = this.#calls.inet_pton(family, text, octets.subarray(addressAt[family])) === 1;
    this.#address = isWritten ? address : '';
    this.#port = isWritten ? port : -1;
    return isWritten;
  }

  #read(): void {
    const { octets } = this;
    this.#known.set(this.#words);
    this.#port = (octets[2]! << 8) | octets[3]!;
    const family = octets[0] === addressFamily.ipv6 ? addressFamily.ipv6 : addressFamily.ipv4;
    const text = Buffer.alloc(textRoom);
    this.#calls.inet_ntop(family, octets.subarray(addressAt[family]), text, textRoom);
    this.#address = untilZero(text) + (family === addressFamily.ipv6 ? this.#zone() : '');
  }

  /** An address of a link is only one together with an interface (RFC 4007 section 11). */
  #zone(): string {
    const isOfLink = this.octets[8] === 0xfe && (this.octets[9]! & 0xc0) === 0x80;
    const index = this.#words[scopeAt / 4]!;
    if (!isOfLink || index === 0) return '';
    const name = Buffer.alloc(textRoom);
    this.#calls.if_indextoname(index, name);
    return `%${untilZero(name) || index}`;
  }
}

function untilZero(text: Buffer): string {
  return text.toString('latin1', 0, text.indexOf(0));
}
