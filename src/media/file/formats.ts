import { formatRates } from '../codec/audio-codec.ts';
import { type StoredCodec, transcode } from '../codec/codecs.ts';
import { openCodec } from '../codec/open-codec.ts';
import { type OpusRate, openG722, openGsm, openLaw, openLinear, openOpus } from './open-audio.ts';
import type { PcmReader } from './pcm-reader.ts';
import { atRate } from './resampled-reader.ts';
import { openWav } from './wav.ts';

/** A file format: its name in the interface's lists, and how its octets become audio. */
type FileFormat = {
  name: string;
  /** Sampling rate in Hz; of WAV files the usual one of the extension. */
  sampleRate: number;
  /** Loss of quality: none, inaudible, or much. */
  loss: 'none' | 'some' | 'much';
  /**
   * The audio as linear samples. A file that can be decoded at several rates is decoded at the one nearest to `rate`.
   * @throws (rejects with) Error in words for the log when the file is not what its extension says.
   */
  open(file: Uint8Array, rate: number): PcmReader | Promise<PcmReader>;
};

const opusRates: readonly OpusRate[] = [8000, 12_000, 16_000, 24_000, 48_000];
const opus: FileFormat = {
  name: 'opus',
  sampleRate: 48_000,
  loss: 'some',
  open: (file, rate) => openOpus(file, opusRates.find((each) => each >= rate) ?? 48_000),
};
const law = (name: 'ulaw' | 'alaw'): FileFormat => ({
  name,
  sampleRate: 8000,
  loss: 'some',
  open: (file) => openLaw(file, name),
});
const linear = (name: StoredCodec): FileFormat => {
  const { sampleRate } = formatRates[name];
  return { name, sampleRate, loss: 'none', open: (file) => openLinear(file, sampleRate) };
};
const wav = (name: string, sampleRate: number): FileFormat => ({ name, sampleRate, loss: 'none', open: openWav });
const ulaw = law('ulaw');
const alaw = law('alaw');
const slin = linear('slin');

/** Formats by extension, as Asterisk's sound packages use them. */
export const formatOfExtension: ReadonlyMap<string, FileFormat> = new Map([
  ['ulaw', ulaw],
  ['ul', ulaw],
  ['mu', ulaw],
  ['pcm', ulaw],
  ['alaw', alaw],
  ['al', alaw],
  ['sln', slin],
  ['slin', slin],
  ['raw', slin],
  ['wav', wav('wav', 8000)],
  ['wav16', wav('wav16', 16_000)],
  ['sln12', linear('slin12')],
  ['sln16', linear('slin16')],
  ['sln24', linear('slin24')],
  ['sln32', linear('slin32')],
  ['sln44', linear('slin44')],
  ['sln48', linear('slin48')],
  ['g722', { name: 'g722', sampleRate: 16_000, loss: 'some', open: openG722 }],
  ['ogg', opus],
  ['opus', opus],
  ['gsm', { name: 'gsm', sampleRate: 8000, loss: 'much', open: openGsm }],
]);

const losses: Readonly<Record<FileFormat['loss'], number>> = { none: 0, some: 0.5, much: 0.9 };

/** How well a format serves a codec: 0 = as it is, less than 1 = at its rate or above, more = below its rate. */
function badness(format: FileFormat, codec: StoredCodec): number {
  if (format.name === codec) return -1;
  const { sampleRate } = formatRates[codec];
  const lost = losses[format.loss];
  if (format.sampleRate >= sampleRate) return lost + format.sampleRate / sampleRate / 100;
  return 1 + sampleRate / format.sampleRate + lost;
}

/**
 * Extensions in the order they are looked for: the codec's own first, so that nothing is converted in vain; then what has
 * all that the codec can carry, then what has less.
 */
export function extensionsFor(codec: StoredCodec): readonly string[] {
  return [...formatOfExtension]
    .map(([extension, format]) => ({ extension, badness: badness(format, codec) }))
    .sort((a, b) => a.badness - b.badness)
    .map(({ extension }) => extension);
}

/** How much is decoded at a stretch, in seconds of audio: a few ms of work. */
const stretchSeconds = 2;

/**
 * A file's audio as octets of a codec, at the codec's rate. Long files are worked on in stretches, with `pause` between
 * them for others to have their turn.
 * @throws (rejects with) Error in words for the log when the file is not what its extension says.
 */
export async function payloadOf(
  file: Uint8Array,
  format: FileFormat,
  codec: StoredCodec,
  pause: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Uint8Array> {
  if (format.name === codec) return file;
  if (format.name === 'ulaw' && codec === 'alaw') return transcode('ulaw', 'alaw', file);
  if (format.name === 'alaw' && codec === 'ulaw') return transcode('alaw', 'ulaw', file);
  const { sampleRate } = formatRates[codec];
  const reader = atRate(await format.open(file, sampleRate), sampleRate);
  const encoder = openCodec(codec);
  const octetsPerSample = codec === 'ulaw' || codec === 'alaw' ? 1 : 2;
  const payload = new Uint8Array(reader.length * octetsPerSample);
  const samples = new Int16Array(sampleRate * stretchSeconds);
  try {
    for (let at = 0; at < payload.length; ) {
      const count = reader.read(samples);
      if (count === 0) break;
      at += encoder.encode(samples.subarray(0, count), payload.subarray(at));
      if (at < payload.length) await pause();
    }
  } finally {
    reader.close();
  }
  return payload;
}
