import type { AudioCodec } from './codec/audio-codec.ts';

/** 20 ms of linear 16-bit mono audio. Its samples hold until the tick after the one they were made in. */
export type Frame = {
  samples: Int16Array;
  /** In Hz. */
  sampleRate: number;
  /** Of a frame that several ends say: what was encoded of it for one of them. */
  readonly shared?: SharedPayloads | undefined;
};

/** Payloads of a frame in stateless codecs: encoded once for all receivers. */
export class SharedPayloads {
  readonly #payloads = new Map<string, { octets: Uint8Array; of: number }>();
  /** Numbers what the samples were. */
  #now = 0;

  /** The samples have changed. */
  changed(): void {
    this.#now++;
  }

  /** As {@link AudioCodec.encode} does, of samples that are the whole frame. */
  encode(codec: AudioCodec, samples: Int16Array, target: Uint8Array): number {
    const known = this.#payloads.get(codec.codec);
    if (known?.of === this.#now) {
      target.set(known.octets);
      return known.octets.length;
    }
    const length = codec.encode(samples, target);
    if (known?.octets.length === length) {
      known.octets.set(target.subarray(0, length));
      known.of = this.#now;
    } else this.#payloads.set(codec.codec, { octets: target.slice(0, length), of: this.#now });
    return length;
  }
}

/** Samples of 20 ms at a rate in Hz. */
export function frameSamples(sampleRate: number): number {
  return sampleRate / 50;
}

/** A frame of silence. */
export function emptyFrame(sampleRate: number): Frame {
  return { samples: new Int16Array(frameSamples(sampleRate)), sampleRate };
}
