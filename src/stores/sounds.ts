import { AriError } from '../models/errors.ts';
import type { Sound } from '../models/sound.ts';

/** The sounds that can be played. */
export interface Sounds {
  /**
   * Sounds that exist in the language and format asked for, with the variants that fit; all of them without a filter.
   * @throws AriError soundsNotFound when none fits, soundsUnavailable
   */
  list(filter: { lang?: string | undefined; format?: string | undefined }): Sound[];
  /** One sound with all its variants. @throws AriError soundNotFound, soundsUnavailable */
  get(id: string): Sound;
}

/** @param index all sounds there are; undefined when they could not be looked through. */
export function createSounds(index: () => readonly Sound[] | undefined): Sounds {
  const all = (): readonly Sound[] => {
    const sounds = index();
    if (!sounds) throw new AriError('soundsUnavailable');
    return sounds;
  };

  return {
    list({ lang, format }) {
      const fits = (variant: Sound['formats'][number]): boolean =>
        (!lang || variant.language === lang) && (!format || variant.format === format);
      const found = all()
        .map((sound) => ({ ...sound, formats: sound.formats.filter(fits) }))
        .filter((sound) => sound.formats.length > 0);
      if (found.length === 0) throw new AriError('soundsNotFound');
      return found;
    },
    get(id) {
      const sound = all().find((candidate) => candidate.id === id);
      if (!sound) throw new AriError('soundNotFound');
      return sound;
    },
  };
}
