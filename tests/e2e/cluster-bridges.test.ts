import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bridge } from '../../src/models/bridge.ts';
import type { AriClient } from '../support/ari-client.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
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

  /** Ports of RTP at a node. */
  async ports(node: string): Promise<number> {
    const metrics = await (await this.cluster.node(node).ask('GET', '/metrics')).text();
    return Number(/^hookswitch_media_sessions (\d+)$/m.exec(metrics)?.[1]);
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

const withNodes = (title: string, run: (world: World) => Promise<void>): void =>
  nats.test(bridges, title, async (command) => {
    const cluster = await TestCluster.start(command, ['a', 'b', 'c'], { request_timeout: 2 }, endpoints);
    let world: World | undefined;
    try {
      const app = await cluster.node('b').app('shop');
      for (const node of Object.values(cluster.nodes)) await node.hasApplications(1);
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

withNodes('members at three nodes hear each other once, over one link for each pair of nodes', async (world) => {
  const { app } = world;
  const [alice, bob, carol] = [
    await world.caller('alice', 'a'),
    await world.caller('bob', 'b'),
    await world.caller('carol', 'c'),
  ];
  const { id } = await app.ok<Bridge>('POST', '/bridges?bridgeId=a~room');
  assert.is((await world.add(id, alice, bob, carol)).status, 204);
  assert.equal(await world.members(id), [alice.id, bob.id, carol.id]);
  await world.hearEachOther(alice, bob, carol);
  const dave = await world.caller('dave', 'c');
  assert.is((await world.add(id, dave)).status, 204);
  await world.hearEachOther(alice, bob, carol, dave);

  await app.waitFor('ChannelEnteredBridge', ({ channel }) => channel?.id === dave.id);
  assert.equal(world.heard(id), [
    `ChannelEnteredBridge ${alice.id} [${alice.id}]`,
    `ChannelEnteredBridge ${bob.id} [${alice.id},${bob.id}]`,
    `ChannelEnteredBridge ${carol.id} [${alice.id},${bob.id},${carol.id}]`,
    `ChannelEnteredBridge ${dave.id} [${alice.id},${bob.id},${carol.id},${dave.id}]`,
  ]);
  const listed = await app.ok<Bridge[]>('GET', '/bridges');
  assert.equal(
    listed.map((each) => [each.id, each.channels.length]),
    [['a~room', 4]],
  );
});

bridges.run();
