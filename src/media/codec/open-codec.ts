import type { FormatName } from '../../lib/formats.ts';
import { type AudioCodec, formatRates } from './audio-codec.ts';
import { alawToLinear, linearToAlaw, linearToUlaw, ulawToLinear } from './g711.ts';
import { G722Decoder, G722Encoder } from './g722.ts';
import { LinearCodec, type OctetOrder } from './linear.ts';
import { OpusCodec, type OpusOptions } from './opus.ts';

/** How a codec's stream is opened. */
type AudioCodecOptions = {
  /** slin only: order of octets, `network` in RTP (L16, RFC 3551 4.5.11), `host` (little end first) elsewhere. */
  order?: OctetOrder;
  /** opus only. */
  opus?: OpusOptions;
};

/** Opens a stream of a codec. */
export function openCodec(codec: FormatName, options: AudioCodecOptions = {}): AudioCodec {
  switch (codec) {
    case 'ulaw':
      return new TableCodec(codec, linearToUlaw, ulawToLinear);
    case 'alaw':
      return new TableCodec(codec, linearToAlaw, alawToLinear);
    case 'g722':
      return new G722Codec();
    case 'opus':
      return new OpusCodec(options.opus);
    default:
      return new LinearCodec(codec, formatRates[codec].sampleRate, options.order ?? 'host');
  }
}

/** G.711: an octet a sample by tables, without state. */
class TableCodec implements AudioCodec {
  readonly stateless = true;
  readonly codec: 'ulaw' | 'alaw';
  readonly sampleRate = 8000;
  readonly clockRate = 8000;
  readonly #toOctet: Readonly<Uint8Array>;
  readonly #toSample: Readonly<Int16Array>;

  constructor(codec: 'ulaw' | 'alaw', toOctet: Readonly<Uint8Array>, toSample: Readonly<Int16Array>) {
    this.codec = codec;
    this.#toOctet = toOctet;
    this.#toSample = toSample;
  }

  encode(samples: Int16Array, target: Uint8Array): number {
    const table = this.#toOctet;
    const count = Math.min(samples.length, target.length);
    for (let index = 0; index < count; index++) target[index] = table[samples[index]! & 0xffff]!;
    return count;
  }

  decode(payload: Uint8Array, target: Int16Array): number {
    const table = this.#toSample;
    const count = Math.min(payload.length, target.length);
    for (let index = 0; index < count; index++) target[index] = table[payload[index]!]!;
    return count;
  }

  close(): void {}
}

/** G.722: an encoder and a decoder side by side. */
class G722Codec implements AudioCodec {
  readonly codec = 'g722';
  readonly sampleRate = 16_000;
  readonly clockRate = 8000;
  readonly #encoder = new G722Encoder();
  readonly #decoder = new G722Decoder();

  encode(samples: Int16Array, target: Uint8Array): number {
    return this.#encoder.encode(samples, target);
  }

  decode(payload: Uint8Array, target: Int16Array): number {
    const fits = target.length >> 1;
    return this.#decoder.decode(payload.length > fits ? payload.subarray(0, fits) : payload, target);
  }

  follow(payload: Uint8Array): void {
    this.#encoder.follow(payload);
  }

  close(): void {}
}
