import type { SrtpSuiteSizes } from '../../lib/srtp.ts';
import type { LibCrypto } from '../../native/system-calls.ts';
import { type InPlace, type Layout, type PacketPlace, type Transform, trailerOctets, write32 } from './layout.ts';
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

/**
 * Keys that one thread keeps in contexts of OpenSSL, for each cipher. A context takes about 1 KB. To set a key takes as long as to
 * encrypt 3 KB.
 */
const mostContexts = 4096;

/** Memory that functions of OpenSSL read and write: a packet, and small pieces behind it. */
class Work implements PacketPlace {
  readonly slab: Uint8Array;
  readonly used = 0;
  readonly packetAt: number;
  readonly start: Uint8Array;
  readonly tag: Uint8Array;
  /** The authenticated but unencrypted data, if they are not one piece of the packet. */
  readonly clear: Uint8Array;
  readonly startAt: number;
  readonly tagAt: number;
  readonly clearAt: number;
  readonly lengthAt: number;
  readonly state: Uint8Array;
  readonly stateAt: number;

  constructor(crypto: LibCrypto) {
    const memory = new Uint8Array(new ArrayBuffer(longestPacket + 6 * room));
    this.packetAt = crypto.addressOf(memory);
    const piece = (number: number): [Uint8Array, number] => {
      const from = longestPacket + number * room;
      return [memory.subarray(from, from + room), this.packetAt + from];
    };
    this.slab = memory.subarray(0, longestPacket + room);
    [this.start, this.startAt] = piece(1);
    [this.tag, this.tagAt] = piece(2);
    [this.clear, this.clearAt] = piece(3);
    [, this.lengthAt] = piece(4);
    this.state = new Uint8Array(new ArrayBuffer(stateOctets));
    this.stateAt = crypto.addressOf(this.state);
  }
}

/** A context of OpenSSL, and the number of the key that it has. */
type Context = { readonly at: number; key: number };

/** Contexts of one cipher. When all are in use, the one that got its key first gets another: nothing has to be freed with a call. */
class Contexts {
  readonly #crypto: LibCrypto;
  readonly #cipher: number;
  readonly #all: Context[] = [];
  #next = 0;

  constructor(crypto: LibCrypto, cipher: number) {
    this.#crypto = crypto;
    this.#cipher = cipher;
  }

  /** A context with a key. @param keyAt where its octets are */
  take(key: number, keyAt: number): Context {
    const context = this.#all[this.#next] ?? this.#make();
    this.#next = (this.#next + 1) % mostContexts;
    context.key = key;
    this.#crypto.EVP_CipherInit_ex(context.at, 0, 0, keyAt, 0, 1);
    return context;
  }

  #make(): Context {
    const context = { at: this.#crypto.EVP_CIPHER_CTX_new(), key: 0 };
    this.#crypto.EVP_CipherInit_ex(context.at, this.#cipher, 0, 0, 0, 1);
    this.#all.push(context);
    return context;
  }
}

/** OpenSSL without what `node:crypto` makes for each packet. */
export class PacketCrypto {
  readonly #crypto: LibCrypto;
  readonly #work: Work;
  readonly #contexts: Readonly<Record<'ctr' | 'gcm16' | 'gcm32', Contexts>>;
  #keys = 0;

  constructor(crypto: LibCrypto) {
    this.#crypto = crypto;
    this.#work = new Work(crypto);
    this.#contexts = {
      ctr: new Contexts(crypto, crypto.EVP_aes_128_ctr()),
      gcm16: new Contexts(crypto, crypto.EVP_aes_128_gcm()),
      gcm32: new Contexts(crypto, crypto.EVP_aes_256_gcm()),
    };
  }

  /** The transform of a suite, with a tag of so many octets. */
  transform(suite: SrtpSuiteSizes, keys: SessionKeys, tag: number): Transform {
    const contexts = this.#contexts[suite.aead ? (suite.key === 32 ? 'gcm32' : 'gcm16') : 'ctr'];
    const cipher = new KeyedCipher(contexts, ++this.#keys, held(this.#crypto, keys.cipher));
    const shared = { crypto: this.#crypto, work: this.#work, keys, cipher, tag };
    return suite.aead ? new NativeGcm(shared) : new NativeCounterMode(shared);
  }
}

type Shared = { crypto: LibCrypto; work: Work; keys: SessionKeys; cipher: KeyedCipher; tag: number };

/** A cipher with a key. */
class KeyedCipher {
  readonly #contexts: Contexts;
  readonly #number: number;
  readonly #key: { octets: Uint8Array; at: number };
  #context: Context | undefined;

  constructor(contexts: Contexts, number: number, key: { octets: Uint8Array; at: number }) {
    this.#contexts = contexts;
    this.#number = number;
    this.#key = key;
  }

  /** A context that has the key. */
  get context(): number {
    if (this.#context?.key !== this.#number) this.#context = this.#contexts.take(this.#number, this.#key.at);
    return this.#context.at;
  }
}

/** Octets that stay where they are, with their address. */
function held(crypto: LibCrypto, octets: Uint8Array): { octets: Uint8Array; at: number } {
  const copy = new Uint8Array(new ArrayBuffer(octets.length));
  copy.set(octets);
  return { octets: copy, at: crypto.addressOf(copy) };
}

/** The same in every run, however many octets agree. */
function isEqual(one: Uint8Array, other: Uint8Array, length: number): boolean {
  let difference = 0;
  for (let each = 0; each < length; each++) difference |= one[each]! ^ other[each]!;
  return difference === 0;
}

class NativeCounterMode implements Transform, InPlace {
  readonly tag: number;
  readonly trailerIsLast = false;
  readonly inPlace = this;
  readonly #shared: Shared;
  /** SHA-1 behind the first block of both passes of HMAC (RFC 2104 section 4), which the key alone decides. */
  readonly #inner: Uint8Array;
  readonly #outer: Uint8Array;
  /** The tag that came. */
  readonly #theirs = new Uint8Array(digestOctets);

  constructor(shared: Shared) {
    this.tag = shared.tag;
    this.#shared = shared;
    this.#inner = this.#keyed(0x36);
    this.#outer = this.#keyed(0x5c);
  }

  seal(packet: Uint8Array, layout: Layout): Buffer {
    const { work } = this.#shared;
    work.slab.set(packet);
    this.sealAt(work, packet.length, layout);
    const proved = layout.sendsTrailer ? packet.length + trailerOctets : packet.length;
    return Buffer.from(work.slab.subarray(0, proved + this.tag));
  }

  open(packet: Uint8Array, layout: Layout): Buffer | undefined {
    const { work } = this.#shared;
    work.slab.set(packet);
    if (!this.openAt(work, packet.length, layout)) return undefined;
    const proved = packet.length - this.tag;
    return Buffer.from(work.slab.subarray(0, layout.sendsTrailer ? proved - trailerOctets : proved));
  }

  sealAt(place: PacketPlace, length: number, layout: Layout): void {
    const { slab, used, packetAt } = place;
    const { work } = this.#shared;
    this.#crypt(layout, packetAt, length);
    write32(slab, used + length, layout.trailer);
    this.#prove(packetAt, length + trailerOctets);
    const tagAt = used + (layout.sendsTrailer ? length + trailerOctets : length);
    for (let each = 0; each < this.tag; each++) slab[tagAt + each] = work.tag[each]!;
  }

  openAt({ slab, used, packetAt }: PacketPlace, length: number, layout: Layout): boolean {
    const { work } = this.#shared;
    const proved = length - this.tag;
    const theirs = this.#theirs;
    for (let each = 0; each < this.tag; each++) theirs[each] = slab[used + proved + each]!;
    if (!layout.sendsTrailer) write32(slab, used + proved, layout.trailer);
    this.#prove(packetAt, layout.sendsTrailer ? proved : proved + trailerOctets);
    if (!isEqual(work.tag, theirs, this.tag)) return false;
    this.#crypt(layout, packetAt, layout.sendsTrailer ? proved - trailerOctets : proved);
    return true;
  }

  #crypt(layout: Layout, packetAt: number, length: number): void {
    const { crypto, work, cipher, keys } = this.#shared;
    const { context } = cipher;
    writeCounterStart(work.start, keys.salt, layout);
    const at = packetAt + layout.header;
    crypto.EVP_CipherInit_ex(context, 0, 0, 0, work.startAt, 1);
    crypto.EVP_CipherUpdate(context, at, work.lengthAt, at, length - layout.header);
  }

  #prove(at: number, length: number): void {
    const { crypto, work } = this.#shared;
    work.state.set(this.#inner);
    crypto.SHA1_Update(work.stateAt, at, length);
    crypto.SHA1_Final(work.tagAt, work.stateAt);
    work.state.set(this.#outer);
    crypto.SHA1_Update(work.stateAt, work.tagAt, digestOctets);
    crypto.SHA1_Final(work.tagAt, work.stateAt);
  }

  #keyed(pad: number): Uint8Array {
    const { crypto, work, keys } = this.#shared;
    work.slab.fill(pad, 0, blockOctets);
    for (const [at, octet] of keys.auth.entries()) work.slab[at]! ^= octet;
    crypto.SHA1_Init(work.stateAt);
    crypto.SHA1_Update(work.stateAt, work.packetAt, blockOctets);
    return work.state.slice();
  }
}

class NativeGcm implements Transform, InPlace {
  readonly tag: number;
  readonly trailerIsLast = true;
  readonly inPlace = this;
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.tag = shared.tag;
    this.#shared = shared;
  }

  seal(packet: Uint8Array, layout: Layout): Buffer {
    const { work } = this.#shared;
    const { trailer, sendsTrailer } = layout;
    work.slab.set(packet);
    this.sealAt(work, packet.length, layout);
    const end = packet.length + this.tag;
    if (sendsTrailer) write32(work.slab, end, trailer);
    return Buffer.from(work.slab.subarray(0, sendsTrailer ? end + trailerOctets : end));
  }

  open(packet: Uint8Array, layout: Layout): Buffer | undefined {
    const { work } = this.#shared;
    const length = packet.length - (layout.sendsTrailer ? trailerOctets : 0);
    work.slab.set(packet);
    return this.openAt(work, length, layout) ? Buffer.from(work.slab.subarray(0, length - this.tag)) : undefined;
  }

  sealAt({ packetAt }: PacketPlace, length: number, layout: Layout): void {
    const { crypto, work } = this.#shared;
    const context = this.#crypt(layout, packetAt, length, true);
    crypto.EVP_CipherFinal_ex(context, work.clearAt, work.lengthAt);
    crypto.EVP_CIPHER_CTX_ctrl(context, getTag, this.tag, packetAt + length);
  }

  openAt({ packetAt }: PacketPlace, length: number, layout: Layout): boolean {
    const { crypto, work } = this.#shared;
    const end = length - this.tag;
    const context = this.#crypt(layout, packetAt, end, false);
    crypto.EVP_CIPHER_CTX_ctrl(context, setTag, this.tag, packetAt + end);
    return crypto.EVP_CipherFinal_ex(context, work.clearAt, work.lengthAt) > 0;
  }

  /** Begins, takes what stays readable, and then the rest up to `end`. */
  #crypt(layout: Layout, packetAt: number, end: number, seals: boolean): number {
    const { crypto, work, cipher, keys } = this.#shared;
    const { context } = cipher;
    const { header, trailer, sendsTrailer } = layout;
    writeGcmStart(work.start, keys.salt, layout);
    crypto.EVP_CipherInit_ex(context, 0, 0, 0, work.startAt, seals ? 1 : 0);
    crypto.EVP_CipherUpdate(context, 0, work.lengthAt, packetAt, header);
    if (sendsTrailer) {
      write32(work.clear, 0, trailer);
      crypto.EVP_CipherUpdate(context, 0, work.lengthAt, work.clearAt, trailerOctets);
    }
    const at = packetAt + header;
    crypto.EVP_CipherUpdate(context, at, work.lengthAt, at, end - header);
    return context;
  }
}
