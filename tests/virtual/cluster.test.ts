import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { startVirtualNodes, type VirtualPhone } from '../support/virtual-nodes.ts';

/** Whole servers that are nodes of a cluster, on simulated time, network and NATS. */
const cluster = suite('whole servers as nodes');

type World = Awaited<ReturnType<typeof startVirtualNodes>>;

const settings = {
  sip: {
    endpoints: {
      alice: { match: ['10.0.1.1'] },
      line: { registrations: [{ server: 'sip:10.0.1.1', client: 'sip:anybody@10.0.1.1', retry: 1, expiration: 30 }] },
      bob: { match: ['10.0.1.2'], aor: { max_contacts: 1 } },
      carol: { match: ['10.0.1.3'], aor: { max_contacts: 1 } },
    },
  },
  dialplan: {
    default: {
      play: ['Answer', 'Playback(recording:greetings/hello)', 'Hangup'],
      contacts: ['Dial(${PJSIP_DIAL_CONTACTS(bob)})'],
      app: ['Stasis(app)'],
      wait: ['Answer', 'Wait(60)'],
    },
  },
};

const onNodes = (title: string, run: (world: World) => Promise<void>, names = ['a', 'b'], more = {}): void =>
  cluster(title, async () => {
    const world = await startVirtualNodes(names, { ...settings, ...more });
    try {
      await run(world);
    } finally {
      await world.close();
    }
  });

/** So many seconds of a tone. */
const tone = (seconds: number): Uint8Array =>
  Uint8Array.from({ length: 8_000 * seconds }, (_, at) => (at % 8 < 4 ? 0x20 : 0xa0));

/** Calls an extension that hangs up. @returns seconds of audio that came */
async function listen({ until }: World, phone: VirtualPhone, uri: string): Promise<number> {
  const call = phone.dial(uri);
  let packets = 0;
  const look = (): boolean => {
    void call.leg.media.statistics().then((figures) => (packets = Math.max(packets, figures?.rxcount ?? 0)));
    return call.reports.includes('leg.ended');
  };
  await until(look, 'the end of the call');
  return Math.round(packets / 50);
}

onNodes('a recording of another node is played from a copy, until it is deleted', async (world) => {
  const [a, b] = [world.node('a'), world.node('b')];
  const directory = join(b.directory, 'recordings/greetings');
  mkdirSync(directory, { recursive: true });
  const alice = await world.phone('alice');
  const hear = () => listen(world, alice, `sip:play@${a.address}:5060`);
  writeFileSync(join(directory, 'hello.ulaw'), tone(1));
  assert.is(await hear(), 1);
  assert.is(await hear(), 1, 'it has not changed');
  assert.equal((await a.ok<object[]>('GET', '/recordings/stored')).length, 1, 'a copy is no recording');
  writeFileSync(join(directory, 'hello.ulaw'), tone(2));
  assert.is(await hear(), 2, 'it was recorded again');
  await a.ok('DELETE', `/recordings/stored/${encodeURIComponent('greetings/hello')}`);
  assert.is(await hear(), 0, 'it was deleted');
  assert.match(a.lines.join(''), /no recording 'greetings\/hello' at any node/);
});

onNodes('a phone of another node gets calls by its contacts, redirected calls and messages', async (world) => {
  const { node, until, clock } = world;
  const [a, b] = [node('a'), node('b')];
  const targets: string[] = [];
  const heard = (_call: object, report: { type: string; target?: string }): void => {
    if (report.type === 'leg.forwarded') targets.push(report.target!);
  };
  const alice = await world.phone('alice', { person: { called() {}, heard } });
  const bob = await world.phone('bob');
  assert.is(await world.within(bob.register(`sip:bob@${b.address}:5060`)), 'accepted');
  await clock.run(100);

  const call = alice.dial(`sip:contacts@${a.address}:5060`);
  await until(() => call.reports.includes('leg.answered'), 'the answer');
  call.leg.hangup(16);
  await until(() => bob.calls[0]!.reports.includes('leg.ended'), 'the end of the call');

  const send = (to: string) => a.request('PUT', `/endpoints/PJSIP/${to}/sendMessage?from=100&body=hello`);
  assert.is((await send('bob')).status, 202);
  await until(() => bob.messages.length === 1, 'the message');
  assert.equal(bob.messages, ['hello']);
  assert.is((await send('carol')).status, 404, 'it is registered nowhere');

  a.connect();
  for (const endpoint of ['PJSIP/bob', 'PJSIP/carol', 'PJSIP/1234']) {
    alice.dial(`sip:app@${a.address}:5060`);
    await until(() => a.events.at(-1)?.type === 'StasisStart', 'the call');
    const { channel } = a.events.at(-1) as Extract<AriEvent, { type: 'StasisStart' }>;
    await a.ok('POST', `/channels/${channel.id}/redirect?endpoint=${endpoint}`);
    await until(() => a.events.some(({ type }) => type === 'StasisEnd'), 'the end');
    a.events.length = 0;
  }
  assert.equal(
    targets.map((target) => target.replace(/;line=.*/, '')),
    ['bob@10.0.1.2:5060', `carol@${a.address}`, `1234@${a.address}`].map((uri) => `PJSIP/anybody/sip:${uri}`),
  );
});

onNodes('a channel of another node is found by its name', async (world) => {
  const { node, until } = world;
  const [a, b] = [node('a'), node('b')];
  const alice = await world.phone('alice');
  const call = alice.dial(`sip:wait@${b.address}:5060`);
  await until(() => call.reports.includes('leg.answered'), 'the answer');
  const [channel] = await b.ok<Channel[]>('GET', '/channels');
  const path = `/channels/${encodeURIComponent(channel!.name)}`;
  assert.equal(await a.ok('GET', `${path}/variable?variable=CHANNEL(exten)`), { value: 'wait' });
  assert.is((await a.request('DELETE', '/channels/PJSIP%2Fnobody-1')).status, 404);
  await a.ok('DELETE', path);
  await until(() => call.reports.includes('leg.ended'), 'the end of the call');
});

onNodes('the node that takes a registration over takes back the contact of a killed one', async (world) => {
  const { node, until, clock } = world;
  const provider = await world.phone('provider');
  const holders = (): string[] => provider.contacts().map((uri) => /;line=(\w+)~/.exec(uri)?.[1] ?? uri);
  await clock.run(10_000);
  const [lost = ''] = holders();
  assert.equal(holders(), [lost], 'one node registers');
  const other = lost === 'a' ? 'b' : 'a';
  node(lost).kill();
  await until(() => holders().includes(other), 'another registration');
  await until(() => !holders().includes(lost), 'the end of the contact');
  // Its own stays, also when it is renewed.
  await clock.run(40_000);
  assert.equal(holders(), [other]);
});

onNodes('a token is good at all nodes until it is revoked at one of them', async (world) => {
  const [a, b] = [world.node('a'), world.node('b')];
  const make = async (name: string) =>
    (await a.ok<{ token: string }>('POST', '/hookswitch/tokens', { name, operations: ['channels:read'] })).token;
  const may = async (node: typeof a, token: string, method = 'GET'): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    const url = `http://${node.address}/ari/channels${method === 'GET' ? '' : '/c1'}`;
    return (await world.within(node.server.ask(new Request(url, { method, headers })))).status;
  };
  const token = await make('phone');
  assert.is(await may(a, token), 200);
  await world.clock.run(100);
  assert.equal([await may(b, token), await may(b, token, 'DELETE')], [200, 403], 'with its scope');
  assert.is((await b.request('POST', '/hookswitch/tokens', { name: 'phone' })).status, 409, 'its name is taken');
  await b.ok('DELETE', '/hookswitch/tokens/phone');
  await world.clock.run(100);
  assert.equal([await may(a, token), await may(b, token)], [401, 401]);
  const again = await make('phone');
  await world.clock.run(100);
  assert.equal([await may(b, again), await may(b, token)], [200, 401]);
});

/** Calls of node b in the application of node a, which loses its connection in some way. */
async function abandon(world: World, lose: (connected: { close(): void }) => Promise<void> | void) {
  const { node, until, clock } = world;
  const [a, b] = [node('a'), node('b')];
  const connected = a.connect();
  await clock.run(200);
  const alice = await world.phone('alice');
  const call = alice.dial(`sip:app@${b.address}:5060`);
  await until(() => a.events.some(({ type }) => type === 'StasisStart'), 'the call');
  const [{ id }] = (await b.ok<Channel[]>('GET', '/channels')) as [Channel];
  await a.ok('POST', `/channels/${id}/answer`);
  await until(() => call.reports.includes('leg.answered'), 'the answer');
  await lose(connected);
  return { id, call, isLive: () => !call.reports.includes('leg.ended') };
}

const nodes = ['a', 'b', 'c'];
const hangsUp = { away_policies: { app: { after: 20, action: 'hangup' } } };

onNodes(
  'calls of an application that stays away from all nodes get its away policy',
  async (world) => {
    const { isLive } = await abandon(world, (connected) => connected.close());
    await world.clock.run(19_000);
    assert.ok(isLive(), 'its time is not over');
    await world.until(() => !isLive(), 'the end of the call');
  },
  nodes,
  hangsUp,
);

onNodes(
  'calls of an application whose node was killed get its away policy',
  async (world) => {
    const { isLive } = await abandon(world, () => world.node('a').kill());
    await world.clock.run(19_000);
    assert.ok(isLive(), 'its time is not over');
    await world.until(() => !isLive(), 'the end of the call');
  },
  nodes,
  hangsUp,
);

onNodes(
  'an application that comes back at another node in time keeps its calls',
  async (world) => {
    const { id, isLive } = await abandon(world, (connected) => {
      connected.close();
      return world.clock.run(15_000);
    });
    const c = world.node('c');
    c.connect();
    await world.clock.run(60_000);
    assert.ok(isLive());
    await c.ok('POST', `/channels/${id}/variable?variable=KEPT&value=1`);
    await c.ok('DELETE', `/channels/${id}`);
    await world.until(() => !isLive(), 'the end of the call');
    await world.until(() => c.events.some(({ type }) => type === 'StasisEnd'), 'StasisEnd');
  },
  nodes,
  hangsUp,
);

onNodes(
  'calls of an application that stays away move to one that is connected at another node',
  async (world) => {
    const seen: AriEvent[] = [];
    const c = world.node('c');
    c.server.connect({ names: ['other'], describe: 'test', send: (json) => void seen.push(JSON.parse(json)) });
    const { id, isLive } = await abandon(world, (connected) => connected.close());
    await world.until(() => seen.some(({ type }) => type === 'StasisStart'), 'StasisStart of the other');
    await c.ok('POST', `/channels/${id}/variable?variable=KEPT&value=1`);
    assert.ok(isLive());
  },
  nodes,
  { away_policies: { app: { after: 20, action: 'move', move_to: 'other' } } },
);

cluster.run();
