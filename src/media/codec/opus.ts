import type { Bandwidth, OpusDecoderHandle, OpusEncoderHandle } from 'libopus-wasm';
import type { OpusSending, OpusWishes } from '../../lib/formats.ts';
import type { AudioCodec } from './audio-codec.ts';

/** How a stream of Opus is sent and received: what the far side's fmtp asked for (RFC 7587 section 6.1). */
export type OpusOptions = {
  /** Samples per second of the linear audio: Opus resamples itself, so a conference needs no resampler. */
  sampleRate?: 8000 | 12_000 | 16_000 | 24_000 | 48_000;
  /** Bits a second: `maxaveragebitrate`. */
  bitRate?: number;
  /** `useinbandfec`: each packet carries a poorer copy of the one before. */
  fec?: boolean;
  /** Packets out of a hundred that get lost: how much of the bit rate goes into copies. */
  lossPercent?: number;
  /** `maxplaybackrate`: no audio above half of this rate in Hz is sent. */
  maxPlaybackRate?: number;
  /** `cbr`: the bit rate is constant. */
  cbr?: boolean;
  /** `usedtx`: next to nothing is sent in silence. */
  dtx?: boolean;
  /** Work to put into a packet, 0 to 10. */
  complexity?: number;
};

/** Defaults. */
export const defaultOpusOptions: Readonly<Required<OpusOptions>> = {
  sampleRate: 48_000,
  bitRate: 24_000,
  fec: true,
  lossPercent: 5,
  maxPlaybackRate: 48_000,
  cbr: false,
  dtx: false,
  complexity: 3,
};

/** How a stream is sent to a far side: its requests, within our limits. */
export function opusOptionsOf(wishes: OpusWishes | undefined, sending: OpusSending = defaultOpusOptions): OpusOptions {
  const { bitRate, complexity, fec, lossPercent } = sending;
  if (!wishes) return { bitRate, complexity, fec, lossPercent };
  const { maxPlaybackRate, maxAverageBitrate = bitRate, dtx, cbr } = wishes;
  return {
    complexity,
    lossPercent,
    fec: fec && wishes.fec,
    dtx,
    cbr,
    bitRate: Math.min(maxAverageBitrate, bitRate),
    ...(maxPlaybackRate !== undefined && { maxPlaybackRate }),
  };
}

/** A packet of DTX: its frame is empty and stands for silence (RFC 6716 section 3.1). */
const longestSilentPacket = 2;

/** Several megabytes, which many servers never need. */
const library = () => import('libopus-wasm');

/** Loads the library once, so that later streams work without delay. Rejects if it cannot be loaded. */
export async function loadOpus(): Promise<void> {
  const { loadLibopus } = await library();
  await loadLibopus();
}

/**
 * An Opus stream (RFC 6716), mono, with frames of 2.5, 5, 10, 20, 40 or 60 ms. The library creates its encoders and
 * decoders one turn of the event loop later. Until then nothing is encoded or decoded. Call {@link loadOpus} first to
 * make that turn short. Encoder and decoder are created on first use, because each takes about 30 KB.
 */
export class OpusCodec implements AudioCodec {
  readonly codec = 'opus';
  readonly sampleRate: number;
  /** Always 48 kHz (RFC 7587 section 4.1). */
  readonly clockRate = 48_000;
  readonly #options: Required<OpusOptions>;
  readonly #encoder: Lazy<OpusEncoderHandle>;
  readonly #decoder: Lazy<OpusDecoderHandle>;

  constructor(options: OpusOptions = {}) {
    this.#options = { ...defaultOpusOptions, ...options };
    const { sampleRate, bitRate, fec, lossPercent, dtx, complexity, maxPlaybackRate, cbr } = this.#options;
    this.sampleRate = sampleRate;
    this.#encoder = new Lazy(async () => {
      const { Application, Bandwidth, createEncoder } = await library();
      return createEncoder({
        sampleRate,
        channels: 1,
        application: Application.Voip,
        bitrate: bitRate,
        complexity,
        fec,
        packetLossPercent: lossPercent,
        dtx,
        vbr: !cbr,
        maxBandwidth: bandwidthOf(maxPlaybackRate, Bandwidth),
      });
    });
    this.#decoder = new Lazy(async () => (await library()).createDecoder({ sampleRate, channels: 1 }));
  }

  /** Resolves when the stream encodes, decodes, or both. Rejects with an Error when the library cannot. */
  async ready(direction?: 'encode' | 'decode'): Promise<void> {
    if (direction !== 'decode') await this.#encoder.ready();
    if (direction !== 'encode') await this.#decoder.ready();
  }

  /** How far the encoder's output lies behind its input, in samples of 48 kHz; 0 while it is not ready. */
  get lookahead(): number {
    return ((this.#encoder.get()?.getLookahead() ?? 0) * this.clockRate) / this.sampleRate;
  }

  encode(samples: Int16Array, target: Uint8Array): number {
    const encoder = this.#encoder.get();
    if (!encoder || !isFrame(samples.length, this.sampleRate)) return 0;
    let packet: Uint8Array;
    try {
      packet = encoder.encode(samples, { frameSize: samples.length, maxPacketBytes: target.length });
    } catch {
      // A target too small for the packet.
      return 0;
    }
    if (this.#options.dtx && packet.length <= longestSilentPacket) return 0;
    target.set(packet);
    return packet.length;
  }

  decode(payload: Uint8Array, target: Int16Array): number {
    if (payload.length === 0) return 0;
    return this.#decoded(target, (decoder) => decoder.decode(payload));
  }

  conceal(target: Int16Array, next?: Uint8Array): number {
    // The library conceals in steps of 2.5 ms.
    const step = this.sampleRate / 400;
    const frameSize = Math.min(Math.trunc(target.length / step), 48) * step;
    if (frameSize === 0) return 0;
    return this.#decoded(target, (decoder) =>
      next?.length ? decoder.decode(next, { decodeFec: true, frameSize }) : decoder.decodePacketLoss(frameSize),
    );
  }

  close(): void {
    this.#encoder.close();
    this.#decoder.close();
  }

  #decoded(target: Int16Array, decode: (decoder: OpusDecoderHandle) => Int16Array): number {
    const decoder = this.#decoder.get();
    if (!decoder) return 0;
    try {
      const samples = decode(decoder);
      const count = Math.min(samples.length, target.length);
      target.set(count === samples.length ? samples : samples.subarray(0, count));
      return count;
    } catch {
      // An invalid Opus packet counts as lost.
      return 0;
    }
  }
}

type Bandwidths = typeof import('libopus-wasm').Bandwidth;

/** The widest bandwidth that a rate in Hz can play (RFC 7587 section 3.1.1). */
function bandwidthOf(rate: number, Bandwidth: Bandwidths): Bandwidth {
  if (rate >= 48_000) return Bandwidth.Fullband;
  if (rate >= 24_000) return Bandwidth.Superwideband;
  if (rate >= 16_000) return Bandwidth.Wideband;
  return rate >= 12_000 ? Bandwidth.Mediumband : Bandwidth.Narrowband;
}

function isFrame(samples: number, sampleRate: number): boolean {
  return [2.5, 5, 10, 20, 40, 60].some((ms) => samples === (sampleRate * ms) / 1000);
}

/** Something of the library's that is made when first asked for, and freed once however early it is closed. */
class Lazy<T extends { free(): void }> {
  readonly #make: () => Promise<T>;
  #making: Promise<void> | undefined;
  #made: T | undefined;
  #closed = false;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  get(): T | undefined {
    // The caller that loaded the library gets the failure.
    if (!this.#making) this.ready().catch(() => undefined);
    return this.#made;
  }

  ready(): Promise<void> {
    this.#making ??= this.#closed ? Promise.resolve() : this.#make().then((made) => this.#keep(made));
    return this.#making;
  }

  close(): void {
    this.#closed = true;
    this.#made?.free();
    this.#made = undefined;
  }

  #keep(made: T): void {
    if (this.#closed) made.free();
    else this.#made = made;
  }
}
