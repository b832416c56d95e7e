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
        "The first message describes the binary ones: 100 ms of linear samples of 16 bits, both sides mixed, little endian. They end with the channel. Audio that a client does not read in time is dropped. Only a ticket opens it. The log and the call's record name the listener.",
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
