/** The shape of a recording, computed from the octets of its file. */

/** The loudest sample of each part of a recording, 0 to 1, and how long it is. */
export type Waveform = { peaks: readonly number[]; seconds: number };

const text = (view: DataView, at: number): string =>
  String.fromCharCode(...Array.from({ length: 4 }, (_, place) => view.getUint8(at + place)));

/** Where the samples are, and their form; undefined where it is no WAV file of 16-bit samples. */
function samplesOf(view: DataView): { from: number; count: number; rate: number } | undefined {
  if (view.byteLength < 12 || text(view, 0) !== 'RIFF' || text(view, 8) !== 'WAVE') return undefined;
  let form: { channels: number; rate: number } | undefined;
  for (let at = 12; at + 8 <= view.byteLength; ) {
    const [name, size] = [text(view, at), view.getUint32(at + 4, true)];
    const from = at + 8;
    if (name === 'fmt ' && from + 16 <= view.byteLength) {
      const isLinear = view.getUint16(from, true) === 1 && view.getUint16(from + 14, true) === 16;
      form = isLinear ? { channels: view.getUint16(from + 2, true), rate: view.getUint32(from + 4, true) } : undefined;
    }
    // A recording that was cut off says more than there is.
    const there = Math.min(size, view.byteLength - from);
    if (name === 'data')
      return form && form.channels > 0 && form.rate > 0
        ? { from, count: there >> 1, rate: form.rate * form.channels }
        : undefined;
    at = from + size + (size % 2);
  }
  return undefined;
}

/** Samples that are read of each part: a recording of hours takes no longer than one of minutes. */
const mostSamples = 2_000;

/** @param columns parts of the recording. @returns undefined where the file is no WAV file of 16-bit samples. */
export function waveformOf(octets: ArrayBuffer, columns: number): Waveform | undefined {
  const view = new DataView(octets);
  const samples = samplesOf(view);
  if (!samples) return undefined;
  const { from, count, rate } = samples;
  const peaks = Array.from({ length: Math.min(columns, count) }, (_, column, parts = Math.min(columns, count)) => {
    const [begin, end] = [column, column + 1].map((place) => Math.floor((place * count) / parts)) as [number, number];
    const step = Math.max(1, Math.floor((end - begin) / mostSamples));
    let loudest = 0;
    for (let place = begin; place < end; place += step)
      loudest = Math.max(loudest, Math.abs(view.getInt16(from + place * 2, true)));
    return loudest / 32_768;
  });
  return { peaks, seconds: count / rate };
}

/** The outline of a waveform, for a drawing as wide as it has parts and 2 high. */
export const outlineOf = (peaks: readonly number[]): string => {
  const side = (sign: number) => peaks.map((peak, x) => `${x},${(1 + sign * Math.max(0.01, peak)).toFixed(3)}`);
  return `M${[...side(-1), ...side(1).reverse()].join('L')}Z`;
};
