import type { Static } from 'typebox';
import { int, model, text } from './schema.ts';

/** Counts of waiting messages. */
export const Mailbox = model('Mailbox', 'How many messages wait in a mailbox.', {
  name: text('Name of the mailbox.'),
  old_messages: int('Messages already heard.'),
  new_messages: int('Messages not heard yet.'),
});
export type Mailbox = Static<typeof Mailbox>;
