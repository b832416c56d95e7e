import Type from 'typebox';
import { BridgeSight } from '../../models/bridge-sight.ts';
import { operation, pathParam, type Resource } from '../operation.ts';

/** Sights: who sees whom. */
export const sights: Resource = {
  name: 'sights',
  description: 'Sights: who in a bridge sees whom, and why not.',
  operations: [
    operation({
      method: 'GET',
      path: '/bridges/{bridgeId}/sights',
      nickname: 'bridge',
      summary: 'Who in a bridge sees whom, and why not.',
      notes: 'Each member with each of the others that have video, as the media plane has it just now.',
      owner: 'bridges',
      params: { bridgeId: pathParam('Id of the bridge.', 'bridge') },
      returns: Type.Array(BridgeSight),
      errors: ['bridgeNotFound'],
      handle: (bridges, params) => bridges.sights(params.bridgeId),
    }),
  ],
};
