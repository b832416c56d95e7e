import type { FormatName } from '../../lib/formats.ts';
import type { AudioCodec } from './audio-codec.ts';

/** `network`: the big end first; `host`: the little end first, as every machine we run on has it. */
export type OctetOrder = 'host' | 'network';

/** The names of linear audio, by rate. */
type LinearName = Extract<FormatName, `slin${string}`>;

/** Linear 16-bit audio: slin inside, L16 on RTP (RFC 3551 4.5.11). Without state. */
export class LinearCodec implements AudioCodec {
  readonly stateless = true;
  readonly codec: LinearName;
  readonly sampleRate: number;
  readonly clockRate: number;
  /** Distance of a sample's upper octet from its first. */
  readonly #upper: 0 | 1;

  constructor(codec: LinearName, sampleRate: number, order: OctetOrder) {
    this.codec = codec;
    this.sampleRate = sampleRate;
    this.clockRate = sampleRate;
    this.#upper = order === 'host' ? 1 : 0;
  }

  encode(samples: Int16Array, target: Uint8Array): number {
    const upper = this.#upper;
    const lower = 1 - upper;
    const count = Math.min(samples.length, target.length >> 1);
    for (let index = 0; index < count; index++) {
      const sample = samples[index]!;
      target[index * 2 + upper] = sample >> 8;
      target[index * 2 + lower] = sample;
    }
    return count * 2;
  }

  decode(payload: Uint8Array, target: Int16Array): number {
    const upper = this.#upper;
    const lower = 1 - upper;
    const count = Math.min(payload.length >> 1, target.length);
    for (let index = 0; index < count; index++)
      target[index] = (payload[index * 2 + upper]! << 8) | payload[index * 2 + lower]!;
    return count;
  }

  close(): void {}
}
