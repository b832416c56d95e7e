import { alawToLinear, ulawToLinear } from '../codec/g711.ts';
import { G722Decoder } from '../codec/g722.ts';
import { OpusCodec, type OpusOptions } from '../codec/opus.ts';
import { GsmDecoder, gsmFrameOctets, gsmFrameSamples } from './gsm.ts';
import { opusClock, readOpusFile } from './opus-packets.ts';
import { BlockReader, type PcmReader, SampleReader } from './pcm-reader.ts';

/** Rates that a file of Opus can be decoded at, in Hz. */
export type OpusRate = NonNullable<OpusOptions['sampleRate']>;

/** Files of linear samples without a header, the little end first. */
export function openLinear(file: Uint8Array, sampleRate: number): PcmReader {
  return new SampleReader(
    sampleRate,
    file.length >> 1,
    (index) => ((file[index * 2 + 1]! << 24) >> 16) | file[index * 2]!,
  );
}

/** Files of G.711 without a header. */
export function openLaw(file: Uint8Array, law: 'ulaw' | 'alaw'): PcmReader {
  const table = law === 'ulaw' ? ulawToLinear : alawToLinear;
  return new SampleReader(8000, file.length, (index) => table[file[index]!]!);
}

/** A block of G.722, in octets and samples of 20 ms; the decoder adapts within a few of them. */
const g722Octets = 160;
const g722Samples = 320;

/** Files of G.722 at 64 kbit/s without a header. */
export function openG722(file: Uint8Array): PcmReader {
  let decoder = new G722Decoder();
  return new BlockReader(16_000, file.length * 2, {
    count: Math.ceil(file.length / g722Octets),
    longest: g722Samples,
    preparation: 5,
    start: (block) => block * g722Samples,
    decode: (block, target) => decoder.decode(file.subarray(block * g722Octets, (block + 1) * g722Octets), target),
    reset: () => {
      decoder = new G722Decoder();
    },
    close: () => undefined,
  });
}

/** Files of GSM full rate, frame behind frame. @throws Error in words for the log when it is none. */
export function openGsm(file: Uint8Array): PcmReader {
  if (file.length > 0 && file[0]! >> 4 !== 0xd) throw new Error('not a GSM file');
  let decoder = new GsmDecoder();
  const count = Math.floor(file.length / gsmFrameOctets);
  return new BlockReader(8000, count * gsmFrameSamples, {
    count,
    longest: gsmFrameSamples,
    // The pitch reaches back from piece to piece.
    preparation: 10,
    start: (block) => block * gsmFrameSamples,
    decode: (block, target) => (decoder.decode(file, block * gsmFrameOctets, target) ? gsmFrameSamples : 0),
    reset: () => {
      decoder = new GsmDecoder();
    },
    close: () => undefined,
  });
}

/** The longest packet of Opus, in seconds. */
const longestPacket = 0.12;

/**
 * Ogg files of Opus, decoded at the rate asked for.
 * @throws (rejects with) Error in words for the log when it is none, or Opus cannot be loaded.
 */
export async function openOpus(file: Uint8Array, sampleRate: OpusRate = 48_000): Promise<PcmReader> {
  const { packets, starts, length } = readOpusFile(file);
  const share = sampleRate / opusClock;
  let decoder = new OpusCodec({ sampleRate });
  let fresh = new OpusCodec({ sampleRate });
  let isFresh = true;
  await Promise.all([decoder.ready('decode'), fresh.ready('decode')]);
  return new BlockReader(sampleRate, Math.floor(length * share), {
    count: packets.length,
    longest: sampleRate * longestPacket,
    // 80 ms synchronise a decoder from any state (RFC 7845 section 4.6); twice that leaves no difference.
    preparation: 8,
    start: (block) => starts[block]! * share,
    decode: (block, target) => decoder.decode(packets[block]!, target),
    reset: (block) => {
      // The first packets build on nothing, so they need a decoder that has heard nothing: one is kept at hand.
      if (block > 0 || !isFresh) return;
      decoder.close();
      decoder = fresh;
      fresh = new OpusCodec({ sampleRate });
      isFresh = false;
      fresh.ready('decode').then(
        () => {
          isFresh = true;
        },
        () => undefined,
      );
    },
    close: () => {
      decoder.close();
      fresh.close();
    },
  });
}
