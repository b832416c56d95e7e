import type { Static } from 'typebox';
import { model, text } from './schema.ts';

/** A recording that is finished and kept. */
export const StoredRecording = model('StoredRecording', 'A recording that is kept.', {
  name: text('Its name; parts of it may be directories.'),
  format: text('Format of its file, e.g. wav.'),
});
export type StoredRecording = Static<typeof StoredRecording>;
