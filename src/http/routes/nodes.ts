import Type from 'typebox';
import { ClusterNode } from '../../models/cluster-node.ts';
import { operation, type Resource } from '../operation.ts';

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
  ],
};
