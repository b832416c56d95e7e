import type { ClusterNode } from '../../src/models/cluster-node.ts';
import { plural } from '../core/words.ts';
import { Panel, useAsked } from './bits.tsx';

/** The nodes of the cluster that the server is a node of. */
export function ClusterNodes({ isNode }: { isNode: boolean }) {
  const { value: nodes } = useAsked<ClusterNode[]>(isNode ? '/hookswitch/nodes' : undefined, 2_000);
  return nodes ? <Nodes nodes={nodes} /> : null;
}

/** The nodes, and the calls of all together. */
function Nodes({ nodes }: { nodes: readonly ClusterNode[] }) {
  const channels = nodes.reduce(
    (sum, { figures, state }) => sum + (state === 'away' ? 0 : (figures?.channels ?? 0)),
    0,
  );
  return (
    <Panel title="Nodes of the cluster" extra={<span class="quiet">{plural(channels, 'channel')}</span>}>
      <table class="figures" aria-label="Nodes of the cluster">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col">Channels</th>
            <th scope="col" class="least">
              Bridges
            </th>
            <th scope="col" class="least">
              Applications
            </th>
            <th scope="col">CPU</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ name, self, state, figures }) => (
            <tr key={name}>
              <th scope="row">{self ? `${name} (this one)` : name}</th>
              <td class={state === 'member' ? '' : 'bad'}>{figures?.draining ? `${state}, drains` : state}</td>
              <td>{figures?.channels ?? '—'}</td>
              <td class="least">{figures?.bridges ?? '—'}</td>
              <td class="least">{figures?.applications ?? '—'}</td>
              <td>{figures ? `${Math.round(figures.load * 100)} %` : '—'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
