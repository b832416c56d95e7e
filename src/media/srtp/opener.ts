import { type SrtpKey, srtpSuites } from '../../lib/srtp.ts';
import { KeyName } from './key-name.ts';
import type { PacketPlace, Transform } from './layout.ts';
import { createTransform } from './packet-crypto.ts';
import { ReplayWindow } from './replay-window.ts';
import {
  controlHeaderLength,
  encryptedMark,
  nearestIndex,
  plainFirst,
  plainHeader,
  plainLayout,
  read32,
  rolloversOf,
  rtpHeaderLength,
} from './sealer.ts';
import { sessionKeys } from './session-keys.ts';

/** State of one source: its highest index, and its replay window. */
type SourceState = {
  /** The highest index of its audio; -1 before the first. */
  highest: number;
  readonly audio: ReplayWindow;
  readonly control: ReplayWindow;
  /** Where its indices are kept. */
  readonly numbers: HeardNumbers;
};

/** One key of the far side: its name in packets, and what it opens. */
type NamedKey = { readonly name: KeyName; readonly audio: Transform; readonly control: Transform };

function namedKey(key: SrtpKey): NamedKey {
  const suite = srtpSuites[key.suite];
  const keys = sessionKeys(key);
  return {
    name: new KeyName(key.mki),
    audio: createTransform(suite, keys.rtp, 'rtp'),
    control: createTransform(suite, keys.rtcp, 'rtcp'),
  };
}

/** Sources remembered where only one is kept: a call has one, and another one when its far side changes. */
const MAX_SOURCES = 4;

/** How far the far side has come: kept where the end of a thread cannot lose it. */
export interface HeardNumbers {
  /** Index after its last audio packet, and after its last RTCP; 0 before the first. */
  audio: number;
  control: number;
  /** Its SSRC plus one; 0 for none, as with a new key. */
  source: number;
}

/** Decrypts the far side's packets. A packet that fails authentication or is replayed is dropped without effect. */
export class Opener {
  readonly #keys: readonly NamedKey[];
  readonly #sources = new Map<number, SourceState>();
  readonly #numbers: HeardNumbers;
  /** Places of their own for several sources; empty where all share one. */
  readonly #places: readonly HeardNumbers[];
  readonly #layout = plainLayout();
  /** Packets that were left out. */
  refused = 0;

  /**
   * @param numbers earlier indices of the far side, if any. @param further places for those of further sources: with some, each
   * source has one, and the source that was heard first makes room.
   */
  constructor(
    key: SrtpKey,
    numbers: HeardNumbers = { audio: 0, control: 0, source: 0 },
    further: readonly HeardNumbers[] = [],
  ) {
    this.#keys = [key, ...(key.others ?? [])].map((each) => namedKey({ suite: key.suite, ...each }));
    this.#numbers = numbers;
    this.#places = further.length > 0 ? [numbers, ...further] : [];
    for (const place of [numbers, ...further])
      if (place.source > 0) this.#keep(place.source - 1, place, place.audio - 1, place.control - 1);
  }

  /** Octets that a packet of audio has beyond the one within. */
  get overhead(): number {
    const [{ audio, name }] = this.#keys as [NamedKey];
    return audio.tag + name.length;
  }

  /** The packet of audio within; undefined when it is left out. */
  audio(named: Uint8Array): Buffer | undefined {
    const unnamed = this.#unnamed(named, 'audio');
    if (!unnamed) return this.#refuse();
    const [packet, transform] = unnamed;
    const header = rtpHeaderLength(packet);
    if (header === undefined || packet.length < header + transform.tag) return this.#refuse();
    const ssrc = read32(packet, 8);
    const sequence = (packet[2]! << 8) | packet[3]!;
    const state = this.#sources.get(ssrc);
    const begun = state !== undefined && state.highest >= 0;
    const candidates = begun ? [nearestIndex(state.highest, sequence)] : this.#likely(sequence);
    for (const index of candidates) {
      if (index < 0 || (state && !state.audio.admits(index))) continue;
      const layout = { header, ssrc, index, trailer: rolloversOf(index), sendsTrailer: false };
      const opened = transform.open(packet, layout);
      if (!opened) continue;
      this.#take(state ?? this.#remember(ssrc), ssrc, index);
      return opened;
    }
    return this.#refuse();
  }

  /**
   * Opens a packet of audio where it is, without a copy if OpenSSL can be called itself. @returns whether the far side sent it; if
   * not, its octets are of no use any more.
   */
  audioAt(place: PacketPlace, length: number): boolean {
    const { slab, used } = place;
    const [{ audio, name }] = this.#keys as [NamedKey];
    const { inPlace } = audio;
    const isPlain = length >= plainHeader + audio.tag && slab[used] === plainFirst;
    const ssrc = isPlain ? read32(slab, used + 8) : 0;
    const state = this.#sources.get(ssrc);
    const hasBegun = state !== undefined && state.highest >= 0;
    if (!inPlace || !isPlain || !hasBegun || this.#keys.length > 1 || name.length > 0) {
      const opened = this.audio(slab.subarray(used, used + length));
      if (opened) slab.set(opened, used);
      return opened !== undefined;
    }
    const index = nearestIndex(state.highest, (slab[used + 2]! << 8) | slab[used + 3]!);
    const layout = this.#layout;
    layout.ssrc = ssrc;
    layout.index = index;
    layout.trailer = rolloversOf(index);
    if (index < 0 || !state.audio.admits(index) || !inPlace.openAt(place, length, layout)) {
      this.refused++;
      return false;
    }
    this.#take(state, ssrc, index);
    return true;
  }

  /** Notes a packet that proved itself. */
  #take(state: SourceState, ssrc: number, index: number): void {
    state.audio.take(index);
    if (index <= state.highest) return;
    state.highest = index;
    state.numbers.audio = index + 1;
    state.numbers.source = ssrc + 1;
  }

  /** The compound RTCP packet within; undefined when it is left out. */
  control(named: Uint8Array): Buffer | undefined {
    const [packet, transform] = this.#unnamed(named, 'control') ?? [];
    if (!packet || !transform || packet.length < controlHeaderLength + 4 + transform.tag) return this.#refuse();
    const ssrc = read32(packet, 4);
    // GCM has the index at the very end, counter mode before the tag (RFC 3711 3.4, RFC 7714 9).
    const at = packet.length - 4 - (transform.trailerIsLast ? 0 : transform.tag);
    const marked = read32(packet, at);
    const index = marked % encryptedMark;
    const state = this.#sources.get(ssrc);
    // Unencrypted RTCP was not negotiated.
    if (marked < encryptedMark || (state && !state.control.admits(index))) return this.#refuse();
    const layout = { header: controlHeaderLength, ssrc, index, trailer: marked, sendsTrailer: true };
    const opened = transform.open(packet, layout);
    if (!opened) return this.#refuse();
    const { control, numbers } = state ?? this.#remember(ssrc);
    control.take(index);
    // Each source has indices of its own; where one is kept, they are those of the one that goes on elsewhere.
    const { source } = numbers;
    if (source === 0 || source === ssrc + 1) numbers.control = Math.max(numbers.control, index + 1);
    return opened;
  }

  /** A packet without the name of its key, and what opens it; undefined when it names none of the keys. */
  #unnamed(named: Uint8Array, part: 'audio' | 'control'): [packet: Uint8Array, transform: Transform] | undefined {
    for (const key of this.#keys) {
      const packet = key.name.takeFrom(named, key[part]);
      if (packet) return [packet, key[part]];
    }
    return undefined;
  }

  /** Likely rollover counts of a new source: it starts, or continues from another key. */
  #likely(sequence: number): readonly number[] {
    const { audio: next } = this.#numbers;
    const rollovers = next === 0 ? 0 : rolloversOf(next - 1);
    const counts = rollovers === 0 ? [0, 1] : [rollovers, rollovers + 1, 0];
    return counts.map((count) => count * 0x1_0000 + sequence);
  }

  /** Another source; the one that was heard first makes room for it. */
  #remember(ssrc: number): SourceState {
    const most = this.#places.length || MAX_SOURCES;
    if (this.#sources.size >= most) {
      const [[first, { numbers }]] = this.#sources as unknown as [[number, SourceState]];
      this.#sources.delete(first);
      if (this.#places.length > 0) numbers.source = 0;
    }
    const place = this.#places.find(({ source }) => source === 0);
    if (!place) return this.#keep(ssrc, this.#numbers);
    Object.assign(place, { audio: 0, control: 0, source: ssrc + 1 });
    return this.#keep(ssrc, place);
  }

  #keep(ssrc: number, numbers: HeardNumbers, highest = -1, control = -1): SourceState {
    const state = { highest, audio: new ReplayWindow(highest), control: new ReplayWindow(control), numbers };
    this.#sources.set(ssrc, state);
    return state;
  }

  #refuse(): undefined {
    this.refused++;
    return undefined;
  }
}
