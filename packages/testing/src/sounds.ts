import { readFileSync, writeFileSync } from 'node:fs';
import { ulawToLinear } from '../../../src/media/codec/g711.ts';
import { readAll } from '../../../src/media/file/pcm-reader.ts';
import { atRate } from '../../../src/media/file/resampled-reader.ts';
import { SoundLibrary } from '../../../src/media/file/sound-library.ts';
import { openWav, wavHeader } from '../../../src/media/file/wav.ts';
import { type Pattern, patternOf, toneSamples } from './audio.ts';
import { type Duration, inSeconds, toMs } from './duration.ts';

/** Something to hear or to say: made by {@link tone}, {@link silence}, {@link wav} and {@link samples}. */
export type Sound =
  | { kind: 'tone'; hertz: number; ms: number }
  | { kind: 'silence'; ms: number }
  | { kind: 'samples'; samples: Int16Array; distance: number; name: string };

/** A tone of one frequency. `hears` waits until it has sounded that long. */
export const tone = (hertz: number, duration: Duration = '200ms'): Sound => ({
  kind: 'tone',
  hertz,
  ms: toMs(duration),
});

/** Silence of that length. */
export const silence = (duration: Duration): Sound => ({ kind: 'silence', ms: toMs(duration) });

/** A WAV file. `distance` is how much of it may differ: 0 nothing, 1 everything. */
export const wav = (path: string, { distance = 0.3 } = {}): Sound => ({
  kind: 'samples',
  samples: readAll(atRate(openWav(readFileSync(path)), 8_000)),
  distance,
  name: path,
});

/** Linear samples of 16 bits at 8 kHz. */
export const samples = (
  audio: Int16Array,
  { distance = 0.3, name = 'the samples' }: { distance?: number; name?: string } = {},
): Sound => ({ kind: 'samples', samples: audio, distance, name });

export const nameOf = (sound: Sound): string => {
  if (sound.kind === 'samples') return `'${sound.name}'`;
  const length = inSeconds(sound.ms);
  return sound.kind === 'tone' ? `a tone of ${sound.hertz} Hz (${length})` : `${length} of silence`;
};

/** The samples of a sound, to be said. */
export function audioOf(sound: Sound): Int16Array {
  if (sound.kind === 'samples') return sound.samples;
  return sound.kind === 'tone' ? toneSamples(sound.hertz, sound.ms) : new Int16Array(sound.ms * 8);
}

/** Writes samples as a WAV file. */
export function writeWav(path: string, audio: Int16Array): void {
  const octets = new Uint8Array(audio.buffer, audio.byteOffset, audio.byteLength);
  writeFileSync(path, Buffer.concat([wavHeader(8_000, 1, octets.length), octets]));
}

/** The prompts of a server, by name. */
export class Prompts {
  readonly #library: SoundLibrary;
  readonly #known = new Map<string, Pattern>();

  constructor(options: ConstructorParameters<typeof SoundLibrary>[0]) {
    this.#library = new SoundLibrary(options);
  }

  /** @param name as in `sound:name` or `recording:name`; without a scheme a sound. @throws SoundError if there is none. */
  async load(name: string): Promise<Pattern> {
    const known = this.#known.get(name);
    if (known) return known;
    const [, scheme = 'sound', rest = name] = /^(sound|recording):(.*)$/.exec(name) ?? [];
    const payload =
      scheme === 'sound' ? await this.#library.sound(rest, '', 'ulaw') : await this.#library.recording(rest, 'ulaw');
    const pattern = patternOf(Int16Array.from(payload, (octet) => ulawToLinear[octet]!));
    this.#known.set(name, pattern);
    return pattern;
  }

  get known(): ReadonlyMap<string, Pattern> {
    return this.#known;
  }
}
