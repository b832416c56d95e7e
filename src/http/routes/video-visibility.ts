import Type from 'typebox';
import { VideoVisibility } from '../../models/video-visibility.ts';
import { operation, pathParam, type Resource } from '../operation.ts';

/** Video visibility: which member of a bridge sees which. */
export const videoVisibility: Resource = {
  name: 'videoVisibility',
  description: 'Video visibility: which member of a bridge sees which, and why not.',
  operations: [
    operation({
      method: 'GET',
      // `sights` is the name of version 0.1; it answers until 0.3.
      path: ['/bridges/{bridgeId}/video-visibility', '/bridges/{bridgeId}/sights'],
      nickname: 'bridge',
      summary: 'Which member of a bridge sees which, and why not.',
      notes: 'Each member with each of the others that have video, as it is now.',
      owner: 'bridges',
      params: { bridgeId: pathParam('Id of the bridge.', 'bridge') },
      returns: Type.Array(VideoVisibility),
      errors: ['bridgeNotFound'],
      handle: (bridges, params) => bridges.videoVisibility(params.bridgeId),
    }),
  ],
};
