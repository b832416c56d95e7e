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

const onNodes = (title: string, run: (world: World) => Promise<void>): void =>
  cluster(title, async () => {
    const world = await startVirtualNodes(['a', 'b'], settings);
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

cluster.run();
