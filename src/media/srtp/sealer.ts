import { type SrtpKey, srtpSuites } from '../../lib/srtp.ts';
import { KeyName } from './key-name.ts';
import type { PacketPlace, Transform } from './layout.ts';
import { createTransform } from './packet-crypto.ts';
import { sessionKeys } from './session-keys.ts';

/** Counters that must never repeat with one key: kept in memory that survives the thread. */
export interface SendingNumbers {
  /** Index after our last audio packet, which extends sequence numbers (RFC 3711 3.3.1); 0 before the first. */
  audio: number;
  /** The index of the last RTCP packet. */
  control: number;
}

/** The readable head of a packet of audio: with its sources and extension, in octets (RFC 3550 5.1); undefined when it has none. */
export function rtpHeaderLength(packet: Uint8Array): number | undefined {
  if (packet.length < 12 || packet[0]! >> 6 !== 2) return undefined;
  let length = 12 + (packet[0]! & 15) * 4;
  if (packet[0]! & 16) {
    if (packet.length < length + 4) return undefined;
    length += 4 + ((packet[length + 2]! << 8) | packet[length + 3]!) * 4;
  }
  return packet.length < length ? undefined : length;
}

export const controlHeaderLength = 8;
/** Marks an RTCP packet as encrypted (RFC 3711 3.4). */
export const encryptedMark = 0x8000_0000;

export const read32 = (from: Uint8Array, at: number): number =>
  ((from[at]! << 24) | (from[at + 1]! << 16) | (from[at + 2]! << 8) | from[at + 3]!) >>> 0;

/** The index nearest to the last one that has such a sequence number; negative when that is before the first of all. */
export function nearestIndex(last: number, sequence: number): number {
  const ahead = (sequence - last) & 0xffff;
  return last + (ahead < 0x8000 ? ahead : ahead - 0x1_0000);
}

/** How often sequence numbers have begun again before an index. */
export const rolloversOf = (index: number): number => Math.floor(index / 0x1_0000) >>> 0;

/** First octet of a packet of audio without sources and extension, and octets of its head. */
export const plainFirst = 0x80;
export const plainHeader = 12;

/** A layout of such packets, which is written anew for each. */
export const plainLayout = () => ({ header: plainHeader, ssrc: 0, index: 0, trailer: 0, sendsTrailer: false });

/** Octets that sealing adds at most: the name of a key (RFC 4568 6.1) and a tag. */
export const longestSecret = 128 + 20;

/** Makes what we send secret, with a key of ours. All is of one source. */
export class Sealer {
  readonly #audio: Transform;
  readonly #control: Transform;
  readonly #name: KeyName;
  readonly #numbers: SendingNumbers;
  readonly #layout = plainLayout();

  /** @param numbers earlier indices, if any: a new key does not reset them (RFC 3711 3.3.1). */
  constructor(key: SrtpKey, numbers: SendingNumbers) {
    const suite = srtpSuites[key.suite];
    const keys = sessionKeys(key);
    this.#audio = createTransform(suite, keys.rtp, 'rtp');
    this.#control = createTransform(suite, keys.rtcp, 'rtcp');
    this.#name = new KeyName(key.mki);
    this.#numbers = numbers;
  }

  /** A packet of audio; undefined when it is none. */
  audio(packet: Uint8Array): Buffer | undefined {
    const header = rtpHeaderLength(packet);
    if (header === undefined) return undefined;
    const index = this.#take((packet[2]! << 8) | packet[3]!);
    if (index < 0) return undefined;
    const layout = { header, ssrc: read32(packet, 8), index, trailer: rolloversOf(index), sendsTrailer: false };
    return this.#name.addTo(this.#audio.seal(packet, layout), this.#audio);
  }

  /**
   * Seals a packet of audio where it is, without a copy if OpenSSL can be called itself. There are {@link longestSecret} octets
   * of room behind it. @returns its length then; 0: it cannot be sent
   */
  audioAt(place: PacketPlace, length: number): number {
    const { slab, used } = place;
    const { inPlace } = this.#audio;
    if (!inPlace || this.#name.length > 0 || length < plainHeader || slab[used] !== plainFirst) {
      const sealed = this.audio(slab.subarray(used, used + length));
      if (sealed) slab.set(sealed, used);
      return sealed?.length ?? 0;
    }
    const index = this.#take((slab[used + 2]! << 8) | slab[used + 3]!);
    if (index < 0) return 0;
    const layout = this.#layout;
    layout.ssrc = read32(slab, used + 8);
    layout.index = index;
    layout.trailer = rolloversOf(index);
    inPlace.sealAt(place, length, layout);
    return length + this.#audio.tag;
  }

  /** The index of the next packet, which counts as used; negative: it comes before the first of all, and has the number of another. */
  #take(sequence: number): number {
    const { audio: next } = this.#numbers;
    const index = next === 0 ? sequence : nearestIndex(next - 1, sequence);
    // Before anything is sealed, so that the next thread never uses this index again.
    if (index >= next) this.#numbers.audio = index + 1;
    return index;
  }

  /** A compound RTCP packet; undefined when it is none. */
  control(packet: Uint8Array): Buffer | undefined {
    if (packet.length < controlHeaderLength) return undefined;
    // RFC 3711 9.2: after 2^31 packets the key is used up; at one a second that is later than any call.
    const index = (this.#numbers.control + 1) % encryptedMark;
    this.#numbers.control = index;
    const sealed = this.#control.seal(packet, {
      header: controlHeaderLength,
      ssrc: read32(packet, 4),
      index,
      trailer: (index | encryptedMark) >>> 0,
      sendsTrailer: true,
    });
    return this.#name.addTo(sealed, this.#control);
  }
}
