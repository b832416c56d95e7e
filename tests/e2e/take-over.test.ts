import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import type { ClusterNode } from '../../src/models/cluster-node.ts';
import type { AriClient } from '../support/ari-client.ts';
import { NodeProcess, type NodeSettings, TestCluster } from '../support/cluster-nodes.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { untilAsked } from '../support/waiting.ts';

/** Calls of a node that is killed, which go on elsewhere. */
const lost = suite('a lost node');
const nats = need('nats-server');

const replicated = { replicate: true, stand_ins: 0 };

/** Nodes, and what is started beside them. */
const onNodes = (
  title: string,
  names: readonly string[],
  settings: NodeSettings,
  run: (cluster: TestCluster, ends: (() => Promise<void>)[]) => Promise<void>,
): void =>
  nats.test(lost, title, async (command) => {
    const cluster = await TestCluster.start(command, names, settings);
    const ends: (() => Promise<void>)[] = [() => cluster.close()];
    try {
      await run(cluster, ends);
    } catch (error) {
      for (const { name, child } of Object.values(cluster.nodes)) process.stderr.write(`${name}: ${child.written}\n`);
      throw error;
    } finally {
      for (const end of ends.reverse()) await end();
    }
  });

/** A phone in a call at a node, with an application that is connected to another one. */
async function callIn(
  app: AriClient,
  node: NodeProcess,
  ends: (() => Promise<void>)[],
): Promise<{ phone: Phone; channel: Channel }> {
  await node.hasApplications(1);
  const phone = await Phone.open('alice', node.sip);
  ends.push(() => phone.close());
  phone.password = 'wonder';
  phone.follows = true;
  const before = new Set(app.events.flatMap((event) => (event.type === 'StasisStart' ? [event.channel.id] : [])));
  const answer = async (): Promise<Channel> => {
    const { channel } = await app.waitFor('StasisStart', (event) => !before.has(event.channel.id));
    assert.is((await app.request('POST', `/channels/${channel.id}/answer`)).status, 204);
    return channel;
  };
  const [channel] = await Promise.all([answer(), phone.call('1001')]);
  return { phone, channel };
}

onNodes('an operator has its calls go on at another address', ['a', 'b'], replicated, async (cluster, ends) => {
  const [a, b] = [cluster.node('a'), cluster.node('b')];
  const app = await a.app('shop');
  const { phone, channel } = await callIn(app, b, ends);
  const recorded = await app.request('POST', `/channels/${channel.id}/record?name=talk&format=wav`);
  assert.is(recorded.status, 201);
  await app.waitFor('RecordingStarted');
  await b.untilReplicated();
  const { callId, ownTag, theirTag } = phone.dialog();
  await b.child.end('SIGKILL');
  const stand = await NodeProcess.start('b', cluster.nats.url, replicated, { more: ['--take-over'] });
  ends.push(() => stand.close());
  await phone.until(() => phone.reinvites.length > 0, 'an INVITE from the new address');
  const [reinvite] = phone.reinvites;
  assert.is(reinvite!.one('Call-ID'), callId);
  assert.ok(Number.parseInt(reinvite!.one('CSeq'), 10) > 100);
  assert.match(reinvite!.one('Contact'), stand.sip);
  assert.ok(reinvite!.one('From').includes(theirTag) && reinvite!.one('To').includes(ownTag));
  await cluster.sees(a, { b: 'member' });
  await untilAsked(
    async () => (await a.client().request<Channel>('GET', `/channels/${channel.id}`)).body.state === 'Up',
    () => 'the call is not known',
  );
  assert.is((await app.request('POST', '/recordings/live/talk/stop')).status, 204);
  await app.waitFor('RecordingFinished', ({ recording }) => recording.name === 'talk');
  assert.is((await app.request('POST', `/channels/${channel.id}/play?media=tone:ring`)).status, 201);
  await phone.audio.until(() => phone.audio.packets.length > 0, 'audio from the new address');
  phone.hangup();
  await app.waitFor('StasisEnd', (event) => event.channel.id === channel.id);
});

onNodes(
  'a call whose phone has its connection to another node goes on over that',
  ['a', 'b'],
  replicated,
  async (cluster, ends) => {
    const [a, b] = [cluster.node('a'), cluster.node('b')];
    const app = await a.app('shop');
    await b.hasApplications(1);
    const phone = await Phone.open('alice', a.sip);
    ends.push(() => phone.close());
    phone.password = 'wonder';
    assert.is(await phone.register(), 200);
    const up = app.waitFor('StasisStart', ({ channel }) => channel.id === 'b~mine');
    await app.ok('POST', '/channels?endpoint=PJSIP/alice&app=shop&channelId=b~mine');
    await up;
    await b.untilReplicated();
    await b.child.end('SIGKILL');
    const stand = await NodeProcess.start('b', cluster.nats.url, replicated, { more: ['--take-over'] });
    ends.push(() => stand.close());
    await phone.until(() => phone.reinvites.length > 0, 'an INVITE of the new process');
    assert.match(phone.reinvites[0]!.one('Contact'), `<sip:b~@${a.sip}>`);
    const ended = app.waitFor('StasisEnd', ({ channel }) => channel.id === 'b~mine');
    phone.hangup();
    await ended;
  },
);

/** How many nodes go on with the calls of others. */
const standInsOf = async (nodes: readonly NodeProcess[]): Promise<number> => {
  const texts = await Promise.all(nodes.map(async (node) => (await node.ask('GET', '/metrics')).text()));
  return texts.reduce((sum, text) => sum + Number(/^hookswitch_cluster_stand_ins (\d+)$/m.exec(text)?.[1]), 0);
};

/** A node that is slow on a busy machine is not taken over. */
const automatic = { replicate: true, take_over_after: 0.6, take_over_silent_after: 0 };

onNodes(
  'one of the others goes on with its calls, until the last has ended',
  ['a', 'b', 'c'],
  automatic,
  async (cluster, ends) => {
    const [a, b, c] = [cluster.node('a'), cluster.node('b'), cluster.node('c')];
    const app = await c.app('shop');
    const one = await callIn(app, b, ends);
    const other = await callIn(app, b, ends);
    await b.untilReplicated();
    const callIds = [one, other].map(({ phone }) => phone.dialog().callId);
    await b.child.end('SIGKILL');
    for (const { phone } of [one, other])
      await phone.until(() => phone.reinvites.length > 0, 'an INVITE from the new address');
    // The INVITEs leave while it starts.
    await untilAsked(
      async () => (await standInsOf([a, c])) === 1,
      () => 'nobody goes on with its calls',
    );
    for (const node of [a, c]) await cluster.sees(node, { b: 'member' });
    for (const { channel } of [one, other]) {
      assert.is((await a.client().request<Channel>('GET', `/channels/${channel.id}`)).body.state, 'Up');
      assert.is((await app.request('POST', `/channels/${channel.id}/variable?variable=X&value=1`)).status, 204);
    }
    assert.is((await app.request('POST', `/channels/${one.channel.id}/play?media=tone:ring`)).status, 201);
    await one.phone.audio.until(() => one.phone.audio.packets.length > 0, 'audio from the new address');
    assert.is((await app.request('DELETE', `/channels/${one.channel.id}`)).status, 204);
    await one.phone.over();
    await app.waitFor('StasisEnd', (event) => event.channel.id === one.channel.id);
    other.phone.hangup();
    await app.waitFor('StasisEnd', (event) => event.channel.id === other.channel.id);
    assert.equal(
      [one, other].map(({ phone }) => phone.reinvites.map((each) => each.one('Call-ID'))),
      callIds.map((callId) => [callId]),
    );
    await untilAsked(
      async () => (await standInsOf([a, c])) === 0 && !('b' in (await a.states())),
      () => 'the node is still there',
    );
    // It finds its calls in its file, hears that others have gone on with them, and begins without.
    await b.begin();
    await b.child.ended();
    await b.begin();
    await cluster.whole();
    assert.equal(await b.client().ok('GET', '/channels'), []);
  },
);

/** What a node answers that is to have others go on with its calls. */
const moved = async (node: NodeProcess): Promise<[number, string | undefined]> => {
  const answer = await node.ask('POST', '/hookswitch/server/move');
  const { message } = (answer.status === 204 ? {} : await answer.json()) as { message?: string };
  return [answer.status, message];
};

onNodes(
  'a node that is about to end has its calls go on elsewhere, and their audio until then',
  ['a', 'b'],
  // Longer than the test: nobody waits until it is lost.
  { ...automatic, take_over_after: 300, suspect_after: 300, away_after: 600 },
  async (cluster, ends) => {
    const [a, b] = [cluster.node('a'), cluster.node('b')];
    const app = await a.app('shop');
    const calls = [await callIn(app, b, ends), await callIn(app, b, ends)] as const;
    const [one, other] = calls;
    assert.is((await app.request('POST', `/channels/${one.channel.id}/record?name=talk&format=wav`)).status, 201);
    await app.waitFor('RecordingStarted');
    const bridge = await app.ok<{ id: string }>('POST', '/bridges?type=mixing');
    for (const { channel } of calls) await app.ok('POST', `/bridges/${bridge.id}/addChannel?channel=${channel.id}`);
    one.phone.audio.hum(400);
    await other.phone.audio.hears([400], [400, 700]);
    const lines = new Set<string>();
    const told = app.events.length;
    assert.equal(await moved(b), [204, undefined]);
    for (const { phone } of calls)
      await phone.until(() => phone.reinvites.length > 0, 'an INVITE from the new address');
    await cluster.sees(a, { b: 'member' });
    await other.phone.audio.hears([400], [400, 700]);
    for (const { channel } of calls)
      assert.is((await a.client().ok<Channel>('GET', `/channels/${channel.id}`)).state, 'Up');
    assert.is((await app.request('POST', '/recordings/live/talk/stop')).status, 204);
    await app.waitFor('RecordingFinished', ({ recording }) => recording.name === 'talk');
    // They have not left, and nothing was told twice.
    for (const { type } of app.events.slice(told)) lines.add(type);
    assert.equal([...lines].sort(), ['RecordingFinished']);
    assert.is(await b.child.ended(), 0);
    for (const { phone } of calls) phone.hangup();
    for (const { channel } of calls) await app.waitFor('StasisEnd', (event) => event.channel.id === channel.id);
  },
);

onNodes('calls are not moved where nobody can go on with them', ['a', 'b'], automatic, async (cluster) => {
  const [a, b] = [cluster.node('a'), cluster.node('b')];
  const refused = (reason: string) => [409, `The calls cannot be moved to another node: ${reason}`];
  assert.is((await a.ask('POST', '/hookswitch/server/drain')).status, 200);
  await untilAsked(
    async () =>
      ((await (await b.ask('GET', '/hookswitch/nodes')).json()) as ClusterNode[])[0]?.figures?.draining === true,
    () => 'it does not drain',
  );
  assert.equal(await moved(b), refused('no other node takes calls'));
  await cluster.nats.child.end('SIGKILL');
  await cluster.sees(b, { b: 'away' });
  assert.equal(await moved(b), refused('NATS cannot be reached'));
  assert.is((await b.ask('GET', '/health/live')).status, 200);
});

const browserPort = await freePort();

onNodes(
  'a node whose port of all browsers is in use goes on with the calls of another',
  ['a', 'b'],
  { ...automatic, media: { webrtc: { udp_port: browserPort } } },
  async (cluster, ends) => {
    const [a, b] = [cluster.node('a'), cluster.node('b')];
    const app = await a.app('shop');
    const { phone, channel } = await callIn(app, b, ends);
    // As a browser that calls it does.
    const taken = createSocket('udp4').bind(browserPort, '127.0.0.1');
    ends.push(async () => void taken.close());
    await once(taken, 'listening');
    await b.untilReplicated();
    await b.child.end('SIGKILL');
    await phone.until(() => phone.reinvites.length > 0, 'an INVITE from the new address');
    phone.hangup();
    await app.waitFor('StasisEnd', (event) => event.channel.id === channel.id);
  },
);

onNodes(
  'a node that stood still ends without a word when another has its calls',
  ['a', 'b'],
  { ...automatic, isolated_after: 1, take_over_silent_after: 3 },
  async (cluster, ends) => {
    const [a, b] = [cluster.node('a'), cluster.node('b')];
    const app = await a.app('shop');
    const { phone, channel } = await callIn(app, b, ends);
    await b.untilReplicated();
    b.child.signal('SIGSTOP');
    await phone.until(() => phone.reinvites.length > 0, 'an INVITE from the new address');
    await cluster.sees(a, { b: 'member' });
    b.child.signal('SIGCONT');
    await b.child.ended();
    assert.match(b.child.written, /another node goes on with the calls of this one/);
    await b.begin();
    await cluster.sees(b, { b: 'excluded' });
    assert.is((await a.client().request<Channel>('GET', `/channels/${channel.id}`)).body.state, 'Up');
    assert.ok(phone.inCall);
    phone.hangup();
    await app.waitFor('StasisEnd', (event) => event.channel.id === channel.id);
    await cluster.whole();
  },
);

onNodes(
  'a node that NATS is away from takes no new calls until NATS is back, and keeps its own',
  ['a', 'b'],
  { ...replicated, isolated_after: 0.5 },
  async (cluster, ends) => {
    const a = cluster.node('a');
    const app = await a.app('shop');
    const { phone, channel } = await callIn(app, a, ends);
    const begin = () => app.request<{ message: string }>('POST', '/channels?endpoint=Local/1000@default&app=shop');
    await cluster.nats.child.end('SIGKILL');
    let refused: Awaited<ReturnType<typeof begin>> | undefined;
    await untilAsked(
      async () => {
        refused = await begin();
        return refused.status === 503;
      },
      () => `a call was begun: ${JSON.stringify(refused?.body)}`,
    );
    assert.match(refused!.body.message, /cannot reach its cluster/);
    const other = await Phone.open('bob', a.sip);
    ends.push(() => other.close());
    assert.is((await other.outside('OPTIONS', '1000', [])).status, 503);
    assert.is((await a.ask('GET', '/health/ready')).status, 503);
    assert.is((await app.request('POST', `/channels/${channel.id}/variable?variable=X&value=1`)).status, 204);
    phone.hangup();
    await app.waitFor('StasisEnd', (event) => event.channel.id === channel.id);
    await cluster.nats.begin();
    await untilAsked(
      async () => (await begin()).status === 200,
      () => 'no call is begun when NATS is back',
    );
  },
);

lost.run();
