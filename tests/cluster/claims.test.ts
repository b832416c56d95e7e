import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createClaims } from '../../src/cluster/claims.ts';
import { LinkError } from '../../src/cluster/link.ts';
import { ClusterHub } from '../support/cluster-hub.ts';
import { silentLog } from '../support/log.ts';
import { refusalOf } from '../support/refusal.ts';
import { untilAsked } from '../support/waiting.ts';

const claims = suite('chosen ids of a cluster');

function nodes(most = 3) {
  const hub = new ClusterHub();
  const hits: string[] = [];
  const forgotten = new Set<string>();
  /** Ids that their nodes do not know. */
  const left = new Set<string>();
  const of = (node: string, term = () => 1) => {
    const link = hub.link();
    const isNode = async (name: string) => !forgotten.has(name);
    const how: { is: 'memory' | 'row' } = { is: 'row' };
    const directory = { decides: () => how.is, changed: async () => {} };
    const bound = { most, hit: () => void hits.push(node), log: silentLog };
    const claimed = createClaims({
      ...{ link, directory, node, term, isNode, ...bound },
      isFreeAt: async (name, { id }) => left.has(`${name} ${id}`),
    });
    return Object.assign(claimed, { link, how });
  };
  return { hub, hits, forgotten, left, of, a: of('a'), b: of('b') };
}

claims('an id belongs to one node, which all nodes find', async () => {
  const { a, b } = nodes();
  assert.is(await a.claim('bridge', 'lobby'), true);
  assert.is(await a.claim('bridge', 'lobby'), false);
  assert.equal(await refusalOf(() => b.claim('bridge', 'lobby')), {
    status: 409,
    message: "The id 'lobby' is in use on the node 'a' of the cluster",
  });
  assert.is(await b.nodeOf('bridge', 'lobby'), 'a');
  assert.is(await b.nodeOf('channel', 'lobby'), undefined);
  assert.is(await b.claim('channel', 'lobby'), true);
});

claims(
  'of two nodes that want an id at the same time one gets it, and later requests of the other do not',
  async () => {
    const { a, b } = nodes();
    const wanted = [a, b, b, b].map((node) =>
      node.claim('channel', 'x').then(
        () => 'taken',
        () => 'refused',
      ),
    );
    assert.equal(await Promise.all(wanted), ['taken', 'refused', 'refused', 'refused']);
  },
);

claims('an id without an object is free again', async () => {
  const { a, b } = nodes();
  await a.claim('channel', 'x');
  a.sweep(() => false);
  assert.is(a.size, 1, 'it is being created');
  a.settle('channel', 'x', false);
  assert.is(await b.claim('channel', 'x'), true);
  b.settle('channel', 'x', true);
  b.sweep(() => true);
  assert.is(b.size, 1);
  b.sweep(() => false);
  assert.is(await a.claim('channel', 'x'), true);
});

claims('an id is free that its node does not know: an earlier process of that node has left it', async () => {
  const { b, of, left } = nodes();
  // It lost its name and does not know that yet.
  await of('a').claim('channel', 'x');
  assert.is((await refusalOf(() => b.claim('channel', 'x'))).status, 409);
  left.add('a x');
  assert.is(await b.claim('channel', 'x'), true);
  assert.is(await of('c').nodeOf('channel', 'x'), 'b');
  assert.is((await refusalOf(() => of('c').claim('channel', 'x'))).status, 409);
});

claims('what a node had that was forgotten is nobody’s', async () => {
  const { a, b, forgotten } = nodes();
  await a.claim('bridge', 'lobby');
  forgotten.add('a');
  assert.is(await b.nodeOf('bridge', 'lobby'), undefined);
  assert.is(await b.claim('bridge', 'lobby'), true);
  assert.is(await b.nodeOf('bridge', 'lobby'), 'b');
});

claims('a keyed request belongs to the node that was asked first', async () => {
  const { a, b, forgotten } = nodes();
  assert.is(await a.nodeOfRequest('u', 'k', 'a'), 'a');
  assert.is(await a.nodeOfRequest('u', 'k', 'a'), 'a');
  assert.is(await b.nodeOfRequest('u', 'k', 'b'), 'a');
  assert.is(await b.nodeOfRequest('v', 'k', 'b'), 'b');
  forgotten.add('a');
  assert.is(await b.nodeOfRequest('u', 'k', 'b'), 'b');
});

claims('there is a bound', async () => {
  const { a, hits } = nodes(1);
  await a.claim('channel', 'x');
  assert.equal(await refusalOf(() => a.claim('channel', 'y')), {
    status: 409,
    message: 'The limit of 1 ids that clients have chosen is reached (cluster.ids)',
  });
  assert.equal(hits, ['a']);
});

claims('without the table nothing is claimed, and the id stays free', async () => {
  const { a } = nodes();
  a.link.become('lost');
  const refusal = { status: 503, message: 'The cluster cannot be asked: NATS with JetStream is not connected' };
  assert.equal(await refusalOf(() => a.claim('channel', 'x')), refusal);
  assert.equal(await refusalOf(() => a.nodeOf('channel', 'x')), refusal);
  assert.is(a.size, 0);
});

claims('a process gives back what the one before it had, and takes its own again when the table was lost', async () => {
  const { a, b, of, hub } = nodes();
  await a.claim('channel', 'gone');
  await a.claim('channel', 'stays');
  await b.claim('channel', 'other');
  const next = of('a');
  await next.renew((_kind, id) => id === 'stays');
  assert.is(await b.nodeOf('channel', 'gone'), undefined);
  assert.is(await b.nodeOf('channel', 'stays'), 'a');
  assert.is(await b.nodeOf('channel', 'other'), 'b');
  hub.table.clear();
  await next.renew(() => true);
  assert.is(await b.nodeOf('channel', 'stays'), 'a');
});

claims(
  'what is decided in memory needs no row until the next sweep, and none if its object is gone by then',
  async () => {
    const { a, b, hub } = nodes();
    a.how.is = 'memory';
    assert.is(await a.claim('channel', 'short'), true);
    assert.is(await a.claim('channel', 'short'), false);
    await a.claim('channel', 'long');
    assert.is(await a.nodeOf('channel', 'short'), 'a');
    assert.is(await a.nodeOf('channel', 'other'), undefined);
    a.settle('channel', 'short', true);
    a.settle('channel', 'long', true);
    a.sweep((_kind, id) => id === 'long');
    await a.write();
    assert.equal([a.size, hub.table.size], [1, 1]);
    assert.is(await b.nodeOf('channel', 'long'), 'a');
    a.sweep(() => false);
    await untilAsked(
      async () => hub.table.size === 0,
      () => 'the row stays',
    );
  },
);

claims('an id with the mark of its node needs no row, and one with another mark does', async () => {
  const { a, hub } = nodes();
  a.link.become('lost');
  assert.is(await a.claim('bridge', 'a~lobby'), false);
  assert.is((await refusalOf(() => a.claim('bridge', 'x~lobby')))?.status, 503);
  assert.equal([a.size, hub.table.size], [0, 0]);
});

claims('all ids that were decided in memory are written', async () => {
  const { a, b } = nodes(1_000);
  a.how.is = 'memory';
  const ids = Array.from({ length: 300 }, (_, at) => `x${at}`);
  for (const id of ids) await a.claim('bridge', id);
  await a.write();
  assert.equal(new Set(await Promise.all(ids.map((id) => b.nodeOf('bridge', id)))), new Set(['a']));
});

claims('an object that goes while its id is written leaves no row', async () => {
  const { a, hub } = nodes();
  a.how.is = 'memory';
  await a.claim('bridge', 'lobby');
  a.settle('bridge', 'lobby', true);
  const writing = a.write();
  a.settle('bridge', 'lobby', false);
  await writing;
  await untilAsked(
    async () => hub.table.size === 0,
    () => 'the row stays',
  );
});

claims('what an earlier process has left is known, and written', async () => {
  const { a, b } = nodes();
  a.know([{ kind: 'channel', id: 'mine' }]);
  assert.is(await a.claim('channel', 'mine'), false);
  await a.write();
  assert.is(await b.nodeOf('channel', 'mine'), 'a');
});

claims('a process that has lost its name, and does not know it, leaves the rows of the next one', async () => {
  const { of, hub } = nodes();
  const [early, late] = [of('c'), of('c', () => 2)];
  const { claim } = early.link;
  early.link.claim = async () => {
    throw new LinkError('timeout');
  };
  assert.is((await refusalOf(() => early.claim('bridge', 'lobby')))?.status, 503);
  early.link.claim = claim;
  assert.is(await late.claim('bridge', 'lobby'), true);
  early.sweep(() => false);
  await early.renew(() => false);
  assert.is(hub.table.size, 1);
});

claims('an id is given back, and taken again meanwhile', async () => {
  const { a, b } = nodes();
  await a.claim('bridge', 'lobby');
  const { release } = a.link;
  let deliver = async (): Promise<void> => {};
  a.link.release = async (...row) => {
    deliver = () => release(...row);
  };
  a.settle('bridge', 'lobby', false);
  assert.is(await a.claim('bridge', 'lobby'), true);
  await deliver();
  assert.is(await b.nodeOf('bridge', 'lobby'), 'a');
});

claims('a row whose claim was not answered is given back', async () => {
  const { hub, a, b } = nodes();
  const { claim } = a.link;
  a.link.claim = async (...row) => {
    await claim(...row);
    throw new LinkError('timeout');
  };
  assert.is((await refusalOf(() => a.claim('bridge', 'lobby')))?.status, 503);
  assert.is(hub.table.size, 1);
  a.sweep(() => false);
  await untilAsked(
    async () => hub.table.size === 0,
    () => 'the row stays',
  );
  assert.is(await b.claim('bridge', 'lobby'), true);
});

claims('a late request of an earlier process does not free the id of a later one', async () => {
  const { hub, of } = nodes();
  const [early, late] = [of('c'), of('c', () => 2)];
  await early.claim('bridge', 'lobby');
  const { release } = early.link;
  let deliver = async (): Promise<void> => {};
  early.link.release = async (...row) => {
    deliver = () => release(...row);
  };
  early.settle('bridge', 'lobby', false);
  assert.is(await late.claim('bridge', 'lobby'), true);
  await deliver();
  assert.is(hub.table.size, 1);
});

claims.run();
