import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import type { ClusterLink } from '../../src/cluster/link.ts';
import { nodeKey } from '../../src/cluster/named-link.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { ClusterHub } from '../support/cluster-hub.ts';
import { silentLog as log } from '../support/log.ts';
import { untilAsked } from '../support/waiting.ts';

const leaving = suite('nodes that leave');

const settings = {
  ...{ cluster: 'c', requestTimeoutMs: 1_000, heartbeatMs: 1_000, suspectAfterMs: 3_000, awayAfterMs: 5_000 },
  ...{
    isolatedAfterMs: 0,
    retryMs: 1_000,
    registerAfterMs: 5_000,
    awaitMs: 1_000,
    movedOctets: 1_000,
    requests: 10,
    octets: 1_000,
    piece: 100,
  },
  ...{ streams: 10, ids: 10, nodes: 10, states: 10 },
};

function createWorld() {
  const hub = new ClusterHub();
  const clock = new ManualClock();
  const start = (name: string, change: (link: ClusterLink) => void = () => {}): Cluster => {
    const link = hub.link();
    change(link);
    let made = 0;
    const cluster = createCluster({
      ...{ settings: { ...settings, name }, link, clock, log, tables: undefined, applications: {} as never, hit() {} },
      ...{ callOf: () => undefined, recorded: async () => {}, newId: () => `${name}${++made}` },
    });
    cluster.serve({
      figures: () => ({}),
      isHere: () => false,
      chosenIds: () => [],
      isolated() {},
      readiness: () => 'ready',
      phones: {},
    } as never);
    return cluster;
  };
  return { clock, start };
}

function latch() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

type Latch = ReturnType<typeof latch>;

/** A link over which the row of a node is read, and its answer comes when the gate is open. */
const slowToRead =
  (node: string, { read, gate }: { read: Latch; gate: Latch }) =>
  (link: ClusterLink): void => {
    const { find } = link;
    link.find = async (key) => {
      const row = await find(key);
      if (key !== nodeKey(node)) return row;
      read.open();
      await gate.opened;
      return row;
    };
  };

const others = (cluster: Cluster): string[] =>
  cluster
    .nodes()
    .filter(({ self }) => !self)
    .map(({ name }) => name);
const knows = (cluster: Cluster, name: string): Promise<void> =>
  untilAsked(
    () => others(cluster).includes(name),
    () => `${name} is not known`,
  );

leaving('a node that joins while another leaves does not wait for it', async () => {
  const { clock, start } = createWorld();
  const gate = latch();
  const read = latch();
  const leaver = start('b', (link) => {
    const { release } = link;
    // Its first word has been heard: only now the other one goes on, which has read the name before.
    link.release = async (key) => {
      gate.open();
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
      return release(key);
    };
  });
  await untilAsked(
    () => leaver.figures().link === 'up',
    () => 'the first node does not join',
  );
  const joiner = start('a', slowToRead('b', { read, gate }));
  await read.opened;
  await leaver.close();
  assert.equal(others(joiner), []);
  clock.advance(10_000);
  assert.equal(others(joiner), []);
  await joiner.close();
});

leaving('a node that has left before the answer with its row has come is unknown', async () => {
  const { start } = createWorld();
  const gate = latch();
  const read = latch();
  const leaver = start('b');
  await untilAsked(
    () => leaver.figures().link === 'up',
    () => 'the first node does not join',
  );
  const joiner = start('a', slowToRead('b', { read, gate }));
  await read.opened;
  await leaver.close();
  gate.open();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(others(joiner), []);
  await joiner.close();
});

leaving('a node that has left before its row is read is unknown', async () => {
  const { start } = createWorld();
  const [first, second] = [start('a'), start('b')];
  await knows(first, 'b');
  await second.close();
  assert.equal(others(first), []);
  const third = start('c', (link) => {
    const { keys } = link;
    // As if it had read the names before.
    link.keys = async (prefix) => [...(await keys(prefix)), nodeKey('b')];
  });
  await knows(third, 'a');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(others(third), ['a']);
  await third.close();
  await first.close();
});

leaving.run();
