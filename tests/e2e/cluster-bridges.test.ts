import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bridge } from '../../src/models/bridge.ts';
import type { AriClient } from '../support/ari-client.ts';
import { type NodeSettings, TestCluster } from '../support/cluster-nodes.ts';
import { Listeners } from '../support/listeners.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { decodeUlaw } from '../support/rtp-audio.ts';
import { untilAsked } from '../support/waiting.ts';

/** Bridges with members at several nodes, and the phones of these members. */
const bridges = suite('cluster bridges');
const nats = need('nats-server');

const passwords: Readonly<Record<string, string>> = { alice: 'wonder', bob: 'builder', carol: 'carol', dave: 'dave' };
const account = (username: string) => ({ context: 'default', auth: { username, password: passwords[username] } });
const endpoints = { bob: account('bob'), carol: account('carol'), dave: account('dave') };

/** What each phone says, in Hz. */
const tones: Readonly<Record<string, number>> = { alice: 400, bob: 700, carol: 1100, dave: 1700 };
const all = Object.values(tones);

/** A phone in a call to the application `shop`, and its channel. */
type Caller = { phone: Phone; name: string; id: string };

class World {
  readonly cluster: TestCluster;
  readonly app: AriClient;
  readonly #phones: Phone[] = [];

  constructor(cluster: TestCluster, app: AriClient) {
    this.cluster = cluster;
    this.app = app;
  }

  /** A phone calls the application at a node, and hums its tone. */
  async caller(name: string, node: string): Promise<Caller> {
    const phone = await Phone.open(name, this.cluster.node(node).sip);
    this.#phones.push(phone);
    phone.password = passwords[name];
    const known = new Set(this.app.events.map((event) => ('channel' in event ? event.channel?.id : undefined)));
    const started = this.app.waitFor('StasisStart', ({ channel }) => !known.has(channel.id));
    const called = phone.call('1001');
    const { channel } = await started;
    await this.app.ok('POST', `/channels/${channel.id}/answer`);
    await called;
    assert.is(channel.id.split('~')[0], node);
    phone.audio.hum(tones[name]!);
    return { phone, name, id: channel.id };
  }

  /** Every one of them hears all others and not itself. */
  async hearEachOther(...callers: Caller[]): Promise<void> {
    for (const { phone, name } of callers) {
      const others = callers.filter((other) => other.name !== name).map((other) => tones[other.name]!);
      await phone.audio.hears(others, all);
    }
  }

  async members(bridge: string, node = 'c'): Promise<string[]> {
    return (await this.cluster.node(node).client().ok<Bridge>('GET', `/bridges/${bridge}`)).channels;
  }

  /** Waits until the nodes have so many links for bridges. */
  async links(wanted: Record<string, number>): Promise<void> {
    let seen: Record<string, number> = {};
    const links = async (node: string): Promise<number> => {
      const metrics = await (await this.cluster.node(node).ask('GET', '/metrics')).text();
      return Number(/^hookswitch_cluster_bridge_links (\d+)$/m.exec(metrics)?.[1]);
    };
    await untilAsked(
      async () => {
        const names = Object.keys(wanted);
        seen = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await links(name)] as const)));
        return names.every((name) => seen[name] === wanted[name]);
      },
      () => `the nodes have other links: ${JSON.stringify(seen)}`,
    );
  }

  /** An event about a caller and a bridge, heard already or still to come. */
  told(type: 'ChannelEnteredBridge' | 'ChannelLeftBridge', { id }: Caller) {
    return this.app.waitFor(type, ({ channel }) => channel?.id === id);
  }

  add(bridge: string, ...callers: Caller[]) {
    return this.app.request('POST', `/bridges/${bridge}/addChannel?channel=${callers.map(({ id }) => id).join()}`);
  }

  /** What the application heard of the bridge: event, channel, and the members then. */
  heard(bridge: string): string[] {
    return this.app.events.flatMap((event) => {
      if (!('bridge' in event) || event.bridge?.id !== bridge) return [];
      const channel = 'channel' in event ? (event.channel?.id ?? '') : '';
      return [`${event.type} ${channel} [${event.bridge.channels.join()}]`];
    });
  }

  async close(): Promise<void> {
    for (const phone of this.#phones) await phone.close();
  }
}

/** Users who may each use the channels of one application. */
const users = ['shop', 'other'].map((name) => ({ name, password: name, scope: { applications: [name] } }));

/** Runs a test on three nodes. @param node where the application is connected */
const withNodes = (title: string, node: string, run: (world: World) => Promise<void>, more: NodeSettings = {}): void =>
  nats.test(bridges, title, async (command) => {
    const settings = { request_timeout: 10, ...more };
    const cluster = await TestCluster.start(command, ['a', 'b', 'c'], settings, { endpoints, users });
    let world: World | undefined;
    try {
      const app = await cluster.node(node).app('shop');
      for (const each of Object.values(cluster.nodes)) await each.hasApplications(1);
      world = new World(cluster, app);
      await run(world);
    } catch (error) {
      cluster.tell();
      throw error;
    } finally {
      await world?.close();
      await cluster.close();
    }
  });

/** A bridge of node a with one caller at each node. */
async function conference(world: World): Promise<{ id: string; callers: [Caller, Caller, Caller] }> {
  const callers: [Caller, Caller, Caller] = [
    await world.caller('alice', 'a'),
    await world.caller('bob', 'b'),
    await world.caller('carol', 'c'),
  ];
  const { id } = await world.app.ok<Bridge>('POST', '/bridges?bridgeId=a~room');
  assert.is((await world.add(id, ...callers)).status, 204);
  await world.hearEachOther(...callers);
  return { id, callers };
}

withNodes('members at three nodes hear each other once, over one link for each pair of nodes', 'b', async (world) => {
  const { app } = world;
  const {
    id,
    callers: [alice, bob, carol],
  } = await conference(world);
  assert.equal(await world.members(id), [alice.id, bob.id, carol.id]);
  const dave = await world.caller('dave', 'c');
  assert.is((await world.add(id, dave)).status, 204);
  await world.hearEachOther(alice, bob, carol, dave);
  await world.links({ a: 2, b: 1, c: 1 });
  await world.told('ChannelEnteredBridge', dave);
  const entered = [alice, bob, carol, dave].map(
    (caller, index, callers) =>
      `ChannelEnteredBridge ${caller.id} [${callers
        .slice(0, index + 1)
        .map((each) => each.id)
        .join()}]`,
  );
  assert.equal(world.heard(id), entered);
  const listed = await app.ok<Bridge[]>('GET', '/bridges');
  assert.equal(
    listed.map((each) => each.id),
    [id],
  );

  const before = carol.phone.audio.packets.length;
  await alice.phone.audio.press('5', 100);
  await carol.phone.audio.until(
    () => carol.phone.audio.packets.slice(before).some(({ payloadType }) => payloadType === 101),
    'the digit',
  );

  const peersOf = async ({ id: channel }: Caller): Promise<string | undefined> =>
    (await app.request<{ value?: string }>('GET', `/channels/${channel}/variable?variable=BRIDGEPEER`)).body.value;
  assert.is((await peersOf(carol))?.split(',').length, 3);

  // One is let out, one hangs up, and one enters another bridge of its node.
  const bobLeft = world.told('ChannelLeftBridge', bob);
  assert.is((await app.request('POST', `/bridges/${id}/removeChannel?channel=${bob.id}`)).status, 204);
  assert.equal(await world.members(id), [alice.id, carol.id, dave.id]);
  await bobLeft;
  await world.hearEachOther(alice, carol, dave);
  const daveLeft = world.told('ChannelLeftBridge', dave);
  dave.phone.hangup();
  await daveLeft;
  await world.hearEachOther(alice, carol);
  await app.ok<Bridge>('POST', '/bridges?bridgeId=c~aside');
  const carolLeft = app.waitFor(
    'ChannelLeftBridge',
    ({ bridge, channel }) => bridge.id === id && channel?.id === carol.id,
  );
  assert.is((await world.add('c~aside', carol)).status, 204);
  await carolLeft;
  assert.equal(await world.members(id), [alice.id]);
  assert.equal(await world.members('c~aside', 'a'), [carol.id]);
  await untilAsked(
    async () => !(await peersOf(carol)) && !(await peersOf(bob)),
    () => 'who has left has peers',
  );

  // Both are back, and then the bridge is destroyed.
  assert.is((await world.add(id, bob, carol)).status, 204);
  await world.hearEachOther(alice, bob, carol);
  assert.is((await app.request('POST', `/bridges/${id}/removeChannel?channel=${dave.id}`)).status, 400);
  const destroyed = app.waitFor('BridgeDestroyed', ({ bridge }) => bridge.id === id);
  assert.is((await app.request('DELETE', `/bridges/${id}`)).status, 204);
  await destroyed;
  assert.equal(world.heard(id).slice(entered.length), [
    `ChannelLeftBridge ${bob.id} [${alice.id},${carol.id},${dave.id}]`,
    `ChannelLeftBridge ${dave.id} [${alice.id},${carol.id}]`,
    `ChannelLeftBridge ${carol.id} [${alice.id}]`,
    `ChannelEnteredBridge ${bob.id} [${alice.id},${bob.id}]`,
    `ChannelEnteredBridge ${carol.id} [${alice.id},${bob.id},${carol.id}]`,
    `ChannelLeftBridge ${alice.id} [${bob.id},${carol.id}]`,
    `ChannelLeftBridge ${bob.id} [${carol.id}]`,
    `ChannelLeftBridge ${carol.id} []`,
    'BridgeDestroyed  []',
  ]);
  await world.links({ a: 0, b: 0, c: 0 });

  // In a holding bridge all hear the announcer alone, wherever it is.
  await app.ok<Bridge>('POST', '/bridges?bridgeId=a~hold&type=holding');
  for (const [announcer, ...others] of [
    [bob, alice, carol],
    [alice, bob, carol],
  ] as const) {
    assert.is((await world.add('a~hold', ...others)).status, 204);
    const path = `/bridges/a~hold/addChannel?channel=${announcer.id}&role=announcer`;
    assert.is((await app.request('POST', path)).status, 204);
    for (const { phone } of others) await phone.audio.hears([tones[announcer.name]!], all);
    const everybody = [alice, bob, carol].map((caller) => caller.id).join();
    assert.is((await app.request('POST', `/bridges/a~hold/removeChannel?channel=${everybody}`)).status, 204);
  }
  const bridged = await app.ok<{ id: string }[]>('GET', '/channels');
  assert.equal(bridged.map((each) => each.id).toSorted(), [alice.id, bob.id, carol.id].toSorted());
});

withNodes('what cannot span nodes is refused, and nobody enters', 'b', async (world) => {
  const { app } = world;
  const [alice, bob] = [await world.caller('alice', 'a'), await world.caller('bob', 'b')];
  const refused = async (bridge: string, wanted: string) => {
    const { status, body } = await app.request<{ message?: string }>(
      'POST',
      `/bridges/${bridge}/addChannel?channel=${wanted}`,
    );
    return [status, body?.message];
  };
  await app.ok('POST', '/bridges?bridgeId=a~sfu&type=video_sfu');
  assert.match(
    String(await refused('a~sfu', bob.id)),
    /^409,The channel b~\S+ is on the node 'b'\. Channels of other nodes/,
  );
  await app.ok('POST', '/bridges?bridgeId=a~room');
  assert.equal(await refused('a~room', `${alice.id},b~none`), [400, 'Channel not found']);
  assert.equal(await refused('a~room', `${alice.id},nowhere`), [400, 'Channel not found']);
  assert.equal(await world.members('a~room'), []);
  const outside = await app.request('POST', `/bridges/a~room/removeChannel?channel=${bob.id}`);
  assert.equal([outside.status, outside.body], [422, { message: 'Channel not in this bridge' }]);
  assert.equal(await refused('a~gone', bob.id), [404, 'Bridge not found']);
});

withNodes('a user with a scope adds channels of other nodes that are in it, and no others', 'c', async (world) => {
  const bob = await world.caller('bob', 'b');
  for (const name of ['shop', 'other']) {
    const client = world.cluster.node('c').client(`${name}:${name}`);
    const { id } = await client.ok<Bridge>('POST', `/bridges?bridgeId=a~${name}`);
    const asked = async (what: string, channel: string): Promise<number> =>
      (await client.request('POST', `/bridges/${id}/${what}?channel=${channel}`)).status;
    const isAllowed = name === 'shop';
    assert.is(await asked('addChannel', bob.id), isAllowed ? 204 : 403);
    assert.equal(await world.members(id), isAllowed ? [bob.id] : []);
    assert.is(await asked('removeChannel', bob.id), isAllowed ? 204 : 403);
    for (const nobody of ['b~nobody', 'nobody']) assert.is(await asked('addChannel', nobody), 403);
    assert.equal(await world.members(id), []);
  }
});

withNodes('members of a lost node leave once, and the others hear each other', 'c', async (world) => {
  const {
    id,
    callers: [alice, bob, carol],
  } = await conference(world);
  const left = world.told('ChannelLeftBridge', bob);
  await world.cluster.node('b').child.end('SIGKILL');
  await left;
  await world.hearEachOther(alice, carol);
  assert.equal(await world.members(id, 'a'), [alice.id, carol.id]);
  await world.links({ a: 1, c: 1 });
  assert.equal(
    world.heard(id).filter((event) => event.startsWith('ChannelLeftBridge')),
    [`ChannelLeftBridge ${bob.id} [${alice.id},${carol.id}]`],
  );
});

withNodes('members of a bridge whose node is lost stay in their application', 'c', async (world) => {
  const {
    id,
    callers: [, bob, carol],
  } = await conference(world);
  const left = Promise.all([bob, carol].map((caller) => world.told('ChannelLeftBridge', caller)));
  await world.cluster.node('a').child.end('SIGKILL');
  await left;
  await world.links({ b: 0, c: 0 });
  assert.equal(world.heard(id).filter((event) => event.startsWith('ChannelLeftBridge')).length, 2);
  await world.app.ok('POST', '/bridges?bridgeId=b~room');
  assert.is((await world.add('b~room', bob, carol)).status, 204);
  await world.hearEachOther(bob, carol);
});

withNodes('audio goes on without NATS, and control says that the node cannot be asked', 'a', async (world) => {
  const { cluster, app } = world;
  const {
    id,
    callers: [alice, bob, carol],
  } = await conference(world);
  await cluster.nats.child.end('SIGKILL');
  await cluster.sees(cluster.node('a'), { b: 'away', c: 'away' });
  for (const { id: channel } of [bob, carol])
    assert.is((await app.request('POST', `/bridges/${id}/removeChannel?channel=${channel}`)).status, 503);
  await world.hearEachOther(alice, bob, carol);
  assert.equal(await world.members(id, 'a'), [alice.id, bob.id, carol.id]);
  await cluster.nats.begin();
  await cluster.whole();
  assert.is((await app.request('POST', `/bridges/${id}/removeChannel?channel=${bob.id}`)).status, 204);
  await world.hearEachOther(alice, carol);
});

for (const [node, place] of [
  ['b', 'of a member'],
  ['a', 'of the bridge'],
] as const)
  withNodes(
    `the node ${place} is lost: where its calls go on, all hear each other again`,
    'c',
    async (world) => {
      const { id, callers } = await conference(world);
      for (const { phone } of callers) phone.follows = true;
      for (const each of Object.values(world.cluster.nodes)) await each.untilReplicated();
      const lost = callers.find((caller) => caller.id.startsWith(`${node}~`))!;
      await world.cluster.node(node).child.end('SIGKILL');
      await untilAsked(
        () => lost.phone.reinvites.length > 0,
        () => 'the call did not go on',
      );
      let members: string[] = [];
      const asker = world.cluster.node('c').client();
      await untilAsked(
        async () => {
          const { status, body } = await asker.request<Bridge>('GET', `/bridges/${id}`);
          members = status === 200 ? body.channels : [];
          return members.length === callers.length;
        },
        () => `the members are ${members.join()}`,
      );
      assert.equal(members.toSorted(), callers.map((caller) => caller.id).toSorted());
      await world.hearEachOther(...callers);
    },
    { replicate: true, take_over_after: 0.6, take_over_silent_after: 0 },
  );

withNodes('who is held hears music, whichever node the bridge is at', 'c', async (world) => {
  const [alice, bob] = [await world.caller('alice', 'a'), await world.caller('bob', 'b')];
  await world.app.ok('POST', '/bridges?bridgeId=a~room');
  assert.is((await world.add('a~room', alice, bob)).status, 204);
  for (const [holder, held] of [
    [alice, bob],
    [bob, alice],
  ] as const) {
    await world.hearEachOther(alice, bob);
    holder.phone.direction = 'sendonly';
    holder.phone.audio.hush();
    assert.is(await holder.phone.offerAnew(), 200);
    const { audio } = held.phone;
    const isMusic = (): boolean =>
      audio
        .audio()
        .subarray(-1_600)
        .some((octet) => Math.abs(decodeUlaw(octet)) > 500);
    await audio.until(isMusic, 'music');
    holder.phone.direction = 'sendrecv';
    assert.is(await holder.phone.offerAnew(), 200);
    await audio.until(() => !isMusic(), 'the end of the music');
    holder.phone.audio.hum(tones[holder.name]!);
  }
});

withNodes('90 listeners at three nodes hear one talker over two links', 'b', async (world) => {
  const { app } = world;
  const far = await Listeners.open();
  try {
    await app.ok<Bridge>('POST', '/bridges?bridgeId=a~room');
    const nodes = Array.from({ length: 91 }, (_, at) => 'abc'[at % 3]!);
    const [talker, ...listeners] = await Promise.all(nodes.map((node) => far.enter(app, node)));
    const ids = [talker!, ...listeners].map(({ id }) => id);
    await app.ok('POST', `/bridges/a~room/addChannel?channel=${ids.join()}`);
    assert.equal((await world.members('a~room')).sort(), ids.sort());
    await world.links({ a: 2, b: 1, c: 1 });
    far.talk(talker!.port);
    far.count(listeners.map(({ port }) => port));
    await untilAsked(
      async () => far.heard.every(({ packets, silent }) => packets - silent > 50),
      () => `not all hear the talker: ${JSON.stringify(far.heard)}`,
    );
  } finally {
    far.close();
  }
});

/** A party that talks to dave at node a, and the call of dave that asks alice at node b. */
async function consulting(world: World) {
  const { app } = world;
  const [bob, dave, alice] = [
    await world.caller('bob', 'a'),
    await world.caller('dave', 'a'),
    await world.caller('alice', 'b'),
  ];
  const asking = await world.caller('dave', 'b');
  for (const [id, ...members] of [
    ['a~first', bob, dave],
    ['b~second', asking, alice],
  ] as const) {
    await app.ok('POST', `/bridges?bridgeId=${id}`);
    assert.is((await world.add(id, ...members)).status, 204);
  }
  return { bob, dave, alice, asking };
}

const referTo = ({ phone }: Caller): string => `<sip:1001@127.0.0.1?Replaces=${phone.replaces()}>`;

withNodes('an attended transfer whose second call is at another node', 'c', async (world) => {
  const { app } = world;
  const { bob, dave, alice, asking } = await consulting(world);
  const transferred = app.waitFor('BridgeAttendedTransfer');
  assert.is(await dave.phone.refer(referTo(asking)), 202);
  const event = await transferred;
  assert.equal(
    [event.result, event.destination_bridge, event.transferee?.id, event.transfer_target?.id],
    ['Success', 'a~first', bob.id, alice.id],
  );
  assert.equal([event.transferer_first_leg.id, event.transferer_second_leg.id], [dave.id, asking.id]);
  await world.hearEachOther(bob, alice);
  await Promise.all([dave.phone.over(), asking.phone.over()]);
  assert.equal((await world.members('a~first')).sort(), [alice.id, bob.id].sort());
  assert.equal(await world.members('b~second'), []);
});

withNodes('an attended transfer that names a call which no node has, or may be taken', 'c', async (world) => {
  const { bob, dave, alice, asking } = await consulting(world);
  const notified = (): string[] => dave.phone.notified.map(({ fragment }) => fragment.split(' ')[1] ?? '');
  assert.is(await dave.phone.refer('<sip:1001@127.0.0.1?Replaces=nowhere%3Bto-tag%3D1%3Bfrom-tag%3D2>'), 202);
  await untilAsked(
    async () => notified().includes('481'),
    () => JSON.stringify(notified()),
  );
  // The call of alice is none of dave.
  assert.is(await dave.phone.refer(referTo(alice)), 202);
  await untilAsked(
    async () => notified().filter((line) => line === '481').length === 2,
    () => JSON.stringify(notified()),
  );
  await world.hearEachOther(bob, dave);
  await world.hearEachOther(alice, asking);
});

bridges.run();
