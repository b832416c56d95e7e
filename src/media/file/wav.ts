import { alawToLinear, ulawToLinear } from '../codec/g711.ts';
import { type PcmReader, readAll, SampleReader } from './pcm-reader.ts';

/** Contents of a WAV file. */
type WavFormat = {
  coding: 'pcm' | 'ulaw' | 'alaw';
  /** In Hz. */
  sampleRate: number;
  channels: number;
  /** Start and end of the audio in the file, in octets. */
  start: number;
  end: number;
};

/** Octets of the header that {@link wavHeader} makes. */
export const wavHeaderOctets = 44;

const pcm = 1;
const codings: ReadonlyMap<number, { coding: WavFormat['coding']; bits: number }> = new Map([
  [pcm, { coding: 'pcm', bits: 16 }],
  [6, { coding: 'alaw', bits: 8 }],
  [7, { coding: 'ulaw', bits: 8 }],
]);
/** WAVE_FORMAT_EXTENSIBLE: the real format is the beginning of a GUID further on. */
const extensible = 0xfffe;
const wanted = '16-bit PCM or G.711 of 8000 to 48000 Hz with one or two channels';
/** Sizes in the header have 32 bits; a longer file says the most, and readers then read to its end. */
const largestSize = 0xffff_ffff;

/**
 * Finds the audio of a WAV file. It uses the RIFF chunks `fmt ` and `data` and skips others. A data chunk longer than
 * the file (a recording that was never closed) ends with the file.
 *
 * @throws Error in words for the log if it is no WAV file, or of an unsupported format.
 */
export function parseWav(file: Uint8Array): WavFormat {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const word = (at: number) => String.fromCharCode(...file.subarray(at, at + 4));
  if (file.length < 12 || word(0) !== 'RIFF' || word(8) !== 'WAVE') throw new Error('not a WAV file');
  let format: Described | undefined;
  for (let at = 12; at + 8 <= file.length; ) {
    const start = at + 8;
    const size = view.getUint32(at + 4, true);
    const end = Math.min(start + size, file.length);
    if (word(at) === 'fmt ' && end - start >= 16) format = describe(view, start);
    if (word(at) === 'data') {
      const { coding, sampleRate, channels, words = 'unknown format' } = format ?? {};
      const known = coding && sampleRate && sampleRate >= 8000 && sampleRate <= 48_000;
      if (!known || (channels !== 1 && channels !== 2))
        throw new Error(`a WAV file of ${words} cannot be played, only ${wanted}`);
      return { coding, sampleRate, channels, start, end };
    }
    // Chunks begin at even offsets.
    at = start + size + (size & 1);
  }
  throw new Error('a WAV file without audio');
}

/** The audio of a WAV file, both channels as one. @throws as {@link parseWav}. */
export function openWav(file: Uint8Array): PcmReader {
  const { coding, sampleRate, channels, start, end } = parseWav(file);
  const octets = coding === 'pcm' ? 2 : 1;
  const one = sampleOf(file, coding);
  const length = Math.floor((end - start) / (octets * channels));
  if (channels === 1) return new SampleReader(sampleRate, length, (index) => one(start + index * octets));
  return new SampleReader(sampleRate, length, (index) => {
    const at = start + index * 2 * octets;
    return (one(at) + one(at + octets)) >> 1;
  });
}

/** All samples of a WAV file at its own rate, both channels as one. @throws as {@link parseWav}. */
export function readWav(file: Uint8Array): Int16Array {
  return readAll(openWav(file));
}

/** The header of a WAV file of 16-bit PCM whose `dataOctets` of audio follow it to the end. */
export function wavHeader(sampleRate: number, channels: number, dataOctets: number): Uint8Array {
  const header = Buffer.alloc(wavHeaderOctets);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(Math.min(largestSize, dataOctets + wavHeaderOctets - 8), 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(pcm, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(Math.min(largestSize, dataOctets), 40);
  return header;
}

function sampleOf(file: Uint8Array, coding: WavFormat['coding']): (at: number) => number {
  if (coding === 'pcm') return (at) => ((file[at + 1]! << 24) >> 16) | file[at]!;
  const table = coding === 'ulaw' ? ulawToLinear : alawToLinear;
  return (at) => table[file[at]!]!;
}

type Described = { coding: WavFormat['coding'] | undefined; sampleRate: number; channels: number; words: string };

function describe(view: DataView, at: number): Described {
  const tag = view.getUint16(at, true);
  const real = tag === extensible && view.byteLength >= at + 26 ? view.getUint16(at + 24, true) : tag;
  const channels = view.getUint16(at + 2, true);
  const sampleRate = view.getUint32(at + 4, true);
  const bits = view.getUint16(at + 14, true);
  const known = codings.get(real);
  const kind = real === pcm ? 'PCM' : `format ${real}`;
  const words = `${kind} ${sampleRate} Hz ${bits} bit ${channels} channel${channels === 1 ? '' : 's'}`;
  return { coding: known?.bits === bits ? known.coding : undefined, sampleRate, channels, words };
}
