import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createIdDirectory, directoryKey } from '../../src/cluster/id-directory.ts';
import { LinkError } from '../../src/cluster/link.ts';
import { nodeKey } from '../../src/cluster/named-link.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { ClusterHub } from '../support/cluster-hub.ts';
import { silentLog as log } from '../support/log.ts';
import { refusalOf } from '../support/refusal.ts';

const directory = suite('id directory');

type Asked = (node: string, epoch: string) => Promise<boolean>;

function createWorld() {
  const hub = new ClusterHub();
  const clock = new ManualClock();
  const hits: string[] = [];
  const nodes = new Map<string, ReturnType<typeof createIdDirectory>>();
  const share: Asked = async (node) => nodes.get(node)!.share();
  const start = (
    node: string,
    { ask = share, write = async () => {} }: { ask?: Asked; write?(): Promise<void> } = {},
  ) => {
    const link = hub.link();
    hub.table.set(nodeKey(node), '{}');
    const created = createIdDirectory({
      ...{ link, node, epoch: `${node}1`, clock, log, tables: undefined, ask, write },
      ...{ timeoutMs: 2_000, mostWaiting: 2, hit: () => void hits.push(node), retryMs: 500 },
      lostAfterMs: { gone: 3_000, silent: 10_000 },
    });
    nodes.set(node, created);
    created.begin();
    return Object.assign(created, { link });
  };
  return { hub, clock, hits, start };
}

const nobody: Asked = async () => {
  throw new LinkError('nobody');
};

/** Lets time pass, with a heartbeat each second. */
async function beats(clock: ManualClock, node: { beat(isAlone: boolean): void }, count: number): Promise<void> {
  for (let beat = 0; beat < count; beat++) {
    await clock.run(1_000);
    node.beat(true);
    await clock.run(0);
  }
}

directory('a node that is alone decides in memory for as long as its row is there', async () => {
  const { hub, clock, start } = createWorld();
  const a = start('a');
  assert.is(a.decides(), undefined);
  await clock.run(0);
  assert.is(a.decides(), 'memory');
  await beats(clock, a, 30);
  assert.is(a.decides(), 'memory');
  hub.table.set(directoryKey, JSON.stringify({ node: 'b', epoch: 'b1' }));
  await beats(clock, a, 1);
  assert.is(a.decides(), undefined);
});

directory(
  'it decides nothing once its row was not renewed for two thirds of the time after which it is lost',
  async () => {
    const { clock, start } = createWorld();
    const a = start('a');
    await clock.run(0);
    await clock.run(1_999);
    assert.is(a.decides(), 'memory');
    await clock.run(1);
    assert.is(a.decides(), undefined);
    const waiting = a.changed();
    a.beat(true);
    await clock.run(0);
    await waiting;
    assert.is(a.decides(), 'memory');
  },
);

directory('another node waits until the first has written its ids', async () => {
  const { hub, clock, start } = createWorld();
  let wrote = (): void => {};
  const a = start('a', { write: () => new Promise((resolve) => (wrote = resolve)) });
  await clock.run(0);
  const b = start('b');
  await clock.run(0);
  assert.equal([a.decides(), b.decides()], ['row', undefined]);
  assert.ok(hub.table.has(directoryKey));
  wrote();
  await clock.run(0);
  assert.equal([a.decides(), b.decides()], ['row', 'row']);
  assert.not.ok(hub.table.has(directoryKey));
  hub.table.delete(nodeKey('b'));
  a.beat(true);
  await clock.run(0);
  assert.is(a.decides(), 'memory');
});

directory('ids that cannot be written are written again, and others wait meanwhile', async () => {
  const { clock, start } = createWorld();
  let failures = 2;
  const write = async (): Promise<void> => {
    if (failures-- > 0) throw new LinkError('timeout');
  };
  const a = start('a', { write });
  await clock.run(0);
  const b = start('b');
  await clock.run(0);
  assert.is(b.decides(), undefined);
  await clock.run(2_000);
  assert.equal([a.decides(), b.decides()], ['row', 'row']);
});

directory('two nodes that start together wait for nobody', async () => {
  const { hub, clock, start } = createWorld();
  hub.table.set(nodeKey('b'), '{}');
  const [a, b] = [start('a'), start('b')];
  await clock.run(0);
  assert.equal([a.decides(), b.decides()], ['row', 'row']);
});

directory('a node that is lost keeps the directory for a while: shorter when its process is gone', async () => {
  for (const [ask, ms] of [
    [nobody, 3_000],
    [async () => false, 10_000],
  ] as const) {
    const { clock, start } = createWorld();
    const a = start('a');
    await clock.run(0);
    const b = start('b', { ask });
    await clock.run(ms - 500);
    assert.is(b.decides(), undefined);
    await clock.run(1_000);
    assert.is(b.decides(), 'row');
    assert.is(a.decides(), undefined, 'it knows that its time is over');
  }
});

directory('a node that renews its row is not lost', async () => {
  const { clock, start } = createWorld();
  const a = start('a');
  await clock.run(0);
  const b = start('b', { ask: nobody });
  await beats(clock, a, 20);
  assert.equal([a.decides(), b.decides()], ['memory', undefined]);
});

directory('a process that gets its name back has the directory at once', async () => {
  const { hub, clock, start } = createWorld();
  hub.table.set(directoryKey, JSON.stringify({ node: 'a', epoch: 'earlier', count: 7 }));
  const a = start('a');
  await clock.run(0);
  assert.is(a.decides(), 'memory');
});

directory('ids wait for a time, and not too many', async () => {
  const { hub, clock, hits, start } = createWorld();
  hub.table.set(directoryKey, JSON.stringify({ node: 'a', epoch: 'a1' }));
  const b = start('b', { ask: async () => false });
  await clock.run(0);
  const waiting = [refusalOf(() => b.changed()), refusalOf(() => b.changed())];
  assert.equal(await refusalOf(() => b.changed()), {
    status: 503,
    message: 'The limit of 2 is reached (cluster.requests). Try again later',
  });
  assert.equal(hits, ['b']);
  await clock.run(2_000);
  const why = "the node 'a' was alone, and has not told which ids are in use";
  assert.equal(
    await Promise.all(waiting),
    Array(2).fill({ status: 503, message: `The cluster cannot be asked: ${why}` }),
  );
});

directory('without NATS the row of an id is refused, and without its table at once', async () => {
  const { clock, start } = createWorld();
  const a = start('a');
  await clock.run(0);
  a.link.become('lost');
  assert.is(a.decides(), 'row');
  a.link.find = async () => {
    throw new LinkError('down');
  };
  a.link.become('up');
  await clock.run(0);
  assert.is(a.decides(), undefined);
  const why = 'NATS with JetStream is not connected';
  assert.equal(await refusalOf(() => a.changed()), { status: 503, message: `The cluster cannot be asked: ${why}` });
});

directory('a row that cannot be renewed says why, and later claims do not wait', async () => {
  const { clock, start } = createWorld();
  const a = start('a');
  await clock.run(0);
  const { replace } = a.link;
  a.link.replace = async () => {
    throw new LinkError('full');
  };
  await clock.run(3_000);
  const refusal = { status: 503, message: 'The cluster cannot be asked: the store of NATS is full (max_file_store)' };
  assert.equal(await refusalOf(() => a.changed()), refusal);
  assert.equal(await refusalOf(() => a.changed()), refusal);
  a.link.replace = replace;
  a.beat(true);
  await clock.run(0);
  assert.is(a.decides(), 'memory');
});

directory('a node that ends gives the directory up', async () => {
  const { hub, clock, start } = createWorld();
  const a = start('a');
  await clock.run(0);
  await a.close();
  assert.not.ok(hub.table.has(directoryKey));
  assert.is(a.decides(), undefined);
  assert.is((await refusalOf(() => a.changed()))?.status, 503);
});

directory.run();
