import Type, { type Static } from 'typebox';
import { model, stringMap, text } from './schema.ts';

/** A text message to or from an endpoint (SIP MESSAGE). */
export const TextMessage = model('TextMessage', 'A text message.', {
  from: text('Who sent it, as a URI.'),
  to: text('Who it is for, as a URI.'),
  body: text('What it says.'),
  variables: Type.Optional(stringMap('What else came with it: names and values.')),
});
export type TextMessage = Static<typeof TextMessage>;
