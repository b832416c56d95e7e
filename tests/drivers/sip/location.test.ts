import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NameServer } from '../../../src/sip/location/names.ts';
import { freePort } from '../../support/free-port.ts';
import { anybody, createPhone, endpoint, type Phone, type PhoneOptions, trunkTo } from './support.ts';

const location = suite('where requests go');
const phones: Phone[] = [];

async function phone(options: PhoneOptions): Promise<Phone> {
  const made = await createPhone(options);
  phones.push(made);
  return made;
}

location.after.each(async () => {
  for (const each of phones.splice(0)) await each.close();
});

/** A domain with servers on these ports, in their order. */
const domainOf = (...ports: number[]): NameServer => ({
  naptr: async () => [],
  srv: async (name) =>
    name === '_sip._tcp.example.com' || name === '_sip._udp.example.com'
      ? ports.map((port, index) => ({ priority: index, weight: 0, port, name: `${index}.example.com` }))
      : [],
  addresses: async () => [{ address: '127.0.0.1', ttl: 60 }],
});

const trunk = { endpoints: [trunkTo('sip:example.com;transport=tcp')] };

location('a call goes to the next server when nobody listens at the first', async () => {
  const callee = await phone({ config: { endpoints: [anybody] }, protocol: 'tcp' });
  const names = domainOf(await freePort(), callee.port);
  const caller = await phone({ config: trunk, protocol: 'tcp', names });
  caller.open('600@trunk').leg.dial();
  await callee.rung();
});

location('a call over UDP goes to the next server as soon as ICMP says that nobody is at the first', async () => {
  const callee = await phone({ config: { endpoints: [anybody] } });
  const names = domainOf(await freePort(), callee.port);
  // Patience is longer than the test may take.
  const failover = { patienceMs: 600_000, avoidMs: 180_000, mostProbes: 16 };
  const caller = await phone({ config: { endpoints: [trunkTo('sip:example.com')], failover }, names });
  caller.open('600@trunk').leg.dial();
  await callee.rung();
});

location('a registrar with several servers says how long all of them are waited for', async () => {
  const subscriber = endpoint('49301', { auth: { username: '49301', password: 'secret' } });
  const provider = await phone({ config: { endpoints: [subscriber] } });
  const line = endpoint('trunk', {
    outboundAuth: { username: '49301', password: 'secret' },
    registrations: [
      {
        server: 'sip:example.com',
        expirationSeconds: 600,
        shortestRefreshMs: 5_000,
        retryMs: 1_000,
        longestRetryMs: 8_000,
        rejectedRetryMs: 0,
      },
    ],
  });
  const failover = { patienceMs: 20_000, avoidMs: 180_000, mostProbes: 16 };
  const names = domainOf(await freePort(), provider.port);
  const { driver } = await phone({ config: { endpoints: [line], failover }, names });
  const [wanted] = driver.wantedRegistrations();
  assert.is(wanted!.longestAnswerMs, 7 * 20_000 + 32_000);
  assert.equal(await driver.register(wanted!, 600_000), { type: 'accepted', expiresMs: 600_000, failoverMs: 40_000 });
});

location('a call goes to the next server when the first has no room; a refusal is final', async () => {
  const full = await phone({ config: { endpoints: [anybody] }, protocol: 'tcp' });
  full.driver.enter('drain');
  const callee = await phone({ config: { endpoints: [anybody] }, protocol: 'tcp', accepts: false });
  const spare = await phone({ config: { endpoints: [anybody] }, protocol: 'tcp' });
  const busy = await phone({ config: { endpoints: [] }, protocol: 'tcp' });
  const caller = await phone({ config: trunk, protocol: 'tcp', names: domainOf(full.port, callee.port, spare.port) });
  caller.open('600@trunk').leg.dial();
  await spare.rung();
  const other = await phone({ config: trunk, protocol: 'tcp', names: domainOf(busy.port, callee.port) });
  const refused = other.open('600@trunk');
  refused.leg.dial();
  await refused.heard('leg.hungUp');
  assert.is(callee.incoming.length, 1);
});

location('what its headers make too large for a datagram goes over TCP as well', async () => {
  const heard: string[] = [];
  const callee = await phone({
    config: { endpoints: [anybody] },
    alsoTcp: true,
    hears: (protocol) => heard.push(protocol),
  });
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] }, alsoTcp: true });
  for (const length of [100, 600])
    await caller.driver.sendMessage({
      from: 'sip:c@192.0.2.5',
      to: 'pjsip:trunk',
      body: 'x',
      variables: { 'X-One': 'a'.repeat(length), 'X-Other': '\u00e4'.repeat(length / 4) },
    });
  assert.equal(heard, ['udp', 'tcp']);
});

location('what is too large for a datagram goes over TCP, or by UDP to who does not speak that', async () => {
  const heard: string[] = [];
  const hears = (protocol: string) => heard.push(protocol);
  const both = await phone({ config: { endpoints: [anybody] }, alsoTcp: true, hears });
  const plain = await phone({ config: { endpoints: [anybody] }, hears });
  for (const callee of [both, plain])
    for (const length of [100, 1_400]) {
      const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] }, alsoTcp: true });
      await caller.driver.sendMessage({
        from: 'sip:c@192.0.2.5',
        to: 'pjsip:trunk',
        body: 'x'.repeat(length),
        variables: {},
      });
    }
  assert.equal(heard, ['udp', 'tcp', 'udp', 'udp']);
  assert.equal(
    [both, plain].map(({ messages }) => messages.map(({ body }) => body.length)),
    [
      [100, 1_400],
      [100, 1_400],
    ],
  );
});

for (const [about, resource, isLocal, expected] of [
  ['the other side of a NAT is told our address there', '600@trunk', false, '203.0.113.7'],
  ['who is found on our side of a NAT is told our own address', '600@trunk', true, '127.0.0.1'],
  ['so is who is called at an address of its own', 'trunk/sip:600@{callee}', true, '127.0.0.1'],
  ['and at an address on the other side ours there', 'trunk/sip:600@{callee}', false, '203.0.113.7'],
] as const)
  location(about, async () => {
    const callee = await phone({ config: { endpoints: [anybody] }, protocol: 'tcp' });
    const outside = (peer: string | undefined) => (isLocal && peer === '127.0.0.1' ? undefined : '203.0.113.7');
    const caller = await phone({ config: { ...trunk, outside }, protocol: 'tcp', names: domainOf(callee.port) });
    caller.open(resource.replace('{callee}', `127.0.0.1:${callee.port};transport=tcp`)).leg.dial();
    const inbound = await callee.rung();
    inbound.leg.answer();
    await inbound.heard('leg.answered');
    assert.equal(
      callee.media.sessions.get(inbound.id)?.flows.map(({ remote }) => remote.address),
      [expected],
    );
  });

for (const host of ['0.0.0.0', '::'])
  for (const resource of ['600@trunk', 'trunk/sip:600@{callee}'])
    location(`a call to ${resource} names an address that reaches us, not ${host}`, async () => {
      const callee = await phone({ config: { endpoints: [anybody] }, protocol: 'tcp' });
      const caller = await phone({ config: trunk, protocol: 'tcp', names: domainOf(callee.port) });
      caller.media.host = host;
      caller.open(resource.replace('{callee}', `127.0.0.1:${callee.port};transport=tcp`)).leg.dial();
      const inbound = await callee.rung();
      inbound.leg.answer();
      await inbound.heard('leg.answered');
      assert.equal(
        callee.media.sessions.get(inbound.id)?.flows.map(({ remote }) => remote.address),
        ['127.0.0.1'],
      );
    });

location.run();
