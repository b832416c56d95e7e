import Type, { type Static } from 'typebox';
import { int, model, stringMap, text, texts } from './schema.ts';

/** The allowed operations of one object, by the rules that refuse them. */

export const AllowedOperation = model('AllowedOperation', 'An operation, and whether it may be done now.', {
  operation: text('The command.'),
  allowed: Type.Boolean({ description: 'Whether it may be done now.' }),
  without_effect: Type.Optional(text('Why it changes nothing, although it is allowed.')),
  error: Type.Optional(text('Name of the refusal.')),
  status: Type.Optional(int('HTTP status of the refusal.')),
  message: Type.Optional(text('Words of the refusal.')),
  reason: Type.Optional(text('A sentence with the current state and what must happen first.')),
  chart: Type.Optional(text('The chart that refuses it.')),
  allowed_in: Type.Optional(texts('States of that chart that would allow it, if nothing else changes.')),
});
export type AllowedOperation = Static<typeof AllowedOperation>;

export const AllowedOperations = model(
  'AllowedOperations',
  'The operations that an object allows now, and reasons for the others.',
  {
    kind: Type.Enum(['channel', 'bridge', 'playback', 'recording'], { description: 'The kind of object.' }),
    id: text('Its id; the name of a recording.'),
    states: stringMap('The state of each chart behind it.'),
    operations: Type.Array(AllowedOperation),
  },
);
export type AllowedOperations = Static<typeof AllowedOperations>;
