import Type, { type Static } from 'typebox';
import { double, int, model, text } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** What a node tells about itself. */
export const NodeFigures = model('NodeFigures', 'Figures that a node of the cluster reports.', {
  version: text('Its version.'),
  started: Timestamp,
  channels: int('Its channels.'),
  bridges: int('Its bridges.'),
  applications: int('Applications that are connected to it.'),
  draining: Type.Boolean({ description: 'Whether it takes no new calls.' }),
  load: double('CPU time of its process per second, averaged since its last heartbeat, in s. 1 is one core.'),
});
export type NodeFigures = Static<typeof NodeFigures>;

/** A node of the cluster. */
export const ClusterNode = model('ClusterNode', 'A node of the cluster, as the answering node sees it.', {
  name: text('Its name, with which the ids of its objects begin.'),
  self: Type.Boolean({ description: 'Whether it is the node that answers.' }),
  state: Type.Enum(['joining', 'member', 'suspect', 'away', 'excluded'], {
    description:
      '`member`: it is heard. `suspect`: it has been silent for `cluster.suspect_after`. `away`: for `cluster.away_after`. A node that ends in an orderly way is listed no more. `joining`: not heard yet. The answering node is `away` while NATS cannot be reached, and `excluded` while another server has its name.',
  }),
  heard: Type.Optional(Timestamp),
  figures: Type.Optional(NodeFigures),
});
export type ClusterNode = Static<typeof ClusterNode>;
