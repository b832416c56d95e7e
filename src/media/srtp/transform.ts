import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { SrtpSuiteSizes } from '../../lib/srtp.ts';
import type { SessionKeys } from './session-keys.ts';

/** Where the parts of a packet begin, and what its cipher starts from. */
type Layout = {
  /** What stays readable, from the first octet on. */
  readonly header: number;
  /** The synchronization source. */
  readonly ssrc: number;
  /** The packet's number: 48 bits of audio, 31 of RTCP. */
  readonly index: number;
  /** What is proved beside the packet: the rollover counter, or the index of RTCP with its mark. */
  readonly trailer: Uint8Array;
  /** The trailer goes with the packet. */
  readonly sendsTrailer: boolean;
};

/** How packets of one kind are made secret and proved, and opened again. */
export interface Transform {
  /** The packet as it goes out. */
  seal(packet: Uint8Array, layout: Layout): Buffer;
  /** The packet without what proves it; undefined when it proves nothing. */
  open(packet: Uint8Array, layout: Layout): Buffer | undefined;
  /** Octets that a sealed packet has more, its trailer aside. */
  readonly tag: number;
  /** A trailer that goes with the packet stands behind the tag. */
  readonly trailerIsLast: boolean;
}

/** The transform of a suite for audio, or for RTCP. */
export function createTransform(suite: SrtpSuiteSizes, keys: SessionKeys, kind: 'rtp' | 'rtcp'): Transform {
  return suite.aead ? new Gcm(suite, keys) : new CounterMode(keys, kind === 'rtp' ? suite.tag : suite.controlTag);
}

/** AES in counter mode and HMAC-SHA1 (RFC 3711 4.1.1, 4.2.1); the tag stands at the very end. */
class CounterMode implements Transform {
  readonly tag: number;
  readonly trailerIsLast = false;
  readonly #keys: SessionKeys;

  constructor(keys: SessionKeys, tag: number) {
    this.#keys = keys;
    this.tag = tag;
  }

  seal(packet: Uint8Array, layout: Layout): Buffer {
    const { header, trailer, sendsTrailer } = layout;
    const secret = this.#cipher(layout).update(packet.subarray(header));
    const parts = [packet.subarray(0, header), secret, ...(sendsTrailer ? [trailer] : [])];
    const sealed = Buffer.concat(parts, packet.length + (sendsTrailer ? trailer.length : 0) + this.tag);
    this.#proof(sealed.subarray(0, sealed.length - this.tag), sendsTrailer ? undefined : trailer).copy(
      sealed,
      sealed.length - this.tag,
      0,
      this.tag,
    );
    return sealed;
  }

  open(packet: Uint8Array, layout: Layout): Buffer | undefined {
    const { header, trailer, sendsTrailer } = layout;
    const proved = packet.subarray(0, packet.length - this.tag);
    const proof = this.#proof(proved, sendsTrailer ? undefined : trailer).subarray(0, this.tag);
    if (!timingSafeEqual(proof, packet.subarray(packet.length - this.tag))) return undefined;
    const end = sendsTrailer ? proved.length - trailer.length : proved.length;
    const plain = this.#cipher(layout).update(packet.subarray(header, end));
    return Buffer.concat([packet.subarray(0, header), plain], end);
  }

  #proof(packet: Uint8Array, trailer: Uint8Array | undefined): Buffer {
    const hmac = createHmac('sha1', this.#keys.auth).update(packet);
    return (trailer ? hmac.update(trailer) : hmac).digest();
  }

  /** The counter starts from salt, source and index, which together are never the same twice. */
  #cipher({ ssrc, index }: Layout) {
    const start = Buffer.alloc(16);
    this.#keys.salt.copy(start);
    xor32(start, 4, ssrc);
    xor32(start, 8, Math.floor(index / 0x1_0000));
    xor16(start, 12, index % 0x1_0000);
    return createCipheriv('aes-128-ctr', this.#keys.cipher, start);
  }
}

/** AES in Galois/counter mode (RFC 7714); the tag stands before the trailer. */
class Gcm implements Transform {
  readonly tag: number;
  readonly trailerIsLast = true;
  readonly #keys: SessionKeys;
  readonly #name: 'aes-128-gcm' | 'aes-256-gcm';

  constructor({ tag, key }: SrtpSuiteSizes, keys: SessionKeys) {
    this.tag = tag;
    this.#keys = keys;
    this.#name = key === 32 ? 'aes-256-gcm' : 'aes-128-gcm';
  }

  seal(packet: Uint8Array, layout: Layout): Buffer {
    const { header, trailer, sendsTrailer } = layout;
    const cipher = createCipheriv(this.#name, this.#keys.cipher, this.#start(layout), { authTagLength: this.tag });
    const clear = packet.subarray(0, header);
    cipher.setAAD(sendsTrailer ? Buffer.concat([clear, trailer]) : clear);
    const secret = cipher.update(packet.subarray(header));
    cipher.final();
    return Buffer.concat([clear, secret, cipher.getAuthTag(), ...(sendsTrailer ? [trailer] : [])]);
  }

  open(packet: Uint8Array, layout: Layout): Buffer | undefined {
    const { header, trailer, sendsTrailer } = layout;
    const end = packet.length - this.tag - (sendsTrailer ? trailer.length : 0);
    const decipher = createDecipheriv(this.#name, this.#keys.cipher, this.#start(layout), { authTagLength: this.tag });
    const clear = packet.subarray(0, header);
    decipher.setAAD(sendsTrailer ? Buffer.concat([clear, trailer]) : clear);
    decipher.setAuthTag(packet.subarray(end, end + this.tag));
    const plain = decipher.update(packet.subarray(header, end));
    try {
      decipher.final();
    } catch {
      // The packet proves nothing; Node says so by throwing.
      return undefined;
    }
    return Buffer.concat([clear, plain], end);
  }

  /** RFC 7714 8.1, 9.1: two zeros, the source, and the index at the end, over the salt. */
  #start({ ssrc, index }: Layout): Buffer {
    const start = Buffer.from(this.#keys.salt);
    xor32(start, 2, ssrc);
    xor32(start, 6, Math.floor(index / 0x1_0000));
    xor16(start, 10, index % 0x1_0000);
    return start;
  }
}

const xor32 = (into: Buffer, at: number, value: number) =>
  into.writeUInt32BE((into.readUInt32BE(at) ^ value) >>> 0, at);

const xor16 = (into: Buffer, at: number, value: number) => into.writeUInt16BE(into.readUInt16BE(at) ^ value, at);
