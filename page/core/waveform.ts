import { alawToLinear, ulawToLinear } from '../../src/media/codec/g711.ts';
import { G722Decoder } from '../../src/media/codec/g722.ts';

/** The shape of a recording, computed from the octets of its file. */

/** The loudest sample of each part of a recording, 0 to 1, and how long it is. */
export type Waveform = { peaks: readonly number[]; seconds: number };

/** Samples of a file: 16 bits each, by their place. `rate`: of all channels together, in Hz. */
type Samples = { count: number; rate: number; at(place: number): number };

const text = (view: DataView, at: number): string =>
  String.fromCharCode(...Array.from({ length: 4 }, (_, place) => view.getUint8(at + place)));

const linear = (view: DataView, from: number, octets: number, rate: number): Samples => ({
  ...{ count: octets >> 1, rate },
  at: (place) => view.getInt16(from + place * 2, true),
});

const byTable = (view: DataView, from: number, octets: number, rate: number, table: ArrayLike<number>): Samples => ({
  ...{ count: octets, rate },
  at: (place) => table[view.getUint8(from + place)] ?? 0,
});

/** Codings of WAV: linear of 16 bits, A-law and µ-law. */
const [wavLinear, wavAlaw, wavUlaw] = [1, 6, 7];

/** The samples of a WAV file; undefined where it is none, or of another coding. */
function wavSamples(view: DataView): Samples | undefined {
  if (view.byteLength < 12 || text(view, 0) !== 'RIFF' || text(view, 8) !== 'WAVE') return undefined;
  let form: { coding: number; bits: number; rate: number } | undefined;
  for (let at = 12; at + 8 <= view.byteLength; ) {
    const [name, size] = [text(view, at), view.getUint32(at + 4, true)];
    const from = at + 8;
    if (name === 'fmt ' && from + 16 <= view.byteLength)
      form = {
        ...{ coding: view.getUint16(from, true), bits: view.getUint16(from + 14, true) },
        rate: view.getUint32(from + 4, true) * view.getUint16(from + 2, true),
      };
    // A recording that was cut off says more than there is.
    const there = Math.min(size, view.byteLength - from);
    if (name === 'data') return form && form.rate > 0 ? wavData(view, from, there, form) : undefined;
    at = from + size + (size % 2);
  }
  return undefined;
}

function wavData(
  view: DataView,
  from: number,
  octets: number,
  { coding, bits, rate }: { coding: number; bits: number; rate: number },
): Samples | undefined {
  if (coding === wavLinear && bits === 16) return linear(view, from, octets, rate);
  if (bits !== 8 || (coding !== wavAlaw && coding !== wavUlaw)) return undefined;
  return byTable(view, from, octets, rate, coding === wavAlaw ? alawToLinear : ulawToLinear);
}

/** Rates of linear samples without a header, in Hz, by the name of the format. */
const linearRates: Readonly<Record<string, number>> = {
  ...{
    sln: 8_000,
    slin: 8_000,
    sln12: 12_000,
    sln16: 16_000,
    sln24: 24_000,
    sln32: 32_000,
    sln44: 44_100,
    sln48: 48_000,
  },
};

/** Longer files of G.722 are not decoded, in octets: an hour. */
const mostG722 = 30_000_000;

/** A header that makes samples of one channel a WAV file, which every browser plays. */
function wavHeader(coding: number, bits: number, rate: number, octets: number): Uint8Array<ArrayBuffer> {
  const header = new DataView(new ArrayBuffer(44));
  const words: readonly [number, string][] = [
    [0, 'RIFF'],
    [8, 'WAVE'],
    [12, 'fmt '],
    [36, 'data'],
  ];
  for (const [at, word] of words)
    for (let place = 0; place < 4; place++) header.setUint8(at + place, word.charCodeAt(place));
  header.setUint32(4, 36 + octets, true);
  header.setUint32(16, 16, true);
  header.setUint16(20, coding, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, rate, true);
  header.setUint32(28, (rate * bits) / 8, true);
  header.setUint16(32, bits / 8, true);
  header.setUint16(34, bits, true);
  header.setUint32(40, octets, true);
  return new Uint8Array(header.buffer);
}

/** A recording as a browser can play it: the octets of a file that it knows, and its samples. */
type Opened = { parts: readonly (Uint8Array<ArrayBuffer> | ArrayBuffer)[]; samples: Samples | undefined };

/** Opens a file by its format, as recordings have it. Formats that only the browser can decode have no samples here. */
export function openRecording(octets: ArrayBuffer, format: string): Opened {
  const view = new DataView(octets);
  const size = octets.byteLength;
  const rate = Object.hasOwn(linearRates, format) ? linearRates[format] : undefined;
  if (rate !== undefined)
    return { parts: [wavHeader(wavLinear, 16, rate, size), octets], samples: linear(view, 0, size, rate) };
  if (format === 'ulaw' || format === 'alaw') {
    const [coding, table] = format === 'ulaw' ? [wavUlaw, ulawToLinear] : [wavAlaw, alawToLinear];
    return { parts: [wavHeader(coding, 8, 8_000, size), octets], samples: byTable(view, 0, size, 8_000, table) };
  }
  if (format === 'g722' && size <= mostG722) {
    const decoded = new Int16Array(2 * size);
    new G722Decoder().decode(new Uint8Array(octets), decoded);
    const inside = decoded.buffer as ArrayBuffer;
    const samples = linear(new DataView(inside), 0, inside.byteLength, 16_000);
    return { parts: [wavHeader(wavLinear, 16, 16_000, inside.byteLength), inside], samples };
  }
  return { parts: [octets], samples: wavSamples(view) };
}

/** Samples that are looked at of each part, so that a recording of hours takes no longer than one of minutes. */
const mostSamples = 2_000;

/** @param columns parts of the recording */
export function waveformOf({ count, rate, at }: Samples, columns: number): Waveform {
  const parts = Math.min(columns, count);
  const peaks = Array.from({ length: parts }, (_, column) => {
    const [begin, end] = [column, column + 1].map((place) => Math.floor((place * count) / parts)) as [number, number];
    const step = Math.max(1, Math.floor((end - begin) / mostSamples));
    let loudest = 0;
    for (let place = begin; place < end; place += step) loudest = Math.max(loudest, Math.abs(at(place)));
    return loudest / 32_768;
  });
  return { peaks, seconds: count / rate };
}

/** Longer files of Opus are played without a waveform, in octets: about an hour. */
const mostDecoded = 12_000_000;

/** Has the browser decode a file, at 8 kHz. @returns undefined where it cannot, or where that takes too much memory. */
export async function decodedByBrowser(octets: ArrayBuffer): Promise<Samples | undefined> {
  if (octets.byteLength > mostDecoded) return undefined;
  try {
    const decoded = await new OfflineAudioContext(1, 1, 8_000).decodeAudioData(octets);
    const samples = decoded.getChannelData(0);
    return { count: samples.length, rate: decoded.sampleRate, at: (place) => (samples[place] ?? 0) * 32_767 };
  } catch {
    return undefined;
  }
}

/** The outline of a waveform, for a drawing as wide as it has parts and 2 high. */
export const outlineOf = (peaks: readonly number[]): string => {
  const side = (sign: number) => peaks.map((peak, x) => `${x},${(1 + sign * Math.max(0.01, peak)).toFixed(3)}`);
  return `M${[...side(-1), ...side(1).reverse()].join('L')}Z`;
};
