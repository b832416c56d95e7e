import { queryParam } from '../operation.ts';

/** Common parts of playback and recording operations, on channels and on bridges. */

export const playParams = {
  media: queryParam('list', 'Media URIs: sound:, recording:, number:, digits:, characters: or tone:.', {
    required: true,
    names: 'media',
  }),
  lang: queryParam('string', 'Language of sounds; that of the channel, or the default, when left out.'),
  offsetms: queryParam('int', 'Start position in the first item, in ms.', { aliases: ['offset'] }),
  skipms: queryParam('int', 'How far forward and reverse move, in ms.', { default: 3000 }),
} as const;

export const playErrors = ['skipNegative', 'offsetNegative', 'mediaRequired', 'playbackIdExists'] as const;

/** Path of a playback. */
export const playbackLocation = ({ id }: { id: string }): string => `/ari/playbacks/${encodeURIComponent(id)}`;

export const recordParams = {
  name: queryParam('string', 'Name to store it by; parts of it may be directories.', {
    required: true,
    creates: 'recording',
  }),
  format: queryParam('string', 'Format of the file: wav, wav16, ulaw, alaw, sln, sln16, g722 or ogg.', {
    required: true,
  }),
  maxDurationSeconds: queryParam('int', 'Longest recording, in s; 0 for no limit.', { default: 0 }),
  maxSilenceSeconds: queryParam('int', 'Silence that ends it, in s; 0 for none.', { default: 0 }),
  ifExists: queryParam('string', 'What to do if a stored recording of that name exists.', {
    default: 'fail',
    allowed: ['fail', 'overwrite', 'append'],
  }),
  beep: queryParam('boolean', 'Play a beep first.', { default: false }),
  terminateOn: queryParam('string', 'Digit that ends it.', { default: 'none', allowed: ['none', 'any', '*', '#'] }),
} as const;

export const recordErrors = [
  'maxDurationNegative',
  'maxSilenceNegative',
  'terminateOnInvalid',
  'ifExistsInvalid',
  'recordingFormatUnknown',
  'recordingNameInvalid',
  'recordingExists',
  'recordingExistsConflict',
  'tooManyRecordings',
] as const;

/** Path of a live recording. */
export const recordingLocation = ({ name }: { name: string }): string =>
  `/ari/recordings/live/${encodeURIComponent(name)}`;
