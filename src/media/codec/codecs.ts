import type { FormatName } from '../../lib/formats.ts';
import { formatRates } from './audio-codec.ts';
import { alawToLinear, alawToUlaw, linearToAlaw, linearToUlaw, ulawToAlaw, ulawToLinear } from './g711.ts';

/** Formats that audio can be kept in: it may be cut at every sample. */
export type StoredCodec = Exclude<FormatName, 'g722' | 'opus'>;

/** G.711: an octet a sample. */
type Law = 'ulaw' | 'alaw';

/** Whether it is one of the G.711 codecs. */
export function isLaw(codec: FormatName): codec is Law {
  return codec === 'ulaw' || codec === 'alaw';
}

/** Storage format of audio for a far side of `codec`: as sent, or linear samples if packets build on each other. */
export function storedFor(codec: FormatName): StoredCodec {
  if (codec === 'g722') return 'slin16';
  return codec === 'opus' ? 'slin48' : codec;
}

/** Linear audio of a rate in Hz that has a name; undefined for others. */
export function linearOf(sampleRate: number): StoredCodec | undefined {
  return (Object.keys(formatRates) as FormatName[]).find(
    (name): name is StoredCodec => name.startsWith('slin') && formatRates[name].sampleRate === sampleRate,
  );
}

/** Samples per millisecond. */
export function samplesPerMs(codec: FormatName): number {
  return formatRates[codec].sampleRate / 1000;
}

/** Octets that one sample takes. */
export function octetsPerSample(codec: StoredCodec): 1 | 2 {
  return isLaw(codec) ? 1 : 2;
}

/** The octet that silence consists of. */
export function silenceOctet(codec: StoredCodec): number {
  if (codec === 'ulaw') return 0xff;
  return codec === 'alaw' ? 0xd5 : 0;
}

/** Makes a payload silent. @returns false where a codec has no octet that stands for silence. */
export function silencePayload(codec: FormatName, packet: Uint8Array, from: number, to: number): boolean {
  if (isLaw(codec)) packet.fill(silenceOctet(codec), from, to);
  return isLaw(codec);
}

/** Linear 16-bit samples to octets of `codec`; linear ones with the little end first. */
export function encode(codec: StoredCodec, samples: Int16Array): Uint8Array {
  if (!isLaw(codec))
    return new Uint8Array(samples.buffer.slice(samples.byteOffset, samples.byteOffset + samples.byteLength));
  const table = codec === 'ulaw' ? linearToUlaw : linearToAlaw;
  const octets = new Uint8Array(samples.length);
  for (let index = 0; index < samples.length; index++) octets[index] = table[samples[index]! & 0xffff]!;
  return octets;
}

/** Octets of `codec` to linear 16-bit samples. */
export function decode(codec: StoredCodec, octets: Uint8Array): Int16Array {
  const samples = new Int16Array(octets.length / octetsPerSample(codec));
  decodeInto(codec, octets, samples);
  return samples;
}

/** Decodes to the beginning of `target`; as many samples as both hold. */
export function decodeInto(codec: StoredCodec, octets: Uint8Array, target: Int16Array): void {
  if (isLaw(codec)) {
    const table = codec === 'ulaw' ? ulawToLinear : alawToLinear;
    const count = Math.min(octets.length, target.length);
    for (let index = 0; index < count; index++) target[index] = table[octets[index]!]!;
    return;
  }
  const count = Math.min(octets.length >> 1, target.length);
  for (let index = 0; index < count; index++) target[index] = octets[2 * index]! | (octets[2 * index + 1]! << 8);
}

/** Octets of one codec as octets of another of the same rate; the same array when they are the same. */
export function transcode(from: StoredCodec, to: StoredCodec, octets: Uint8Array): Uint8Array {
  if (from === to) return octets;
  if (!isLaw(from) || !isLaw(to)) return encode(to, decode(from, octets));
  const table = from === 'ulaw' ? ulawToAlaw : alawToUlaw;
  const result = new Uint8Array(octets.length);
  for (let index = 0; index < octets.length; index++) result[index] = table[octets[index]!]!;
  return result;
}
