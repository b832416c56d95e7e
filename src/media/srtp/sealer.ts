import { type SrtpKey, srtpSuites } from '../../lib/srtp.ts';
import { KeyName } from './key-name.ts';
import type { Transform } from './layout.ts';
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

export function word(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
}

/** The index nearest to the last one that has such a sequence number; negative when that is before the first of all. */
export function nearestIndex(last: number, sequence: number): number {
  const ahead = (sequence - last) & 0xffff;
  return last + (ahead < 0x8000 ? ahead : ahead - 0x1_0000);
}

/** How often sequence numbers have begun again before an index. */
export const rolloversOf = (index: number): number => Math.floor(index / 0x1_0000) >>> 0;

/** Makes what we send secret, with a key of ours. All is of one source. */
export class Sealer {
  readonly #audio: Transform;
  readonly #control: Transform;
  readonly #name: KeyName;
  readonly #numbers: SendingNumbers;

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
    const sequence = (packet[2]! << 8) | packet[3]!;
    const { audio: next } = this.#numbers;
    const index = next === 0 ? sequence : nearestIndex(next - 1, sequence);
    // One from before the first of all: its number will be that of another one.
    if (index < 0) return undefined;
    // Before anything is sealed, so that the next thread never uses this index again.
    if (index >= next) this.#numbers.audio = index + 1;
    const trailer = word(rolloversOf(index));
    const sealed = this.#audio.seal(packet, { header, ssrc: read32(packet, 8), index, trailer, sendsTrailer: false });
    return this.#name.addTo(sealed, this.#audio);
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
      trailer: word((index | encryptedMark) >>> 0),
      sendsTrailer: true,
    });
    return this.#name.addTo(sealed, this.#control);
  }
}
