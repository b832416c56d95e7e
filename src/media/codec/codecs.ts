import type { Codec } from '../../telephony/media.ts';
import { alawToLinear, alawToUlaw, linearToAlaw, linearToUlaw, ulawToAlaw, ulawToLinear } from './g711.ts';

/** Samples per second of every codec of the plane. */
export const sampleRate = 8000;
/** Samples, and in G.711 octets, per millisecond. */
export const samplesPerMs = sampleRate / 1000;

/** The octet that stands for a zero sample. */
export const silenceOctet: Readonly<Record<Codec, number>> = { ulaw: 0xff, alaw: 0xd5 };

/** Linear 16-bit samples to octets of `codec`. */
export function encode(codec: Codec, samples: Int16Array): Uint8Array {
  const table = codec === 'ulaw' ? linearToUlaw : linearToAlaw;
  const octets = new Uint8Array(samples.length);
  for (let index = 0; index < samples.length; index++) octets[index] = table[samples[index]! & 0xffff]!;
  return octets;
}

/** Octets of `codec` to linear 16-bit samples. */
export function decode(codec: Codec, octets: Uint8Array): Int16Array {
  const table = codec === 'ulaw' ? ulawToLinear : alawToLinear;
  const samples = new Int16Array(octets.length);
  for (let index = 0; index < octets.length; index++) samples[index] = table[octets[index]!]!;
  return samples;
}

/** Octets of one codec as octets of another; the same array when they are the same. */
export function transcode(from: Codec, to: Codec, octets: Uint8Array): Uint8Array {
  if (from === to) return octets;
  const table = from === 'ulaw' ? ulawToAlaw : alawToUlaw;
  const result = new Uint8Array(octets.length);
  for (let index = 0; index < octets.length; index++) result[index] = table[octets[index]!]!;
  return result;
}
