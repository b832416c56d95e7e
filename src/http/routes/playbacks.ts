import { Playback, playbackOperations } from '../../models/playback.ts';
import { operation, pathParam, queryParam, type Resource } from '../operation.ts';

const playbackId = pathParam('Id of the playback.', 'playback');

/** Playbacks: media being played. */
export const playbacks: Resource = {
  name: 'playbacks',
  description: 'Playbacks: media being played.',
  requiresModules: ['res_stasis_playback'],
  operations: [
    operation({
      method: 'GET',
      path: '/playbacks/{playbackId}',
      nickname: 'get',
      summary: 'Look at a playback; it is gone once it is over.',
      owner: 'playbacks',
      params: { playbackId },
      returns: Playback,
      errors: ['playbackNotFound'],
      handle: (playbacks, params) => playbacks.get(params.playbackId),
    }),
    operation({
      method: 'DELETE',
      path: '/playbacks/{playbackId}',
      nickname: 'stop',
      summary: 'Stop a playback, including the rest of its list.',
      owner: 'playbacks',
      params: { playbackId },
      errors: ['playbackNotFound'],
      handle: (playbacks, params) => playbacks.stop(params.playbackId),
    }),
    operation({
      method: 'POST',
      path: '/playbacks/{playbackId}/control',
      nickname: 'control',
      summary: 'Move within the item that is played, or pause it.',
      owner: 'playbacks',
      params: {
        playbackId,
        operation: queryParam('string', 'The command.', { required: true, allowed: playbackOperations }),
      },
      errors: ['playbackOperationMissing', 'playbackOperationInvalid', 'playbackNotFound', 'playbackNotPlaying'],
      handle: (playbacks, { playbackId: id, ...params }) => playbacks.control(id, params),
    }),
  ],
};
