import type { Static } from 'typebox';
import { model, stringMap, text } from './schema.ts';

/** The value of one variable or function. */
export const Variable = model('Variable', 'The value of a variable.', {
  value: text('Its value; empty when it is set to nothing.'),
});
export type Variable = Static<typeof Variable>;

/** Several variables. */
export const Variables = model('Variables', 'Several variables with their values.', {
  variables: stringMap('Names and values.'),
});
export type Variables = Static<typeof Variables>;
