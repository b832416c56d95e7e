import type { Codec } from '../../telephony/media.ts';
import { encode, transcode } from '../codec/codecs.ts';
import { linearSamples, readWav } from './wav.ts';

/** A file format: its name in the interface's lists, and how its octets become payload of a codec. */
export type FileFormat = {
  name: 'ulaw' | 'alaw' | 'wav' | 'slin';
  /** @throws Error in words for the log when the file is not what its extension says. */
  payload(file: Uint8Array, codec: Codec): Uint8Array;
};

const ulaw: FileFormat = { name: 'ulaw', payload: (file, codec) => transcode('ulaw', codec, file) };
const alaw: FileFormat = { name: 'alaw', payload: (file, codec) => transcode('alaw', codec, file) };
const wav: FileFormat = { name: 'wav', payload: (file, codec) => encode(codec, readWav(file)) };
const slin: FileFormat = { name: 'slin', payload: (file, codec) => encode(codec, linearSamples(file)) };

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
  ['wav', wav],
]);

/** Extensions in the order they are looked for: the codec's own first, so that nothing is converted in vain. */
export function extensionsFor(codec: Codec): readonly string[] {
  const own = [...formatOfExtension].filter(([, format]) => format.name === codec);
  const lossless = [...formatOfExtension].filter(([, format]) => format.name === 'wav' || format.name === 'slin');
  const other = [...formatOfExtension].filter(([, format]) => format.name !== codec && /law/.test(format.name));
  return [...own, ...lossless, ...other].map(([extension]) => extension);
}
