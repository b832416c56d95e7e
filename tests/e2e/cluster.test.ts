import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Application } from '../../src/models/application.ts';
import type { Bridge } from '../../src/models/bridge.ts';
import type { Channel } from '../../src/models/channel.ts';
import type { ClusterNode } from '../../src/models/cluster-node.ts';
import type { Endpoint } from '../../src/models/endpoint.ts';
import type { AriClient } from '../support/ari-client.ts';
import { NodeProcess, type NodeSettings, TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { untilAsked } from '../support/waiting.ts';

const clusters = suite('cluster');
const nats = need('nats-server');

/** Runs a test on three nodes. */
const onThree = (title: string, run: (cluster: TestCluster) => Promise<void>, settings?: NodeSettings): void =>
  nats.test(clusters, title, async (command) => {
    const cluster = await TestCluster.start(command, ['a', 'b', 'c'], settings);
    try {
      await run(cluster);
    } catch (error) {
      cluster.tell();
      throw error;
    } finally {
      await cluster.close();
    }
  });

/** The nodes of tests that leave them as they were. */
let shared: TestCluster | undefined;
clusters.after(() => shared?.close());

/** Runs a test on three nodes that other tests use as well. */
const onShared = (title: string, run: (cluster: TestCluster) => Promise<void>): void =>
  nats.test(clusters, title, async (command) => {
    const cluster = (shared ??= await TestCluster.start(command, ['a', 'b', 'c']));
    try {
      await run(cluster);
      await cluster.empty();
    } catch (error) {
      cluster.tell();
      // The next test has nodes of its own.
      shared = undefined;
      await cluster.close();
      throw error;
    }
  });

/** A channel at a node, in an application or in the dialplan. */
const call = (client: AriClient, more = 'app=shop'): Promise<Channel> =>
  client.ok<Channel>('POST', `/channels?endpoint=Local/1000@default&${more}`);

const idsOf = (objects: readonly { id: string }[]): string[] => objects.map(({ id }) => id).sort();

onShared('any node answers for any channel, bridge and playback', async (cluster) => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => cluster.node(name).client()) as [AriClient, AriClient, AriClient];
  const app = await cluster.node('b').app('shop');
  const channel = await call(b);
  assert.match(channel.id, /^b~/);
  await app.waitFor('StasisStart', (event) => event.channel.id === channel.id);
  for (const client of [a, b, c])
    assert.equal((await client.ok<Channel>('GET', `/channels/${channel.id}`)).id, channel.id);

  assert.is((await a.request('POST', `/channels/${channel.id}/variable?variable=X&value=%C3%BC%20%26`)).status, 204);
  assert.equal(await c.ok('GET', `/channels/${channel.id}/variable?variable=X`), { value: 'ü &' });
  assert.is(
    (await c.request('POST', `/channels/${channel.id}/variable`, { variable: 'Y', value: 'body' })).status,
    204,
  );
  assert.equal(await a.ok('GET', `/channels/${channel.id}/variable?variable=Y`), { value: 'body' });

  const bridge = await b.ok<Bridge>('POST', '/bridges?type=mixing');
  assert.is((await a.request('POST', `/bridges/${bridge.id}/addChannel?channel=${channel.id}`)).status, 204);
  assert.equal((await c.ok<Bridge>('GET', `/bridges/${bridge.id}`)).channels, [channel.id]);
  const onBridge = await a.ok<{ id: string }>('POST', `/bridges/${bridge.id}/play?media=tone:ring`);
  assert.equal((await c.ok<{ id: string }>('GET', `/playbacks/${onBridge.id}`)).id, onBridge.id);

  const refused = await a.request<{ message: string }>('POST', `/channels/${channel.id}/play?media=`);
  const here = await b.request<{ message: string }>('POST', `/channels/${channel.id}/play?media=`);
  assert.equal([refused.status, refused.body], [here.status, here.body]);
  assert.is((await a.request('DELETE', `/channels/${channel.id}`)).status, 204);
  await app.waitFor('ChannelDestroyed', (event) => event.channel.id === channel.id);
  assert.is((await a.request('GET', `/channels/${channel.id}`)).status, 404);
});

onShared('a phone is called from the node where it is registered, whichever node is asked', async (cluster) => {
  const [b, c] = [cluster.node('b').client(), cluster.node('c').client()];
  const app = await cluster.node('c').app('shop');
  const phone = await Phone.open('alice', cluster.node('a').sip);
  phone.password = 'wonder';
  try {
    assert.is(await phone.register(), 200);
    const stateAt = async () => (await b.ok<Endpoint>('GET', '/endpoints/PJSIP/alice')).state;
    await untilAsked(
      async () => (await stateAt()) === 'online',
      () => 'the phone is not online',
    );
    const channel = await b.ok<Channel>('POST', '/channels?endpoint=PJSIP/alice&app=shop');
    assert.match(channel.id, /^a~/);
    const start = await app.waitFor('StasisStart', (event) => event.channel.id === channel.id);
    assert.is(start.channel.state, 'Up');
    assert.ok(phone.inCall);
    assert.is((await c.request('DELETE', `/channels/${channel.id}`)).status, 204);
    await phone.until(() => !phone.inCall, 'the end of the call');
    const chosen = await b.ok<Channel>('POST', '/channels/mine', { endpoint: 'PJSIP/alice', app: 'shop' });
    assert.is(chosen.id, 'mine');
    await app.waitFor('StasisStart', (event) => event.channel.id === 'mine');
    assert.is((await c.ok<Channel>('GET', '/channels/mine')).id, 'mine');
    assert.is((await c.request('DELETE', '/channels/mine')).status, 204);
  } finally {
    await phone.close();
  }
});

onShared('lists have the objects of all nodes', async (cluster) => {
  const channels: string[] = [];
  const bridges: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const client = cluster.node(name).client();
    channels.push((await call(client, 'extension=1000&context=default')).id);
    bridges.push((await client.ok<Bridge>('POST', '/bridges')).id);
  }
  for (const name of ['a', 'b', 'c']) {
    const client = cluster.node(name).client();
    const listed = await client.request<Channel[]>('GET', '/channels');
    assert.is(listed.headers.get('hookswitch-missing-nodes'), null);
    // The halves of Local channels.
    for (const id of channels) assert.ok(idsOf(listed.body).includes(id), id);
    assert.equal(idsOf(await client.ok<Bridge[]>('GET', '/bridges')), bridges.sort());
  }
});

onShared('an id that a client has chosen is on one node, and found from all', async (cluster) => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => cluster.node(name).client()) as [AriClient, AriClient, AriClient];
  assert.equal((await b.ok<Bridge>('POST', '/bridges/lobby')).id, 'lobby');
  assert.equal((await a.ok<Bridge>('GET', '/bridges/lobby')).id, 'lobby');
  const again = await c.request('POST', '/bridges?bridgeId=lobby');
  assert.equal(
    [again.status, again.body],
    [409, { message: "The id 'lobby' is in use on the node 'b' of the cluster" }],
  );
  const clients = [a, b, c];
  const raced = await Promise.all(
    Array.from({ length: 12 }, (_, at) => clients[at % 3]!.request('POST', '/bridges?bridgeId=raced')),
  );
  assert.is(raced.filter(({ status }) => status === 200).length, 1);
  assert.is((await a.ok<Bridge[]>('GET', '/bridges')).filter(({ id }) => id === 'raced').length, 1);
  assert.is((await c.request('DELETE', '/bridges/lobby')).status, 204);
  await untilAsked(
    async () => (await c.request('POST', '/bridges?bridgeId=lobby')).status === 200,
    () => 'the id of a bridge that is gone is not free again',
  );
  assert.equal((await a.ok<Bridge>('GET', '/bridges/lobby')).id, 'lobby');
  // An id with the mark of a node is made on that node.
  assert.equal((await a.ok<Bridge>('POST', '/bridges?bridgeId=c~mine')).id, 'c~mine');
  assert.equal(idsOf(await c.ok<Bridge[]>('GET', '/bridges')).includes('c~mine'), true);
});

onShared('a request for objects on two nodes is refused, and both are named', async (cluster) => {
  await cluster.node('a').app('shop');
  const channel = await call(cluster.node('b').client());
  for (const name of ['a', 'b', 'c']) {
    const client = cluster.node(name).client();
    const about = `endpoint=Local/1000@default&app=shop&channelId=a~new&originator=${channel.id}`;
    const answer = await client.request<{ message: string }>('POST', `/channels?${about}`);
    assert.is(answer.status, 409);
    assert.match(answer.body.message, /^The objects are on different nodes: /);
    assert.ok(answer.body.message.includes(`${channel.id} on 'b'`), answer.body.message);
    assert.ok(answer.body.message.includes("a~new on 'a'"), answer.body.message);
  }
});

onShared(
  'an application hears the events of its channels on all nodes, numbered once and in order',
  async (cluster) => {
    const app = await cluster.node('a').app('shop');
    const clients = ['a', 'b', 'c'].map((name) => cluster.node(name).client());
    const channels = await Promise.all(clients.map((client) => call(client)));
    for (const { id } of channels) await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
    for (const { id } of channels)
      for (let at = 0; at < 20; at++)
        assert.is(
          (await clients[at % 3]!.request('POST', `/channels/${id}/variable?variable=V&value=${at}`)).status,
          204,
        );
    for (const [at, { id }] of channels.entries())
      assert.is((await clients[(at + 1) % 3]!.request('DELETE', `/channels/${id}`)).status, 204);
    for (const { id } of channels) await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
    const events = app.events as unknown as {
      type: string;
      seq: number;
      application: string;
      value?: string;
      channel?: Channel;
    }[];
    assert.equal(
      events.map(({ seq }) => seq),
      events.map((_, at) => events[0]!.seq + at),
    );
    assert.ok(events.every(({ application }) => application === 'shop'));
    for (const { id } of channels) {
      const own = events.filter(({ channel }) => channel?.id === id);
      const values = own
        .filter(({ type }) => type === 'ChannelVarset')
        .flatMap(({ value }) => (/^\d+$/.test(value ?? '') ? [value] : []));
      assert.equal(
        values,
        Array.from({ length: 20 }, (_, at) => String(at)),
      );
      assert.ok(
        own.findIndex(({ type }) => type === 'StasisStart') < own.findIndex(({ type }) => type === 'StasisEnd'),
      );
    }
  },
);

onShared('subscriptions hold where the object lives', async (cluster) => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => cluster.node(name).client()) as [AriClient, AriClient, AriClient];
  const app = await cluster.node('a').app('watcher');
  const channel = await call(b, 'extension=1000&context=default');
  const bridge = await c.ok<Bridge>('POST', '/bridges');
  const subscribed = await c.ok<Application>(
    'POST',
    `/applications/watcher/subscription?eventSource=channel:${channel.id},bridge:${bridge.id}`,
  );
  assert.equal([subscribed.channel_ids, subscribed.bridge_ids], [[channel.id], [bridge.id]]);
  const shown = await a.ok<Application>('GET', '/applications/watcher');
  assert.equal([shown.channel_ids, shown.bridge_ids], [[channel.id], [bridge.id]]);
  assert.is((await a.request('DELETE', `/channels/${channel.id}`)).status, 204);
  assert.is((await a.request('DELETE', `/bridges/${bridge.id}`)).status, 204);
  await app.waitFor('ChannelDestroyed', (event) => event.channel.id === channel.id);
  await app.waitFor('BridgeDestroyed', (event) => event.bridge.id === bridge.id);
  const unknown = await a.request('POST', '/applications/watcher/subscription?eventSource=channel:b~nothing');
  assert.is(unknown.status, 422);

  const all = await cluster.node('c').app('all', { subscribeAll: true });
  await untilAsked(
    async () => {
      await call(b, 'extension=1000&context=default');
      return all.events.some((event) => event.type === 'ChannelCreated' && event.channel.id.startsWith('b~'));
    },
    () => 'an application that hears all hears no channel of another node',
  );
});

onShared('an application that connects to another node takes its events along', async (cluster) => {
  const first = await cluster.node('a').app('shop');
  const b = cluster.node('b').client();
  const channel = await call(b);
  await first.waitFor('StasisStart', (event) => event.channel.id === channel.id);
  const second = await cluster.node('c').app('shop');
  await first.waitFor('ApplicationReplaced');
  await untilAsked(
    async () => {
      await b.ok('POST', `/channels/${channel.id}/variable?variable=N&value=1`);
      return second.events.some(({ type }) => type === 'ChannelVarset');
    },
    () => 'the new connection hears nothing',
  );
});

onShared('an application resumes at another node with all that it missed, and once', async (cluster) => {
  type Told = { type: string; epoch?: string; seq: number; value?: string; channel?: Channel };
  const clients = ['a', 'b', 'c'].map((name) => cluster.node(name).client());
  const set = (channel: Channel, value: number) =>
    clients[0]!.ok('POST', `/channels/${channel.id}/variable?variable=N&value=${value}`);
  const first = await cluster.node('a').client().connect('shop', { resume: 'new' });
  const channels = await Promise.all(clients.map((client) => call(client)));
  for (const { id } of channels) await first.waitFor('StasisStart', ({ channel }) => channel.id === id);
  let [before] = first.events as unknown as Told[];
  const { epoch } = before!;
  await first.close();
  for (const channel of channels) for (let n = 0; n < 5; n++) await set(channel, n);
  before = (first.events as unknown as Told[]).at(-1)!;
  const second = await cluster
    .node('c')
    .client()
    .connect('shop', { resume: `${epoch}:${before.seq}` });
  for (const channel of channels) await set(channel, 5);
  const varsets = () =>
    (second.events as unknown as Told[]).filter(
      ({ type, value }) => type === 'ChannelVarset' && /^\d$/.test(value ?? ''),
    );
  await untilAsked(
    () => varsets().length >= 18,
    () => JSON.stringify(second.events),
  );
  for (const { id } of channels)
    assert.equal(
      varsets()
        .filter(({ channel }) => channel?.id === id)
        .map(({ value }) => value),
      ['0', '1', '2', '3', '4', '5'],
    );
  const [point, ...events] = second.events as unknown as Told[];
  assert.equal([point!.type, point!.seq], ['ResumePoint', before.seq]);
  assert.equal(
    events.map(({ seq }) => seq),
    events.map((_, at) => before!.seq + at + 1),
  );
});

onThree(
  'a killed node is named, and lists go on without it',
  async (cluster) => {
    const [a, c] = [cluster.node('a').client(), cluster.node('c').client()];
    const channel = await call(cluster.node('b').client(), 'extension=1000&context=default');
    const own = await call(a, 'extension=1000&context=default');
    const told = await cluster.node('a').client().connect('watch', { nodes: 'true' });
    const untold = await cluster.node('c').app('quiet');
    const lost = told.waitFor('NodeLost' as never);
    // Both halves of a Local channel, as its heartbeat tells.
    const known = async () =>
      (await a.ok<ClusterNode[]>('GET', '/../hookswitch/nodes')).find(({ name }) => name === 'b');
    await untilAsked(
      async () => (await known())?.figures?.channels === 2,
      () => 'the node has not told its channels',
    );
    await cluster.node('b').child.end('SIGKILL');
    const answer = await c.request<{ message: string }>('GET', `/channels/${channel.id}`);
    assert.is(answer.status, 503);
    assert.match(answer.body.message, /^The node 'b' of the cluster cannot be asked: /);
    await cluster.sees(cluster.node('c'), { b: 'away' });
    const { timestamp, heard, asterisk_id, ...rest } = (await lost) as unknown as Record<string, string>;
    assert.equal(rest, { type: 'NodeLost', application: 'watch', node: 'b', channels: 2, replicated: false });
    assert.ok(heard! < timestamp! && asterisk_id !== '');
    assert.equal(untold.events, []);
    const refused = await c.request('POST', `/channels/${channel.id}/answer`);
    assert.equal(
      [refused.status, refused.body],
      [503, { message: "The node 'b' of the cluster cannot be asked: it is away" }],
    );
    const listed = await c.request<Channel[]>('GET', '/channels');
    assert.is(listed.headers.get('hookswitch-missing-nodes'), 'b');
    assert.ok(idsOf(listed.body).includes(own.id));
    await cluster.node('b').begin();
    await cluster.whole();
    assert.is((await c.request('GET', `/channels/${channel.id}`)).status, 404);
  },
  { request_timeout: 2 },
);

onThree('a node that ends in an orderly way is forgotten, until it comes again', async (cluster) => {
  const a = cluster.node('a');
  const told = await a.client().connect('watch', { nodes: 'true' });
  await cluster.node('c').child.end('SIGTERM');
  await untilAsked(
    async () => !('c' in (await a.states())),
    () => 'a node that has left is still listed',
  );
  const listed = await a.client().request<Bridge[]>('GET', '/bridges');
  assert.is(listed.headers.get('hookswitch-missing-nodes'), null);
  const ofC = (told.events as unknown as { node?: string }[]).filter(({ node }) => node === 'c');
  assert.equal(ofC, [], 'it is not lost');
  await cluster.node('c').begin();
  await cluster.whole();
});

onThree('a second server with the name of a node takes no part, until the first has ended', async (cluster) => {
  const [a, b] = [cluster.node('a'), cluster.node('b')];
  const bridge = await b.client().ok<Bridge>('POST', '/bridges');
  const double = await NodeProcess.start('b', cluster.nats.url);
  try {
    await cluster.sees(double, { b: 'excluded' });
    assert.match(double.child.written, /this server takes no part in the cluster: another server has the same name/);
    const own = await double.client().ok<Bridge>('POST', '/bridges');
    assert.is((await a.client().request('GET', `/bridges/${own.id}`)).status, 404);
    for (let n = 0; n < 20; n++) assert.is((await a.client().ok<Bridge>('GET', `/bridges/${bridge.id}`)).id, bridge.id);
    const chosen = await double.client().request('POST', '/bridges?bridgeId=chosen');
    const why = 'The cluster cannot be asked: another server has the name of this node (cluster.name)';
    assert.equal([chosen.status, chosen.body], [503, { message: why }]);
    await b.child.end('SIGKILL');
    await cluster.sees(double, { a: 'member', b: 'member', c: 'member' });
    await untilAsked(
      async () => (await a.client().request('GET', `/bridges/${own.id}`)).status === 200,
      () => 'the objects of the server that has the name now are not found',
    );
  } finally {
    await double.close();
  }
});

onThree('a server that stood still has lost its name to the next one', async (cluster) => {
  const b = cluster.node('b');
  b.child.signal('SIGSTOP');
  const next = await NodeProcess.start('b', cluster.nats.url, { request_timeout: 0.3 });
  try {
    await cluster.sees(next, { b: 'member' });
    const bridge = await next.client().ok<Bridge>('POST', '/bridges');
    b.child.signal('SIGCONT');
    await cluster.sees(b, { b: 'excluded' });
    assert.is((await b.client().request('GET', `/bridges/${bridge.id}`)).status, 404);
    for (const name of ['a', 'c'])
      assert.is((await cluster.node(name).client().ok<Bridge>('GET', `/bridges/${bridge.id}`)).id, bridge.id);
  } finally {
    await next.close();
  }
});

onThree('a lost node is forgotten on request, a live one is not', async (cluster) => {
  const [a, c] = [cluster.node('a').client(), cluster.node('c').client()];
  await cluster.node('b').client().ok('POST', '/bridges?bridgeId=lobby');
  const forget = (name: string) => cluster.node('a').ask('DELETE', `/hookswitch/nodes/${name}`);
  assert.is((await forget('b')).status, 409);
  assert.is((await forget('a')).status, 409);
  assert.is((await forget('nobody')).status, 404);
  await cluster.node('b').child.end('SIGKILL');
  for (const name of ['a', 'c']) await cluster.sees(cluster.node(name), { b: 'away' });
  assert.is((await c.request('GET', '/bridges/lobby')).status, 503);
  assert.is((await forget('b')).status, 204);
  for (const name of ['a', 'c'])
    await untilAsked(
      async () => !('b' in (await cluster.node(name).states())),
      () => 'the node is still listed',
    );
  assert.is((await c.request('GET', '/bridges')).headers.get('hookswitch-missing-nodes'), null);
  assert.is((await c.request('GET', '/bridges/lobby')).status, 404);
  assert.is((await a.request('POST', '/bridges?bridgeId=lobby')).status, 200);
  await cluster.node('b').begin();
  await cluster.whole();
});

onThree(
  'a node that does not run is waited for no longer than the time-out, and serves again afterwards',
  async (cluster) => {
    const c = cluster.node('c').client();
    const channel = await call(cluster.node('b').client(), 'extension=1000&context=default');
    cluster.node('b').child.signal('SIGSTOP');
    const begun = performance.now();
    const answer = await c.request<{ message: string }>('GET', `/channels/${channel.id}`);
    assert.ok(performance.now() - begun < 10_000);
    assert.is(answer.status, 503);
    assert.match(
      answer.body.message,
      /^The node 'b' of the cluster cannot be asked: it (?:does not answer in time|is away)$/,
    );
    await cluster.sees(cluster.node('c'), { b: 'away' });
    cluster.node('b').child.signal('SIGCONT');
    await cluster.whole();
    assert.is((await c.request('GET', `/channels/${channel.id}`)).status, 200);
  },
  { request_timeout: 2 },
);

onThree(
  'without NATS each node serves its own objects, and all others when it is back',
  async (cluster) => {
    const [a, b] = [cluster.node('a').client(), cluster.node('b').client()];
    const [own, other] = [
      await call(a, 'extension=1000&context=default'),
      await call(b, 'extension=1000&context=default'),
    ];
    const told = await cluster.node('a').client().connect('watch', { nodes: 'true' });
    await cluster.nats.child.end('SIGKILL');
    await cluster.sees(cluster.node('a'), { a: 'away', b: 'away', c: 'away' });
    assert.is((await a.request('GET', `/channels/${own.id}`)).status, 200);
    const answer = await a.request<{ message: string }>('GET', `/channels/${other.id}`);
    assert.is(answer.status, 503);
    assert.match(answer.body.message, /'b'/);
    const chosen = await a.request<{ message: string }>('POST', '/bridges?bridgeId=chosen');
    assert.is(chosen.status, 503);
    assert.match((await a.ok<Bridge>('POST', '/bridges')).id, /^a~/);
    await cluster.nats.begin();
    await cluster.whole();
    assert.equal(told.events, [], 'no node was lost');
    assert.is((await a.request('GET', `/channels/${other.id}`)).status, 200);
    await untilAsked(
      async () => (await a.request('POST', '/bridges?bridgeId=chosen')).status === 200,
      () => 'no ids can be chosen again',
    );
  },
  { request_timeout: 2 },
);

clusters.run();
