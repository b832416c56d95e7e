import type { SrtpSuiteSizes } from '../../lib/srtp.ts';
import type { LibCrypto } from '../../native/system-calls.ts';
import type { Layout, Transform } from './layout.ts';
import type { SessionKeys } from './session-keys.ts';
import { writeCounterStart, writeGcmStart } from './start.ts';

/** Octets of the longest datagram, and of what stands behind it here: a trailer. */
const longestPacket = 65_536;
const room = 64;
/** Octets of SHA-1: what it makes, the blocks it takes, and the state that OpenSSL keeps of it (`SHA_CTX`). */
const digestOctets = 20;
const blockOctets = 64;
const stateOctets = 96;
/** Of EVP_CIPHER_CTX_ctrl(3). */
const getTag = 0x10;
const setTag = 0x11;

/** Memory that functions of OpenSSL read and write: a packet, and small pieces behind it. */
class Work {
  readonly packet: Uint8Array;
  readonly start: Uint8Array;
  readonly tag: Uint8Array;
  /** The authenticated but unencrypted data, if they are not one piece of the packet. */
  readonly clear: Uint8Array;
  readonly at: number;
  readonly startAt: number;
  readonly tagAt: number;
  readonly clearAt: number;
  readonly lengthAt: number;
  readonly state: Uint8Array;
  readonly stateAt: number;

  constructor(crypto: LibCrypto) {
    const memory = new Uint8Array(new ArrayBuffer(longestPacket + 6 * room));
    this.at = crypto.addressOf(memory);
    const piece = (number: number): [Uint8Array, number] => {
      const from = longestPacket + number * room;
      return [memory.subarray(from, from + room), this.at + from];
    };
    this.packet = memory.subarray(0, longestPacket + room);
    [this.start, this.startAt] = piece(1);
    [this.tag, this.tagAt] = piece(2);
    [this.clear, this.clearAt] = piece(3);
    [, this.lengthAt] = piece(4);
    this.state = new Uint8Array(new ArrayBuffer(stateOctets));
    this.stateAt = crypto.addressOf(this.state);
  }
}

/**
 * OpenSSL without what `node:crypto` makes for each packet: contexts are made once for a thread and get another key for each packet,
 * so that nothing has to be freed with a call.
 */
export class PacketCrypto {
  readonly #crypto: LibCrypto;
  readonly #work: Work;
  readonly #contexts: Readonly<Record<'ctr' | 'gcm16' | 'gcm32', number>>;

  constructor(crypto: LibCrypto) {
    this.#crypto = crypto;
    this.#work = new Work(crypto);
    this.#contexts = {
      ctr: this.#context(crypto.EVP_aes_128_ctr()),
      gcm16: this.#context(crypto.EVP_aes_128_gcm()),
      gcm32: this.#context(crypto.EVP_aes_256_gcm()),
    };
  }

  /** The transform of a suite, with a tag of so many octets. */
  transform(suite: SrtpSuiteSizes, keys: SessionKeys, tag: number): Transform {
    const shared = { crypto: this.#crypto, work: this.#work, keys };
    if (!suite.aead) return new NativeCounterMode({ ...shared, context: this.#contexts.ctr, tag });
    const context = suite.key === 32 ? this.#contexts.gcm32 : this.#contexts.gcm16;
    return new NativeGcm({ ...shared, context, tag });
  }

  #context(cipher: number): number {
    const context = this.#crypto.EVP_CIPHER_CTX_new();
    this.#crypto.EVP_CipherInit_ex(context, cipher, 0, 0, 0, 1);
    return context;
  }
}

type Shared = { crypto: LibCrypto; work: Work; keys: SessionKeys; context: number; tag: number };

/** Octets that stay where they are, with their address. */
function held(crypto: LibCrypto, octets: Uint8Array): { octets: Uint8Array; at: number } {
  const copy = new Uint8Array(new ArrayBuffer(octets.length));
  copy.set(octets);
  return { octets: copy, at: crypto.addressOf(copy) };
}

/** The same in every run, however many octets agree. */
function isEqual(one: Uint8Array, other: Uint8Array, from: number, length: number): boolean {
  let difference = 0;
  for (let each = 0; each < length; each++) difference |= one[each]! ^ other[from + each]!;
  return difference === 0;
}

class NativeCounterMode implements Transform {
  readonly tag: number;
  readonly trailerIsLast = false;
  readonly #shared: Shared;
  readonly #cipher: { octets: Uint8Array; at: number };
  /** SHA-1 behind the first block of both passes of HMAC (RFC 2104 section 4), which the key alone decides. */
  readonly #inner: Uint8Array;
  readonly #outer: Uint8Array;

  constructor(shared: Shared) {
    this.tag = shared.tag;
    this.#shared = shared;
    this.#cipher = held(shared.crypto, shared.keys.cipher);
    this.#inner = this.#keyed(0x36);
    this.#outer = this.#keyed(0x5c);
  }

  seal(packet: Uint8Array, layout: Layout): Buffer {
    const { work } = this.#shared;
    const { header, trailer, sendsTrailer } = layout;
    const { length } = packet;
    work.packet.set(packet);
    work.packet.set(trailer, length);
    this.#crypt(layout, length - header);
    this.#prove(length + trailer.length);
    const proved = sendsTrailer ? length + trailer.length : length;
    const sealed = Buffer.allocUnsafe(proved + this.tag);
    sealed.set(work.packet.subarray(0, proved));
    sealed.set(work.tag.subarray(0, this.tag), proved);
    return sealed;
  }

  open(packet: Uint8Array, layout: Layout): Buffer | undefined {
    const { work } = this.#shared;
    const { header, trailer, sendsTrailer } = layout;
    const proved = packet.length - this.tag;
    work.packet.set(packet.subarray(0, proved));
    if (!sendsTrailer) work.packet.set(trailer, proved);
    this.#prove(sendsTrailer ? proved : proved + trailer.length);
    if (!isEqual(work.tag, packet, proved, this.tag)) return undefined;
    const end = sendsTrailer ? proved - trailer.length : proved;
    this.#crypt(layout, end - header);
    return Buffer.from(work.packet.subarray(0, end));
  }

  #crypt(layout: Layout, length: number): void {
    const { crypto, work, context, keys } = this.#shared;
    writeCounterStart(work.start, keys.salt, layout);
    const at = work.at + layout.header;
    crypto.EVP_CipherInit_ex(context, 0, 0, this.#cipher.at, work.startAt, 1);
    crypto.EVP_CipherUpdate(context, at, work.lengthAt, at, length);
  }

  #prove(length: number): void {
    const { crypto, work } = this.#shared;
    work.state.set(this.#inner);
    crypto.SHA1_Update(work.stateAt, work.at, length);
    crypto.SHA1_Final(work.tagAt, work.stateAt);
    work.state.set(this.#outer);
    crypto.SHA1_Update(work.stateAt, work.tagAt, digestOctets);
    crypto.SHA1_Final(work.tagAt, work.stateAt);
  }

  #keyed(pad: number): Uint8Array {
    const { crypto, work, keys } = this.#shared;
    work.packet.fill(pad, 0, blockOctets);
    for (const [at, octet] of keys.auth.entries()) work.packet[at]! ^= octet;
    crypto.SHA1_Init(work.stateAt);
    crypto.SHA1_Update(work.stateAt, work.at, blockOctets);
    return work.state.slice();
  }
}

class NativeGcm implements Transform {
  readonly tag: number;
  readonly trailerIsLast = true;
  readonly #shared: Shared;
  readonly #cipher: { octets: Uint8Array; at: number };

  constructor(shared: Shared) {
    this.tag = shared.tag;
    this.#shared = shared;
    this.#cipher = held(shared.crypto, shared.keys.cipher);
  }

  seal(packet: Uint8Array, layout: Layout): Buffer {
    const { crypto, work, context } = this.#shared;
    const { trailer, sendsTrailer } = layout;
    const { length } = packet;
    work.packet.set(packet);
    this.#crypt(layout, length, true);
    crypto.EVP_CipherFinal_ex(context, work.clearAt, work.lengthAt);
    crypto.EVP_CIPHER_CTX_ctrl(context, getTag, this.tag, work.tagAt);
    const sealed = Buffer.allocUnsafe(length + this.tag + (sendsTrailer ? trailer.length : 0));
    sealed.set(work.packet.subarray(0, length));
    sealed.set(work.tag.subarray(0, this.tag), length);
    if (sendsTrailer) sealed.set(trailer, length + this.tag);
    return sealed;
  }

  open(packet: Uint8Array, layout: Layout): Buffer | undefined {
    const { crypto, work, context } = this.#shared;
    const end = packet.length - this.tag - (layout.sendsTrailer ? layout.trailer.length : 0);
    work.packet.set(packet.subarray(0, end));
    work.tag.set(packet.subarray(end, end + this.tag));
    this.#crypt(layout, end, false);
    crypto.EVP_CIPHER_CTX_ctrl(context, setTag, this.tag, work.tagAt);
    if (crypto.EVP_CipherFinal_ex(context, work.clearAt, work.lengthAt) <= 0) return undefined;
    return Buffer.from(work.packet.subarray(0, end));
  }

  /** Begins, takes what stays readable, and then the rest up to `end`. */
  #crypt(layout: Layout, end: number, seals: boolean): void {
    const { crypto, work, context, keys } = this.#shared;
    const { header, trailer, sendsTrailer } = layout;
    writeGcmStart(work.start, keys.salt, layout);
    crypto.EVP_CipherInit_ex(context, 0, 0, this.#cipher.at, work.startAt, seals ? 1 : 0);
    crypto.EVP_CipherUpdate(context, 0, work.lengthAt, work.at, header);
    if (sendsTrailer) {
      work.clear.set(trailer);
      crypto.EVP_CipherUpdate(context, 0, work.lengthAt, work.clearAt, trailer.length);
    }
    const at = work.at + header;
    crypto.EVP_CipherUpdate(context, at, work.lengthAt, at, end - header);
  }
}
