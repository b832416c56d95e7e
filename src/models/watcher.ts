import type { Static } from 'typebox';
import { int, model, text, texts } from './schema.ts';

/** A phone that is told how something stands, as the server keeps it. */
export const WatcherView = model(
  'WatcherView',
  'A phone that is told how something stands: a lamp, or messages that wait.',
  {
    endpoint: text('Endpoint that has subscribed, as `technology/resource`.'),
    topics: texts('What it is told about: `device:pjsip/alice`, `mailbox:alice`.'),
    state: text('Its state, as its chart names it.'),
    told: int('How often it was told.'),
  },
);
export type WatcherView = Static<typeof WatcherView>;
