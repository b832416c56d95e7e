import type { PlayItem } from '../telephony/media.ts';
import { octetsPerSample, type StoredCodec, samplesPerMs, silenceOctet } from './codec/codecs.ts';
import { SoundError, type SoundLibrary } from './file/sound-library.ts';
import type { LoggedAbout } from './protocol.ts';
import { characterSounds, digitSounds, numberSounds } from './say.ts';
import type { EndlessSource, Segment, Sequence } from './sequence.ts';
import { isToneZone, parseToneList, toneList, toneSequence } from './tones.ts';

/** Longest text that is spelled or said, in characters. */
const longestText = 1024;

/** The part of {@link ItemLoader} that sessions use. */
export type AudioLoader = Pick<ItemLoader, 'load' | 'tone' | 'music'>;

/** Gives a class of music, also one that turns out not to exist: then nothing sounds. */
export type OpenMusic = (musicClass: string, codec: StoredCodec, about: LoggedAbout) => EndlessSource;

/** Turns media URIs into audio. */
export class ItemLoader {
  readonly #library: SoundLibrary;
  readonly #toneZone: string;
  readonly #openMusic: OpenMusic;

  /** @param toneZone country of tones that name none. */
  constructor(library: SoundLibrary, toneZone: string, openMusic: OpenMusic) {
    this.#library = library;
    this.#toneZone = toneZone;
    this.#openMusic = openMusic;
  }

  /** The audio of an item. @throws SoundError saying why there is none. */
  async load({ uri, language }: PlayItem, codec: StoredCodec): Promise<Sequence> {
    const colon = uri.indexOf(':');
    const scheme = uri.slice(0, Math.max(0, colon));
    const rest = uri.slice(colon + 1);
    switch (scheme) {
      case 'sound':
        return sequence(codec, [await this.#sound(rest, language, codec)]);
      case 'recording':
        return sequence(codec, [segment(codec, await this.#library.recording(rest, codec))]);
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

  /** Music on hold of a class. @param about the object that the log names if the music class is unknown */
  music(musicClass: string, codec: StoredCodec, about: LoggedAbout): EndlessSource {
    return this.#openMusic(musicClass, codec, about);
  }

  /** A tone by its name in a zone, or as a list; `;tonezone=` chooses the zone. @throws SoundError when unknown. */
  tone(text: string, codec: StoredCodec): Sequence {
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

  async #sound(name: string, language: string, codec: StoredCodec): Promise<Segment> {
    try {
      return segment(codec, await this.#library.sound(name, language, codec));
    } catch (error) {
      // Whole seconds of silence need no file.
      const seconds = /^silence\/(\d{1,3})$/.exec(name)?.[1];
      if (seconds === undefined) throw error;
      return silence(codec, Number(seconds) * 1000);
    }
  }

  async #spoken(
    uri: string,
    names: readonly string[] | undefined,
    language: string,
    codec: StoredCodec,
  ): Promise<Sequence> {
    if (!names?.length) throw new SoundError(`'${uri}' cannot be said`);
    return sequence(codec, await Promise.all(names.map((name) => this.#sound(name, language, codec))));
  }
}

/** Silence of `ms`; Infinity: without end. */
export function silence(codec: StoredCodec, ms: number): Segment {
  const perMs = samplesPerMs(codec);
  const payload = new Uint8Array(20 * perMs * octetsPerSample(codec)).fill(silenceOctet(codec));
  return { payload, samples: ms * perMs };
}

function sequence(codec: StoredCodec, segments: readonly Segment[]): Sequence {
  return { codec, segments, seekable: true };
}

function segment(codec: StoredCodec, payload: Uint8Array): Segment {
  return { payload, samples: payload.length / octetsPerSample(codec) };
}

/** @throws SoundError for a text too long to be said. */
function limited(text: string): string {
  if (text.length > longestText) throw new SoundError(`a text of ${text.length} characters is too long to be said`);
  return text;
}
