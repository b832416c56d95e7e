import type { SystemCalls } from './system-calls.ts';

/** Numbers of the families of addresses on Linux. */
export const addressFamily = { ipv4: 2, ipv6: 10 } as const;
export type AddressFamily = (typeof addressFamily)[keyof typeof addressFamily];

/** Octets that hold a socket address of either family, and how many of them one of each takes (ip(7), ipv6(7)). */
export const addressRoom = 28;
const lengths = { [addressFamily.ipv4]: 16, [addressFamily.ipv6]: 28 };
/** Offsets of the address, and of an IPv6 scope id. */
const addressAt = { [addressFamily.ipv4]: 4, [addressFamily.ipv6]: 8 };
const scopeAt = 24;
/** An IPv4-mapped address (RFC 4291 section 2.5.5.2): offset of its four octets, and of the word of ones. */
const mappedAt = 20;
const mappedMark = 16;
/** Octets of the longest address and of the longest name of an interface as text. */
const textRoom = 64;

/** Address memory of system calls: shared by all sockets of a thread, to stay in caches. */
export class AddressMemory {
  readonly octets = new Uint8Array(new ArrayBuffer(addressRoom));
  readonly words = new Int32Array(this.octets.buffer);
  /** Its address. */
  readonly at: number;

  constructor(calls: Pick<SystemCalls, 'addressOf'>) {
    this.at = calls.addressOf(this.octets);
  }
}

/**
 * An address and port in the kernel's form. The last one is also kept as text, so that packets of one far side need
 * only compare two words (seven for IPv6).
 */
export class SocketAddress {
  readonly #calls: SystemCalls;
  readonly #memory: AddressMemory;
  /** Family and port, and the address of IPv4: kept in the object itself. */
  #first = 0;
  #second = 0;
  /** All words of an address of IPv6. */
  #words: Int32Array | undefined;
  #address = '';
  #port = -1;

  /** @param memory holds it while a call reads or writes it. */
  constructor(calls: SystemCalls, memory: AddressMemory) {
    this.#calls = calls;
    this.#memory = memory;
  }

  /** How many octets are the address that was written last. */
  length = 0;

  /** As text, in the form that `node:dgram` has it; {@link look} says of which octets. */
  get address(): string {
    return this.#address;
  }

  /** Family and port, and the address of IPv4, as the kernel has them. */
  get first(): number {
    return this.#first;
  }

  get second(): number {
    return this.#second;
  }

  /** All words of an address of IPv6. */
  get words(): Int32Array | undefined {
    return this.#words;
  }

  get port(): number {
    return this.#port;
  }

  /** Takes over what a call has written. */
  look(): void {
    const { words } = this.#memory;
    // Family and port, then the IPv4 address; flow labels are ignored.
    const isKnown = words[0] === this.#first && (this.#words ? this.#isSame(this.#words) : words[1] === this.#second);
    if (!isKnown) this.#read();
  }

  /** Puts an address where calls read it; false = it is none of that family, and there is nothing to go by. */
  write(family: AddressFamily, address: string, port: number): boolean {
    const { words } = this.#memory;
    if (port !== this.#port || address !== this.#address) return this.#make(family, address, port);
    if (this.#words) words.set(this.#words);
    else {
      words[0] = this.#first;
      words[1] = this.#second;
      words[2] = 0;
      words[3] = 0;
    }
    return true;
  }

  #make(family: AddressFamily, address: string, port: number): boolean {
    const { octets, words } = this.#memory;
    octets.fill(0);
    octets[0] = family;
    this.length = lengths[family];
    octets[2] = port >> 8;
    octets[3] = port;
    const [own = '', zone] = address.split('%');
    // A socket of both families knows IPv4 addresses as mapped ones.
    const text = family === addressFamily.ipv6 && !own.includes(':') ? `::ffff:${own}` : own;
    if (zone !== undefined) words[scopeAt / 4] = this.#calls.if_nametoindex(zone) || Number(zone) || 0;
    const isWritten = this.#calls.inet_pton(family, text, octets.subarray(addressAt[family])) === 1;
    this.#address = isWritten ? address : '';
    this.#port = isWritten ? port : -1;
    this.#remember();
    return isWritten;
  }

  #isSame(known: Int32Array): boolean {
    const { words } = this.#memory;
    for (let word = 2; word < words.length; word++) if (words[word] !== known[word]) return false;
    return true;
  }

  #remember(): void {
    const { octets, words } = this.#memory;
    this.#first = words[0]!;
    this.#second = words[1]!;
    this.#words = octets[0] === addressFamily.ipv6 ? words.slice() : undefined;
  }

  #read(): void {
    const { octets } = this.#memory;
    this.#remember();
    this.#port = (octets[2]! << 8) | octets[3]!;
    const isMapped = octets[0] === addressFamily.ipv6 && this.#isMapped();
    const family = octets[0] === addressFamily.ipv6 && !isMapped ? addressFamily.ipv6 : addressFamily.ipv4;
    const text = Buffer.alloc(textRoom);
    this.#calls.inet_ntop(family, octets.subarray(isMapped ? mappedAt : addressAt[family]), text, textRoom);
    this.#address = untilZero(text) + (family === addressFamily.ipv6 ? this.#zone() : '');
  }

  #isMapped(): boolean {
    const { octets, words } = this.#memory;
    const [begin, mark] = [addressAt[addressFamily.ipv6] / 4, mappedMark / 4];
    const isMarked = octets[mappedMark] === 0 && octets[mappedMark + 1] === 0 && octets[mappedMark + 2] === 0xff;
    return words[begin] === 0 && words[begin + 1] === 0 && isMarked && octets[4 * mark + 3] === 0xff;
  }

  /** An address of a link is only one together with an interface (RFC 4007 section 11). */
  #zone(): string {
    const { octets, words } = this.#memory;
    const isOfLink = octets[8] === 0xfe && (octets[9]! & 0xc0) === 0x80;
    const index = words[scopeAt / 4]!;
    if (!isOfLink || index === 0) return '';
    const name = Buffer.alloc(textRoom);
    this.#calls.if_indextoname(index, name);
    return `%${untilZero(name) || index}`;
  }
}

function untilZero(text: Buffer): string {
  return text.toString('latin1', 0, text.indexOf(0));
}
