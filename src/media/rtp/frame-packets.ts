import { type AudioCodec, maximumPayload } from '../codec/audio-codec.ts';
import { octetsPerSample } from '../codec/codecs.ts';
import type { SharedPayloads } from '../frame.ts';
import { headerLength } from './header.ts';

/** Packs linear audio frames into packets of a codec and the negotiated length. */
export class FramePackets {
  readonly #codec: AudioCodec;
  readonly #samples: Int16Array;
  readonly #perPacket: number;
  #count = 0;
  /** Packet memory; space for a header, and the part returned last. */
  #room = new Uint8Array(0);
  #payload = this.#room;
  #packet = this.#room;

  /** @param codec is only used, not closed. @param packetMs length of a packet, in ms. */
  constructor(codec: AudioCodec, packetMs: number) {
    this.#codec = codec;
    this.#perPacket = (packetMs * codec.sampleRate) / 1000;
    this.#samples = new Int16Array(this.#perPacket + codec.sampleRate / 10);
  }

  /** Units of the timestamps that a packet lasts. */
  get units(): number {
    return (this.#perPacket * this.#codec.clockRate) / this.#codec.sampleRate;
  }

  /** How long a payload of the codec lasts that came from elsewhere, in units of the timestamps. */
  unitsOf(octets: number): number {
    return this.octetsPerUnit === undefined ? this.units : octets / this.octetsPerUnit;
  }

  /** Octets of a payload in each unit of the timestamps; undefined where they tell nothing, and it lasts {@link units}. */
  get octetsPerUnit(): number | undefined {
    const { codec } = this.#codec;
    if (codec === 'opus') return undefined;
    return codec === 'g722' ? 1 : octetsPerSample(codec);
  }

  /**
   * Takes a frame and returns each full packet: its payload lies behind space for a header. Undefined: a silent packet
   * that need not be sent (Opus with DTX).
   * @param again whether packets may reuse memory, because nobody keeps them.
   * @param shared payloads already encoded for other receivers.
   */
  push(
    samples: Int16Array,
    again: boolean,
    send: (packet: Uint8Array | undefined, units: number) => void,
    shared?: SharedPayloads,
  ): void {
    if (this.#count === 0 && samples.length === this.#perPacket) {
      this.#encode(samples, again, send, shared);
      return;
    }
    this.#samples.set(samples, this.#count);
    this.#count += samples.length;
    while (this.#count >= this.#perPacket) {
      this.#encode(this.#samples.subarray(0, this.#perPacket), again, send);
      this.#samples.copyWithin(0, this.#perPacket, this.#count);
      this.#count -= this.#perPacket;
    }
  }

  /** Forgets what does not fill a packet yet. */
  clear(): void {
    this.#count = 0;
  }

  #encode(
    samples: Int16Array,
    again: boolean,
    send: (packet: Uint8Array | undefined, units: number) => void,
    shared?: SharedPayloads,
  ): void {
    const most = headerLength + maximumPayload(samples.length);
    if (this.#room.length < most) {
      this.#room = new Uint8Array(most);
      this.#payload = this.#room.subarray(headerLength);
      this.#packet = this.#room;
    }
    const codec = this.#codec;
    const length =
      shared && codec.stateless ? shared.encode(codec, samples, this.#payload) : codec.encode(samples, this.#payload);
    if (length === 0) {
      send(undefined, this.units);
      return;
    }
    // The exact length: packet memory decides how often the heap is collected.
    const octets = headerLength + length;
    if (this.#packet.length !== octets) this.#packet = this.#room.subarray(0, octets);
    send(again ? this.#packet : Buffer.from(this.#packet), this.units);
  }
}
