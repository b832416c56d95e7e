import { type SrtpKey, srtpSuites } from '../../lib/srtp.ts';
import { ReplayWindow } from './replay-window.ts';
import { controlHeaderLength, encryptedMark, read32, rtpHeaderLength, word } from './sealer.ts';
import { sessionKeys } from './session-keys.ts';
import { createTransform, type Transform } from './transform.ts';

/** What is known of one source: how far its numbers have come, and which of the last came. */
type SourceState = {
  rollovers: number;
  sequence: number;
  readonly audio: ReplayWindow;
  readonly control: ReplayWindow;
};

/** Sources remembered; a call has one, and another one when its far side changes. */
const MAX_SOURCES = 4;

/** How often the far side's sequence numbers have begun again: kept where the end of a thread cannot lose it. */
export interface HeardNumbers {
  rollovers: number;
}

/**
 * Opens what the far side sends. Whatever does not prove that it was made with the far side's key, or came before, is left
 * out, and changes nothing.
 */
export class Opener {
  readonly #audio: Transform;
  readonly #control: Transform;
  readonly #sources = new Map<number, SourceState>();
  readonly #numbers: HeardNumbers;
  /** Packets that were left out. */
  refused = 0;

  /** @param numbers with what was known before of the far side, if anything was. */
  constructor(key: SrtpKey, numbers: HeardNumbers = { rollovers: 0 }) {
    this.#numbers = numbers;
    const suite = srtpSuites[key.suite];
    const keys = sessionKeys(key);
    this.#audio = createTransform(suite, keys.rtp, 'rtp');
    this.#control = createTransform(suite, keys.rtcp, 'rtcp');
  }

  /** The packet of audio within; undefined when it is left out. */
  audio(packet: Uint8Array): Buffer | undefined {
    const header = rtpHeaderLength(packet);
    if (header === undefined || packet.length < header + this.#audio.tag) return this.#refuse();
    const ssrc = read32(packet, 8);
    const sequence = (packet[2]! << 8) | packet[3]!;
    const state = this.#sources.get(ssrc);
    const candidates = state ? [rolloversOf(state, sequence)] : this.#likely();
    for (const rollovers of candidates) {
      const index = rollovers * 0x1_0000 + sequence;
      if (rollovers < 0 || (state && !state.audio.admits(index))) continue;
      const layout = { header, ssrc, index, trailer: word(rollovers), sendsTrailer: false };
      const opened = this.#audio.open(packet, layout);
      if (!opened) continue;
      const known = state ?? this.#remember(ssrc, rollovers, sequence);
      known.audio.take(index);
      if (index > known.rollovers * 0x1_0000 + known.sequence) {
        known.rollovers = rollovers;
        known.sequence = sequence;
        this.#numbers.rollovers = rollovers;
      }
      return opened;
    }
    return this.#refuse();
  }

  /** The compound RTCP packet within; undefined when it is left out. */
  control(packet: Uint8Array): Buffer | undefined {
    const { tag } = this.#control;
    if (packet.length < controlHeaderLength + 4 + tag) return this.#refuse();
    const ssrc = read32(packet, 4);
    // GCM has the index at the very end, counter mode before the tag (RFC 3711 3.4, RFC 7714 9).
    const at = this.#trailerAt(packet.length);
    const trailer = packet.subarray(at, at + 4);
    const marked = read32(packet, at);
    const index = marked % encryptedMark;
    const state = this.#sources.get(ssrc);
    // What is not encrypted was never agreed on.
    if (marked < encryptedMark || (state && !state.control.admits(index))) return this.#refuse();
    const layout = { header: controlHeaderLength, ssrc, index, trailer, sendsTrailer: true };
    const opened = this.#control.open(packet, layout);
    if (!opened) return this.#refuse();
    (state ?? this.#remember(ssrc, 0, -1)).control.take(index);
    return opened;
  }

  #trailerAt(length: number): number {
    return this.#control.trailerIsLast ? length - 4 : length - 4 - this.#control.tag;
  }

  /** What a source that is new may have counted: it begins, or goes on where another thread or key left off. */
  #likely(): readonly number[] {
    const { rollovers } = this.#numbers;
    return rollovers === 0 ? [0, 1] : [rollovers, rollovers + 1, 0];
  }

  #remember(ssrc: number, rollovers: number, sequence: number): SourceState {
    const state = { rollovers, sequence, audio: new ReplayWindow(), control: new ReplayWindow() };
    this.#sources.set(ssrc, state);
    if (this.#sources.size > MAX_SOURCES) this.#sources.delete(this.#sources.keys().next().value!);
    return state;
  }

  #refuse(): undefined {
    this.refused++;
    return undefined;
  }
}

/** The count of rollovers that brings a sequence number nearest to the last one (RFC 3711 3.3.1). */
function rolloversOf({ rollovers, sequence }: SourceState, next: number): number {
  // RTCP came first: no audio has been heard yet.
  if (sequence < 0) return 0;
  if (sequence < 0x8000) return next - sequence > 0x8000 ? rollovers - 1 : rollovers;
  return sequence - 0x8000 > next ? rollovers + 1 : rollovers;
}
