import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AriClient } from '../support/ari-client.ts';
import { NatsServer, NodeProcess, type NodeSettings } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { untilAsked } from '../support/waiting.ts';

/** Ids that clients choose at a node that is alone, and what becomes of them. */
const ids = suite('ids of a node that is alone');
const nats = need('nats-server');

type World = { begin(name: string, settings?: NodeSettings): Promise<NodeProcess> };

const onNats = (title: string, run: (world: World) => Promise<void>): void =>
  nats.test(ids, title, async (command) => {
    const server = await NatsServer.start(command);
    const nodes: NodeProcess[] = [];
    try {
      await run({
        async begin(name, settings = {}) {
          const node = await NodeProcess.start(name, server.url, settings);
          nodes.push(node);
          await untilAsked(
            async () => (await node.states())[name] === 'member',
            () => `${name} takes no part: ${node.child.written}`,
          );
          return node;
        },
      });
    } finally {
      for (const node of nodes) await node.close();
      await server.close();
    }
  });

const create = async (client: AriClient, id: string): Promise<number> =>
  (await client.request('POST', `/bridges?bridgeId=${id}`)).status;

onNats('a node that starts knows them, and takes none that is in use', async ({ begin }) => {
  const first = await begin('a');
  const a = first.client();
  const chosen = Array.from({ length: 200 }, (_, at) => `room${at}`);
  assert.equal(new Set(await Promise.all(chosen.map((id) => create(a, id)))), new Set([200]));
  const starting = begin('b');
  let more = 0;
  // Clients go on to choose ids while the other node starts.
  const isThere = starting.then(() => true);
  while (!(await Promise.race([isThere, create(a, `more${++more}`).then(() => false)])));
  const b = (await starting).client();
  for (const id of [...chosen.slice(-5), 'more1', `more${more - 1}`]) {
    assert.is((await b.request('GET', `/bridges/${id}`)).status, 200, id);
    assert.is(await create(b, id), 409, id);
  }
  const both = await Promise.all([create(a, 'raced'), create(b, 'raced')]);
  assert.equal(both.sort(), [200, 409]);
});

onNats('soon after its process was killed, ids can be chosen at another node', async ({ begin }) => {
  const first = await begin('a');
  assert.is(await create(first.client(), 'lobby'), 200);
  await first.child.end('SIGKILL');
  const second = await begin('b', { suspect_after: 0.5, away_after: 60 });
  assert.is(await create(second.client(), 'hall'), 200);
});

onNats('a node that ends in order leaves the directory to the next', async ({ begin }) => {
  const first = await begin('a', { away_after: 60, suspect_after: 30 });
  assert.is(await create(first.client(), 'lobby'), 200);
  await first.child.end('SIGTERM');
  const second = await begin('b', { away_after: 60, suspect_after: 30 });
  assert.is(await create(second.client(), 'lobby'), 200);
});

ids.run();
