import type { ClusterNode, NodeFigures } from '../models/cluster-node.ts';
import { AriError } from '../models/errors.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import { unavailable } from './forwards.ts';
import { writeFrame } from './frame.ts';
import type { Members } from './members.ts';
import { holderOf, type NamedLink, nodeKey } from './named-link.ts';

/** Removes a lost node from the table, and from what all nodes know. @param lost its process is known to be gone */
export async function forget(
  { name, link, members, beats }: { name: string; link: NamedLink; members: Members; beats: string },
  node: string,
  lost = false,
): Promise<void> {
  const known = members.find(node);
  if (node === name || (!lost && (known?.state === 'member' || known?.state === 'suspect')))
    throw new AriError('nodeAnswers', { node });
  try {
    const holder = holderOf(await link.find(nodeKey(node)));
    const epoch = holder?.epoch ?? known?.epoch;
    if (!known && !holder) throw new AriError('nodeNotFound', { node });
    if (epoch !== undefined && (await link.answers(epoch))) throw new AriError('nodeAnswers', { node });
    await link.release(nodeKey(node));
    members.forget(node);
    const term = Math.max(holder?.term ?? 0, known?.beat?.term ?? 0);
    link.publish(beats, writeFrame({ name: node, epoch: epoch ?? '', term, revision: 0, figures: {}, leaves: true }));
  } catch (error) {
    throw error instanceof AriError ? error : unavailable(error);
  }
}

const ownStateOf = ({ state, isExcluded }: NamedLink): ClusterNode['state'] => {
  if (state === 'up') return 'member';
  return isExcluded ? 'excluded' : 'away';
};

/** This node and all others, by name. */
export function shownNodes(of: {
  name: string;
  link: NamedLink;
  members: Members;
  figures: NodeFigures | undefined;
  now: number;
}): ClusterNode[] {
  const { name, link, members, figures: ownFigures, now } = of;
  const own: ClusterNode = {
    ...{ name, self: true, state: ownStateOf(link), heard: formatTimestamp(now) },
    ...(ownFigures && { figures: ownFigures }),
  };
  const others = members.list().map(
    ({ name: other, state, beat, heardAt }): ClusterNode => ({
      ...{ name: other, self: false, state },
      ...(heardAt !== undefined && { heard: formatTimestamp(heardAt) }),
      ...(beat && { figures: beat.figures }),
    }),
  );
  return [own, ...others].sort((one, other) => (one.name < other.name ? -1 : 1));
}
