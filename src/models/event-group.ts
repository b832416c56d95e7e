import Type, { type Static } from 'typebox';
import { int, model, text } from './schema.ts';

const EventGroupMember = model('EventGroupMember', 'A connection that shares the events of an application.', {
  name: text('Name of the member.'),
  state: Type.Enum(['active', 'draining', 'away'], {
    description:
      'A draining member gets no new calls. One that is away has not come back since the server was restarted.',
  }),
  calls: int('Calls of the member that are in the application.'),
});

/** Connections that share the events of one application. */
export const EventGroup = model('EventGroup', 'Connections that share the events of an application.', {
  application: text('Name of the application.'),
  group: text('Name of the group.'),
  members: Type.Array(EventGroupMember, { description: 'Its members in the order in which they joined.' }),
});
export type EventGroup = Static<typeof EventGroup>;
