import { AllowedOperations } from '../../models/allowed-operations.ts';
import { operation, pathParam, type Resource } from '../operation.ts';

const notes =
  'The same rules refuse it when it is asked for; the answer to what they refuse (409, 412) has this as `allowed`.';

/** Operations: what may be done to an object now, and why not the rest. */
export const allowed: Resource = {
  name: 'operations',
  description: 'Operations: what an object allows now. For the others, the reason and the states that would allow it.',
  operations: [
    operation({
      method: 'GET',
      path: '/channels/{channelId}/operations',
      nickname: 'channel',
      summary: 'The operations that a channel allows now.',
      notes,
      owner: 'channels',
      params: { channelId: pathParam('Id of the channel.', 'channel') },
      returns: AllowedOperations,
      errors: ['channelNotFound'],
      handle: (channels, params) => channels.possible(params.channelId),
    }),
    operation({
      method: 'GET',
      path: '/bridges/{bridgeId}/operations',
      nickname: 'bridge',
      summary: 'The operations that a bridge allows now.',
      notes,
      owner: 'bridges',
      params: { bridgeId: pathParam('Id of the bridge.', 'bridge') },
      returns: AllowedOperations,
      errors: ['bridgeNotFound'],
      handle: (bridges, params) => bridges.possible(params.bridgeId),
    }),
    operation({
      method: 'GET',
      path: '/playbacks/{playbackId}/operations',
      nickname: 'playback',
      summary: 'The operations that a playback allows now.',
      notes,
      owner: 'playbacks',
      params: { playbackId: pathParam('Id of the playback.', 'playback') },
      returns: AllowedOperations,
      errors: ['playbackNotFound'],
      handle: (playbacks, params) => playbacks.possible(params.playbackId),
    }),
    operation({
      method: 'GET',
      path: '/recordings/{recordingName}/operations',
      nickname: 'recording',
      summary: 'The operations that a live recording allows now.',
      notes,
      owner: 'recordings',
      params: { recordingName: pathParam('Name of the recording.', 'recording') },
      returns: AllowedOperations,
      errors: ['recordingNotFound'],
      handle: (recordings, params) => recordings.possible(params.recordingName),
    }),
  ],
};
