import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { SrtpSuiteSizes } from '../../lib/srtp.ts';
import { type Layout, type Transform, trailerOctets, write32 } from './layout.ts';
import type { SessionKeys } from './session-keys.ts';
import { writeCounterStart, writeGcmStart } from './start.ts';

/** The transform of a suite by `node:crypto`, with a tag of so many octets. */
export const nodeTransform = (suite: SrtpSuiteSizes, keys: SessionKeys, tag: number): Transform =>
  suite.aead ? new Gcm(suite, keys) : new CounterMode(keys, tag);

function octetsOf(trailer: number): Buffer {
  const octets = Buffer.allocUnsafe(trailerOctets);
  write32(octets, 0, trailer);
  return octets;
}

/** AES in counter mode and HMAC-SHA1 (RFC 3711 4.1.1, 4.2.1); the tag stands at the very end. */
class CounterMode implements Transform {
  readonly tag: number;
  readonly trailerIsLast = false;
  readonly inPlace = undefined;
  readonly #keys: SessionKeys;

  constructor(keys: SessionKeys, tag: number) {
    this.#keys = keys;
    this.tag = tag;
  }

  seal(packet: Uint8Array, layout: Layout): Buffer {
    const { header, trailer, sendsTrailer } = layout;
    const secret = this.#cipher(layout).update(packet.subarray(header));
    const parts = [packet.subarray(0, header), secret, ...(sendsTrailer ? [octetsOf(trailer)] : [])];
    const sealed = Buffer.concat(parts, packet.length + (sendsTrailer ? trailerOctets : 0) + this.tag);
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
    const end = sendsTrailer ? proved.length - trailerOctets : proved.length;
    const plain = this.#cipher(layout).update(packet.subarray(header, end));
    return Buffer.concat([packet.subarray(0, header), plain], end);
  }

  #proof(packet: Uint8Array, trailer: number | undefined): Buffer {
    const hmac = createHmac('sha1', this.#keys.auth).update(packet);
    return (trailer === undefined ? hmac : hmac.update(octetsOf(trailer))).digest();
  }

  #cipher(layout: Layout) {
    const start = Buffer.alloc(16);
    writeCounterStart(start, this.#keys.salt, layout);
    return createCipheriv('aes-128-ctr', this.#keys.cipher, start);
  }
}

/** AES in Galois/counter mode (RFC 7714); the tag stands before the trailer. */
class Gcm implements Transform {
  readonly tag: number;
  readonly trailerIsLast = true;
  readonly inPlace = undefined;
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
    cipher.setAAD(sendsTrailer ? Buffer.concat([clear, octetsOf(trailer)]) : clear);
    const secret = cipher.update(packet.subarray(header));
    cipher.final();
    return Buffer.concat([clear, secret, cipher.getAuthTag(), ...(sendsTrailer ? [octetsOf(trailer)] : [])]);
  }

  open(packet: Uint8Array, layout: Layout): Buffer | undefined {
    const { header, trailer, sendsTrailer } = layout;
    const end = packet.length - this.tag - (sendsTrailer ? trailerOctets : 0);
    const decipher = createDecipheriv(this.#name, this.#keys.cipher, this.#start(layout), { authTagLength: this.tag });
    const clear = packet.subarray(0, header);
    decipher.setAAD(sendsTrailer ? Buffer.concat([clear, octetsOf(trailer)]) : clear);
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

  #start(layout: Layout): Buffer {
    const start = Buffer.alloc(12);
    writeGcmStart(start, this.#keys.salt, layout);
    return start;
  }
}
