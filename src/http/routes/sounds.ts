import Type from 'typebox';
import { Sound } from '../../models/sound.ts';
import { operation, pathParam, queryParam, type Resource } from '../operation.ts';

/** Sounds that can be played. */
export const sounds: Resource = {
  name: 'sounds',
  description: 'Sounds that can be played.',
  operations: [
    operation({
      method: 'GET',
      path: '/sounds',
      nickname: 'list',
      summary: 'List sounds.',
      owner: 'sounds',
      params: {
        lang: queryParam('string', 'Only those in this language.'),
        format: queryParam('string', 'Only those in this format.'),
      },
      returns: Type.Array(Sound),
      errors: ['soundsNotFound', 'soundsUnavailable'],
      handle: (sounds, params) => sounds.list(params),
    }),
    operation({
      method: 'GET',
      path: '/sounds/{soundId}',
      nickname: 'get',
      summary: 'Look at one sound.',
      owner: 'sounds',
      params: { soundId: pathParam('Id of the sound; a slash in it is sent as %2F.') },
      returns: Sound,
      errors: ['soundNotFound', 'soundsUnavailable'],
      handle: (sounds, params) => sounds.get(params.soundId),
    }),
  ],
};
