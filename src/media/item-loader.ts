import type { Codec, PlayItem } from '../telephony/media.ts';
import { samplesPerMs, silenceOctet } from './codec/codecs.ts';
import { SoundError, type SoundLibrary } from './file/sound-library.ts';
import { characterSounds, digitSounds, numberSounds } from './say.ts';
import type { Segment, Sequence } from './sequence.ts';
import { isToneZone, parseToneList, toneList, toneSequence } from './tones.ts';

/** Longest text that is spelled or said, in characters. */
const longestText = 1024;

/** What sessions need of an {@link ItemLoader}. */
export type AudioLoader = Pick<ItemLoader, 'load' | 'tone'>;

/** Turns media URIs into audio. */
export class ItemLoader {
  readonly #library: SoundLibrary;
  readonly #toneZone: string;

  /** @param toneZone country of tones that name none. */
  constructor(library: SoundLibrary, toneZone: string) {
    this.#library = library;
    this.#toneZone = toneZone;
  }

  /** The audio of an item. @throws SoundError saying why there is none. */
  async load({ uri, language }: PlayItem, codec: Codec): Promise<Sequence> {
    const colon = uri.indexOf(':');
    const scheme = uri.slice(0, Math.max(0, colon));
    const rest = uri.slice(colon + 1);
    switch (scheme) {
      case 'sound':
        return sequence(codec, [await this.#sound(rest, language, codec)]);
      case 'recording':
        return sequence(codec, [segment(await this.#library.recording(rest, codec))]);
      case 'number':
        return this.#spoken(uri, numberSounds(rest, language), language, codec);
      case 'digits':
        return this.#spoken(uri, digitSounds(limited(rest)), language, codec);
      case 'characters':
        return this.#spoken(uri, characterSounds(limited(rest)), language, codec);
      case 'tone':
        return this.tone(rest, codec);
      default:
        throw new SoundError(`'${uri}' has no scheme that can be played`);
    }
  }

  /** A tone by its name in a zone, or as a list; `;tonezone=` chooses the zone. @throws SoundError when unknown. */
  tone(text: string, codec: Codec): Sequence {
    const [name = '', ...options] = text.split(';');
    let zone = this.#toneZone;
    for (const option of options) {
      const [key, value = ''] = option.split('=');
      if (key !== 'tonezone') throw new SoundError(`'${option}' is no option of a tone`);
      if (!isToneZone(value)) throw new SoundError(`the tone zone '${value}' is not known`);
      zone = value;
    }
    const elements = parseToneList(toneList(zone, name) ?? name);
    if (!elements) throw new SoundError(`'${name}' is neither a tone of zone '${zone}' nor a list of tones`);
    return toneSequence(elements, codec);
  }

  async #sound(name: string, language: string, codec: Codec): Promise<Segment> {
    try {
      return segment(await this.#library.sound(name, language, codec));
    } catch (error) {
      // Whole seconds of silence need no file.
      const seconds = /^silence\/(\d{1,3})$/.exec(name)?.[1];
      if (seconds === undefined) throw error;
      return silence(codec, Number(seconds) * 1000);
    }
  }

  async #spoken(uri: string, names: readonly string[] | undefined, language: string, codec: Codec): Promise<Sequence> {
    if (!names?.length) throw new SoundError(`'${uri}' cannot be said`);
    return sequence(codec, await Promise.all(names.map((name) => this.#sound(name, language, codec))));
  }
}

/** Silence of `ms`, or for ever with Infinity. */
export function silence(codec: Codec, ms: number): Segment {
  return { payload: new Uint8Array(20 * samplesPerMs).fill(silenceOctet[codec]), samples: ms * samplesPerMs };
}

function sequence(codec: Codec, segments: readonly Segment[]): Sequence {
  return { codec, segments, seekable: true };
}

function segment(payload: Uint8Array): Segment {
  return { payload, samples: payload.length };
}

/** @throws SoundError for a text too long to be said. */
function limited(text: string): string {
  if (text.length > longestText) throw new SoundError(`a text of ${text.length} characters is too long to be said`);
  return text;
}
