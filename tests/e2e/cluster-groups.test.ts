import { isDeepStrictEqual } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import type { EventGroup } from '../../src/models/event-group.ts';
import type { AriClient } from '../support/ari-client.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { untilAsked } from '../support/waiting.ts';

/** WebSockets of one application at several nodes, which share it by `group`. */

const groups = suite('a group of WebSockets at several nodes');
const nats = need('nats-server');

/** The nodes of tests that leave them as they were. */
let shared: TestCluster | undefined;
groups.after(() => shared?.close());

/** Runs a test on three nodes. @param leaves whether the next test can use them */
const onThree = (title: string, run: (cluster: TestCluster) => Promise<void>, leaves = true): void =>
  nats.test(groups, title, async (command) => {
    const cluster = (shared ??= await TestCluster.start(command, ['a', 'b', 'c']));
    let isWhole = false;
    try {
      await run(cluster);
      if (leaves) await cluster.empty();
      isWhole = leaves;
    } catch (error) {
      cluster.tell();
      throw error;
    } finally {
      if (!isWhole) {
        shared = undefined;
        await cluster.close();
      }
    }
  });

const call = async (client: AriClient): Promise<string> =>
  (await client.ok<Channel>('POST', '/channels?endpoint=Local/1000@default&app=ivr')).id;

/** The members of the group, as a node lists them. */
const members = async (client: AriClient): Promise<EventGroup['members']> => {
  const [group] = await client.ok<EventGroup[]>('GET', '/../hookswitch/groups');
  return group?.members ?? [];
};

/** Waits until each member has so many calls. */
const has = async (client: AriClient, wanted: Record<string, number>): Promise<void> => {
  let seen: Record<string, number> = {};
  await untilAsked(
    async () => {
      seen = Object.fromEntries((await members(client)).map(({ name, calls }) => [name, calls]));
      return isDeepStrictEqual(seen, wanted);
    },
    () => `the members have ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`,
  );
};

/** A member at each node, which join in the order of the names. */
async function joined(cluster: TestCluster, ...names: string[]): Promise<AriClient[]> {
  const clients: AriClient[] = [];
  const wanted: Record<string, number> = {};
  for (const name of names) {
    // The others know where the application is when they are asked.
    for (const node of Object.values(cluster.nodes)) await node.hasApplications(Math.min(clients.length, 1));
    const client = cluster.node(name).client();
    clients.push(await client.connect('ivr', { group: 'workers', member: name }));
    wanted[name] = 0;
    await has(client, wanted);
  }
  return clients;
}

const inCall = (client: AriClient, id: string): boolean => client.story(id).length > 0;
const start = (client: AriClient, id: string) => client.waitFor('StasisStart', ({ channel }) => channel.id === id);

onThree('calls of all nodes are spread, stick, and move with their events when a member leaves', async (cluster) => {
  const all = await joined(cluster, 'a', 'b', 'c');
  const [a, b, c] = all as [AriClient, AriClient, AriClient];
  const ids: string[] = [];
  for (const [at, name] of ['c', 'a', 'b'].entries()) {
    const id = await call(cluster.node(name).client());
    await start(all[at]!, id);
    ids.push(id);
  }
  await has(c, { a: 1, b: 1, c: 1 });
  for (const id of ids)
    for (const [at, client] of all.entries())
      assert.is((await client.request('POST', `/channels/${id}/variable?variable=V&value=${at}`)).status, 204);
  const [first, second, third] = ids as [string, string, string];
  for (const [at, id] of ids.entries())
    await all[at]!.waitFor('ChannelVarset', (event) => event.channel?.id === id && event.value === '2');
  assert.equal(
    all.map((client) => ids.map((id) => inCall(client, id))),
    [
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ],
  );
  // The member at the node of the group leaves: its node goes on to choose.
  const told = a.story(first);
  await a.close();
  await start(b, first);
  await has(c, { b: 2, c: 1 });
  const later = await call(cluster.node('a').client());
  await start(c, later);
  assert.equal(b.story(first).slice(0, told.length), told);
  for (const id of [first, second, third, later]) await c.ok('DELETE', `/channels/${id}`);
  for (const id of [first, second]) await b.waitFor('StasisEnd', ({ channel }) => channel.id === id);
  for (const id of [third, later]) await c.waitFor('StasisEnd', ({ channel }) => channel.id === id);
  const numbers = b.events.map((event) => (event as { seq?: number }).seq);
  assert.is(new Set(numbers).size, numbers.length, 'no event comes twice');
  await has(c, { b: 0, c: 0 });
});

onThree('a member drains by a request to any node, and is told when its last call is over', async (cluster) => {
  const [a, b] = (await joined(cluster, 'a', 'b')) as [AriClient, AriClient];
  const c = cluster.node('c').client();
  const [first, second] = [await call(c), await call(c)];
  await Promise.all([start(a, first), start(b, second)]);
  assert.is((await c.request('POST', '/../hookswitch/groups/ivr/workers/members/x/drain')).status, 404);
  await c.ok('POST', '/../hookswitch/groups/ivr/workers/members/b/drain');
  const third = await call(c);
  await start(a, third);
  const drained = b.waitFor('GroupMemberDrained' as never);
  await c.ok('DELETE', `/channels/${second}`);
  await drained;
  await has(c, { a: 2, b: 0 });
});

onThree(
  'the calls of a member whose node is killed go to another member, with their events',
  async (cluster) => {
    const [a] = (await joined(cluster, 'a', 'b')) as [AriClient, AriClient];
    const [first, second] = [await call(cluster.node('c').client()), await call(cluster.node('c').client())];
    await start(a, first);
    await has(a, { a: 1, b: 1 });
    const moved = start(a, second);
    await cluster.node('b').child.end('SIGKILL');
    await moved;
    await has(a, { a: 2 });
    await a.ok('DELETE', `/channels/${second}`);
    await a.waitFor('StasisEnd', ({ channel }) => channel.id === second);
  },
  false,
);

onThree(
  'the node of a group is killed: members at other nodes keep their calls and get new ones',
  async (cluster) => {
    const all = await joined(cluster, 'a', 'b', 'c');
    const [, b, c] = all as [AriClient, AriClient, AriClient];
    const ids: string[] = [];
    for (const [at, client] of [c, c, b].entries()) {
      const id = await call(client);
      await start(all[at]!, id);
      ids.push(id);
    }
    const [, second, third] = ids as [string, string, string];
    await has(b, { a: 1, b: 1, c: 1 });
    const told = Promise.all([b, c].map((client) => client.waitFor('EventsLost' as never)));
    await cluster.node('a').child.end('SIGKILL');
    await told;
    await has(b, { b: 1, c: 1 });
    for (const [client, id] of [
      [b, second],
      [c, third],
    ] as const) {
      const set = client.waitFor('ChannelVarset', (event) => event.channel?.id === id);
      // The node of this call is another one than that of its member.
      assert.is((await client.request('POST', `/channels/${id}/variable?variable=V&value=1`)).status, 204);
      await set;
    }
    assert.equal([inCall(b, third), inCall(c, second)], [false, false]);
    const later = [await call(b), await call(c)];
    await has(b, { b: 2, c: 2 });
    await untilAsked(
      async () => later.every((id) => inCall(b, id) || inCall(c, id)),
      () => 'a member does not hear its new call',
    );
    assert.is(later.filter((id) => inCall(b, id)).length, 1);
  },
  false,
);

groups.run();
