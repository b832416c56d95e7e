/** 16-bit little-endian samples as octets hold them. */
export function linearSamples(octets: Uint8Array): Int16Array {
  const samples = new Int16Array(octets.length >> 1);
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  for (let index = 0; index < samples.length; index++) samples[index] = view.getInt16(index * 2, true);
  return samples;
}

/**
 * The samples of a WAV file: RIFF chunks are walked, `fmt ` and `data` are used, all others skipped. A data chunk
 * that claims more than the file holds (a recording that was never closed) ends with the file.
 *
 * @throws Error in words for the log when it is no WAV file, or none of 8 kHz, 16 bit, mono PCM.
 */
export function readWav(file: Uint8Array): Int16Array {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const word = (at: number) => String.fromCharCode(...file.subarray(at, at + 4));
  if (file.length < 12 || word(0) !== 'RIFF' || word(8) !== 'WAVE') throw new Error('not a WAV file');
  let format = '';
  for (let at = 12; at + 8 <= file.length; ) {
    const start = at + 8;
    const size = view.getUint32(at + 4, true);
    const end = Math.min(start + size, file.length);
    if (word(at) === 'fmt ' && end - start >= 16) format = describe(view, start);
    if (word(at) === 'data') {
      if (format !== wanted)
        throw new Error(`a WAV file of ${format || 'unknown format'} cannot be played, only ${wanted}`);
      return linearSamples(file.subarray(start, end));
    }
    // Chunks begin at even offsets.
    at = start + size + (size & 1);
  }
  throw new Error('a WAV file without audio');
}

const wanted = 'PCM 8000 Hz 16 bit 1 channel';
const pcm = 1;
/** WAVE_FORMAT_EXTENSIBLE: the real format is the beginning of a GUID further on. */
const extensible = 0xfffe;

function describe(view: DataView, at: number): string {
  const tag = view.getUint16(at, true);
  const real = tag === extensible && view.byteLength >= at + 26 ? view.getUint16(at + 24, true) : tag;
  const channels = view.getUint16(at + 2, true);
  const kind = real === pcm ? 'PCM' : `format ${real}`;
  return `${kind} ${view.getUint32(at + 4, true)} Hz ${view.getUint16(at + 14, true)} bit ${channels} channel${channels === 1 ? '' : 's'}`;
}
