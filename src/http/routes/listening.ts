import { Listened } from '../../models/live.ts';
import { pathParam, queryParam, type Resource, upgradeOperation } from '../operation.ts';

/** Path of listening to a channel. */
export const listenPath = '/channels/{channelId}/listen';

/** Listening: what both sides of a live channel say. */
export const listening: Resource = {
  name: 'listening',
  description: 'Listening: what both sides of a live channel say, over a WebSocket. Only where `listening.on` is set.',
  operations: [
    upgradeOperation({
      path: listenPath,
      nickname: 'listen',
      summary: 'Listen to a channel.',
      notes:
        'The first message says what follows: binary messages of 100 ms of linear samples of 16 bits, both sides mixed, little end first. It ends with the channel. What a client does not read in time is left out. Only a ticket opens it, and who listens to what is logged and stands in the record of the call.',
      owner: 'listening',
      params: {
        channelId: pathParam('Id of the channel.', 'channel'),
        ticket: queryParam('string', 'From `POST /hookswitch/sessions/tickets`; good once.', { required: true }),
      },
      returns: Listened,
      errors: [
        'authenticationRequired',
        'listeningOff',
        'listeningDenied',
        'channelNotFound',
        'tooManyListeners',
        'nothingToHear',
        'upgradeRequired',
        'upgradeInvalid',
        'upgradeOverWebSocket',
      ],
    }),
  ],
};
