import Type from 'typebox';
import { EventGroup } from '../../models/event-group.ts';
import { operation, pathParam, type Resource } from '../operation.ts';

/** Groups: connections that share the events of an application. */
export const groups: Resource = {
  name: 'groups',
  description: 'Groups: connections that share the events of an application (`group` of the events WebSocket).',
  operations: [
    operation({
      method: 'GET',
      path: '/groups',
      nickname: 'list',
      summary: 'List the groups with their members.',
      owner: 'groups',
      returns: Type.Array(EventGroup),
      handle: (groups) => groups.list(),
    }),
    operation({
      method: 'POST',
      path: '/groups/{applicationName}/{groupName}/members/{memberName}/drain',
      nickname: 'drain',
      summary: 'Give a member no more new calls; GroupMemberDrained tells it when its last call is over.',
      owner: 'groups',
      params: {
        applicationName: pathParam('Name of the application.', 'application'),
        groupName: pathParam('Name of the group.'),
        memberName: pathParam('Name of the member.'),
      },
      errors: ['groupMemberNotFound', 'applicationNotFound'],
      handle: (groups, { applicationName, groupName, memberName }) =>
        groups.drain(applicationName, groupName, memberName),
    }),
  ],
};
