import { Message } from '../../models/websocket-messages.ts';
import { bodyParam, operation, pathParam, queryParam, type Resource, upgradeOperation } from '../operation.ts';

/** Parameters of the events WebSocket. */
export const connectParams = {
  app: queryParam('list', 'Applications to be; several share one connection.', {
    required: true,
    names: 'application',
  }),
  subscribeAll: queryParam('boolean', 'Listen to everything there is.'),
  resume: queryParam(
    'list',
    'The `seq` of the last received event, for each application in order. Later events are sent first, if they are still kept. EventsLost reports a gap. As `<epoch>:<seq>`, or `new` without a last event, ResumePoint comes first with the epoch, or ResumeGap with a snapshot.',
    { own: true },
  ),
  ack: queryParam(
    'boolean',
    'The client acknowledges events: it sends EventsAcknowledged with the `seq` up to which it has handled them. Without `resume` later events are sent again. Not with `group`.',
    { own: true },
  ),
  group: queryParam(
    'string',
    'Share the applications with the other connections of this group: each call goes to one of them. 1 to 64 letters, digits, `.`, `-`, `_`.',
    { own: true },
  ),
  member: queryParam('string', 'Name in that group. A new connection of the same name takes over its calls.', {
    own: true,
  }),
  nodes: queryParam('boolean', 'Send NodeLost for each node of the cluster that is lost.', { own: true }),
} as const;

/** Events: the WebSocket, and events that clients make. */
export const events: Resource = {
  name: 'events',
  description: 'Events: their WebSocket, and user events.',
  requiresModules: ['res_http_websocket'],
  operations: [
    upgradeOperation({
      path: '/events',
      nickname: 'eventWebsocket',
      summary: 'Be one or more applications: events come over this WebSocket.',
      notes: 'Requests may be sent over it too, as RESTRequest messages; each is answered by a RESTResponse.',
      owner: 'applications',
      params: connectParams,
      returns: Message,
      errors: [
        'applicationNameInvalid',
        'applicationTaken',
        'upgradeRequired',
        'upgradeInvalid',
        'upgradeOverWebSocket',
      ],
    }),
    operation({
      method: 'POST',
      path: '/events/user/{eventName}',
      nickname: 'userEvent',
      summary: 'Tell an application an event of your own.',
      owner: 'applications',
      params: {
        eventName: pathParam('Name of the event.'),
        application: queryParam('string', 'Application that gets it.', { required: true, names: 'application' }),
        source: queryParam('list', 'The subject: channel:id, bridge:id, endpoint:technology/resource.', {
          names: 'eventSource',
        }),
        variables: bodyParam('Variables of the event: names and values.'),
      },
      errors: [
        'userEventApplicationRequired',
        'applicationNotFound',
        'eventSourceSchemeInvalid',
        'userEventSourceNotFound',
        'variablesNotObject',
      ],
      handle: (applications, { eventName, ...params }) => applications.userEvent(eventName, params),
    }),
    operation({
      method: 'POST',
      path: '/events/claim',
      nickname: 'claimChannel',
      summary: 'Take a call that is offered to several applications.',
      owner: 'broadcasts',
      params: {
        channelId: queryParam('string', 'Id of the channel that is offered.', { required: true }),
        application: queryParam('string', 'Application that takes it.', { required: true, names: 'application' }),
      },
      errors: ['claimChannelRequired', 'claimApplicationRequired', 'claimNotOffered', 'claimTooLate'],
      handle: (broadcasts, params) => broadcasts.claim(params),
    }),
  ],
};
