import type { Static } from 'typebox';
import { int, model, text, texts } from './schema.ts';

/** A phone's subscription as the server keeps it. */
export const WatcherView = model('WatcherView', 'The subscription of a phone to BLF or to waiting messages.', {
  endpoint: text('Endpoint that has subscribed, as `technology/resource`.'),
  topics: texts('Its subject: `device:pjsip/alice`, `mailbox:alice`.'),
  state: text('Its state, as its chart names it.'),
  told: int('Number of NOTIFYs.'),
});
export type WatcherView = Static<typeof WatcherView>;
