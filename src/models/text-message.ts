import Type, { type Static } from 'typebox';
import { model, stringMap, text } from './schema.ts';

/** A text message to or from an endpoint (SIP MESSAGE). */
export const TextMessage = model('TextMessage', 'A text message.', {
  from: text('Sender, as a URI.'),
  to: text('Recipient, as a URI.'),
  body: text('The text.'),
  variables: Type.Optional(stringMap('Additional variables: names and values.')),
});
export type TextMessage = Static<typeof TextMessage>;
