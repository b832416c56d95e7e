import Type from 'typebox';
import { ClusterNode } from '../../models/cluster-node.ts';
import { operation, pathParam, type Resource } from '../operation.ts';

/** Nodes of the cluster. */
export const nodes: Resource = {
  name: 'nodes',
  description: 'Nodes: the servers of a cluster.',
  operations: [
    operation({
      method: 'GET',
      path: '/nodes',
      nickname: 'list',
      summary: 'List the nodes of the cluster, with their state and load.',
      notes: 'A server that is no node of a cluster does not have this operation.',
      owner: 'cluster',
      returns: Type.Array(ClusterNode),
      handle: (cluster) => cluster.nodes(),
    }),
    operation({
      method: 'DELETE',
      path: '/nodes/{nodeName}',
      nickname: 'forget',
      summary: 'Remove a node that was lost and does not come back.',
      notes:
        'It is no longer listed as missing, and the ids that clients chose for its objects are free again. A node that starts again joins again.',
      owner: 'cluster',
      params: { nodeName: pathParam('The name of the node.') },
      errors: ['nodeNotFound', 'nodeAnswers', 'clusterUnavailable'],
      handle: (cluster, { nodeName }) => cluster.forget(nodeName),
    }),
  ],
};
