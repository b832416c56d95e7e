import Type, { type Static } from 'typebox';
import { anyObject, model, text, texts } from './schema.ts';

/** Longest name of an application, in characters: 80 of Asterisk's internal context name, less its prefix of 7. */
export const longestApplicationName = 73;

/** An event type that a filter names; further members are kept as the client gave them. */
const FilteredType = anyObject('An object whose `type` names an event.');

/** An application: its subscriptions and its event filter. */
export const Application = model('Application', 'A client application and what it listens to.', {
  name: text('Name it connected with.'),
  channel_ids: texts('Channels it is subscribed to.'),
  bridge_ids: texts('Bridges it is subscribed to.'),
  endpoint_ids: texts('Endpoints it is subscribed to, as technology/resource, or a technology alone.'),
  device_names: texts('Devices it is subscribed to.'),
  events_allowed: Type.Array(FilteredType, { description: 'Event types that it receives; empty for all.' }),
  events_disallowed: Type.Array(FilteredType, { description: 'Event types that it does not receive.' }),
});
export type Application = Static<typeof Application>;
