import Type, { type Static } from 'typebox';
import { model, text } from './schema.ts';

/** One recording of a sound. */
const FormatLangPair = model('FormatLangPair', 'A language and a format that a sound exists in.', {
  language: text('Language, e.g. en.'),
  format: text('Format of the file, e.g. wav.'),
});

/** A sound that can be played by name. */
export const Sound = model('Sound', 'A sound that can be played by its id.', {
  id: text('Id, used in a media URI as sound:<id>.'),
  text: Type.Optional(text('The spoken text.')),
  formats: Type.Array(FormatLangPair, { description: 'Languages and formats it exists in.' }),
});
export type Sound = Static<typeof Sound>;
