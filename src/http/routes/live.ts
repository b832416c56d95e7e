import { LiveMessage } from '../../models/live.ts';
import { queryParam, type Resource, upgradeOperation } from '../operation.ts';

/** Topics of the live WebSocket. */
export const liveParams = {
  call: queryParam('string', 'Watch this call: its id, or that of a channel of it.', { names: 'call' }),
  app: queryParam('string', 'Watch the events of this application.', { names: 'application' }),
} as const;

/** Live: what happens, as it happens. */
export const live: Resource = {
  name: 'live',
  description: 'Live: what happens, as it happens, over a WebSocket.',
  operations: [
    upgradeOperation({
      path: '/live',
      nickname: 'watch',
      summary: 'Watch all calls, one call, or one application.',
      notes:
        'At most four messages a second, each with the changes since the last. If more changes for long than anybody can read, they are a sample. A client that does not read is disconnected.',
      owner: 'live',
      params: liveParams,
      returns: LiveMessage,
      errors: [
        'recorderOff',
        'callNotFound',
        'applicationNotFound',
        'upgradeRequired',
        'upgradeInvalid',
        'upgradeOverWebSocket',
      ],
    }),
  ],
};
