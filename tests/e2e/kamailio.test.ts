import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anybody, createPhone, type Phone, trunkTo } from '../drivers/sip/support.ts';
import type { AriClient } from '../support/ari-client.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { DnsServer } from '../support/dns-server.ts';
import { freePort } from '../support/free-port.ts';
import { Kamailio, type KamailioOptions, password } from '../support/kamailio.ts';
import { need } from '../support/need.ts';
import { registerPhone } from '../support/register.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../support/server.ts';
import { confirm, receive, respond, SippRun } from '../support/sipp.ts';

/** Debian's Kamailio, which nobody wrote for these tests, as the provider of a line and as a proxy in front. */

const suiteOf = suite('Kamailio');
const kamailio = need('kamailio');

type EndpointModel = { registrations?: { status: string; reason?: string }[] };
type World = {
  /** Starts Kamailio; it ends with the test. */
  proxy(options: KamailioOptions): Promise<Kamailio>;
  server(options: TestServerOptions): Promise<TestServer>;
  /** A phone with real sockets that answers as it is told, and proves its password when it calls by way of `over`. */
  phone(user: string, over: Pick<Kamailio, 'port'>): Promise<Phone>;
};

/** A test with what it starts, which ends with it; a server must not have logged an error, nor hold a call. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  kamailio.test(suiteOf, title, async (program) => {
    const opened: { close(): unknown; explain?(): string }[] = [];
    const keep = <T extends { close(): unknown; explain?(): string }>(thing: T): T => {
      opened.unshift(thing);
      return thing;
    };
    const servers: TestServer[] = [];
    const phones: Phone[] = [];
    try {
      await body({
        proxy: async (options) => keep(await Kamailio.start(program, options)),
        async server(options) {
          const server = keep(await startTestServer(options));
          servers.push(server);
          return server;
        },
        async phone(user, { port }) {
          const outboundAuth = { username: user, password };
          const trunk = trunkTo(`sip:127.0.0.1:${port}`, { outboundAuth, fromUser: user });
          const phone = keep(await createPhone({ config: { endpoints: [{ ...anybody, context: user }, trunk] } }));
          phones.push(phone);
          return phone;
        },
      });
      await Promise.all(phones.map((phone) => phone.finish()));
      for (const server of servers) await server.settle();
    } catch (error) {
      process.stderr.write(`${opened.map((each) => each.explain?.() ?? '').join('\n')}\n`);
      throw error;
    } finally {
      for (const each of opened) await each.close();
    }
  });

/** Registers at Kamailio, or by way of it, as a phone does. */
const register = async (phone: Phone, at: Kamailio, user: string): Promise<void> =>
  assert.is(await registerPhone(phone, at, { user, password }), 200);

const statusesOf = async (app: AriClient): Promise<string[]> => {
  const { registrations = [] } = await app.ok<EndpointModel>('GET', '/endpoints/PJSIP/trunk');
  return registrations.map(({ status }) => status);
};
async function registered(app: AriClient): Promise<void> {
  if ((await statusesOf(app)).includes('Registered')) return;
  const has = (model: EndpointModel) => model.registrations?.some(({ status }) => status === 'Registered') ?? false;
  await app.waitFor('EndpointStateChange', ({ endpoint }) => has(endpoint as EndpointModel));
}

/** A line at a provider in the name of 49301. */
const lineAt = (server: string, rest: object = {}) => ({
  trunk: { outbound_auth: { username: '49301', password }, registrations: [{ server }], context: 'line', ...rest },
});
const dialplan = { line: { '49301': ['Stasis(desk)'] }, default: { s: ['Hangup'], '1000': ['Stasis(desk)'] } };

const ended = (app: AriClient, id: string) => app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);

test('a line registers with its password, is called, and calls, all by way of the provider', async (world) => {
  const provider = await world.proxy({ role: 'provider' });
  const server = await world.server({ endpoints: lineAt(`sip:${provider.address}`), dialplan });
  const app = await server.app('desk', { subscribeAll: true });
  await registered(app);
  const phone = await world.phone('201', provider);
  await register(phone, provider, '201');

  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/201@trunk&app=desk');
  const called = await phone.rung();
  assert.is(called.call!.caller.number, '49301');
  assert.match(called.leg.header('Record-Route') ?? '', `sip:${provider.address}`, 'the provider stays in the way');
  called.leg.ring();
  await app.waitFor('ChannelStateChange', ({ channel }) => channel.id === id && channel.state === 'Ringing');
  called.leg.answer();
  await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  await app.ok('POST', `/channels/${id}/hold`);
  await called.heard('leg.held');
  await app.ok('DELETE', `/channels/${id}`);
  await called.heard('leg.hungUp');
  called.leg.hangup(16);
  await ended(app, id);

  const out = phone.open('49301@trunk');
  out.leg.dial();
  const { channel } = await app.waitFor('StasisStart', (event) => event.channel.caller.number === '201');
  assert.match(channel.name, /^PJSIP\/trunk-/);
  assert.is(channel.dialplan.exten, '49301');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await out.heard('leg.answered');
  out.leg.hangup(16);
  await ended(app, channel.id);
  await provider.until(/got BYE for [^\n]*\n.*got BYE for/s);
});

test('a call to a number with two phones rings both; who answers has it, the other is called off', async (world) => {
  const provider = await world.proxy({ role: 'provider' });
  const server = await world.server({ endpoints: lineAt(`sip:${provider.address}`), dialplan });
  const app = await server.app('desk', { subscribeAll: true });
  const [slow, quick] = [await world.phone('201', provider), await world.phone('201', provider)];
  for (const phone of [slow, quick]) await register(phone, provider, '201');
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/201@trunk&app=desk');
  const [first, second] = [await slow.rung(), await quick.rung()];
  first.leg.ring();
  second.leg.ring();
  await app.waitFor('ChannelStateChange', ({ channel }) => channel.id === id && channel.state === 'Ringing');
  second.leg.answer();
  await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  await first.heard('leg.hungUp');
  assert.equal(first.told, ['leg.hungUp 26'], 'answered elsewhere');
  first.leg.hangup(16);
  second.leg.hangup(16);
  await ended(app, id);
});

test('a number that nobody has is told as the provider says it; a wrong password is not tried again', async (world) => {
  const provider = await world.proxy({ role: 'provider' });
  const wrong = { outbound_auth: { username: '49301', password: 'guess' } };
  const endpoints = {
    ...lineAt(`sip:${provider.address}`, wrong),
    right: {
      ...lineAt(`sip:${provider.address}`).trunk,
      registrations: [],
      aor: { contacts: [`sip:${provider.address}`] },
    },
  };
  const server = await world.server({ endpoints, dialplan });
  const app = await server.app('desk', { subscribeAll: true });
  while (!(await statusesOf(app)).includes('Rejected')) await app.waitFor('EndpointStateChange');
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/999@right&app=desk');
  const { cause, tech_cause } = (await ended(app, id)) as unknown as { cause: number; tech_cause?: number };
  assert.equal([cause, tech_cause], [1, 404]);
});

test('phones behind a proxy register, are called and call through it (Path, Record-Route)', async (world) => {
  const endpoints = { alice: { auth: { username: 'alice', password }, aor: { qualify_frequency: 0 } } };
  const server = await world.server({ endpoints, dialplan });
  const proxy = await world.proxy({ role: 'proxy', behind: server.sip() });
  const app = await server.app('desk', { subscribeAll: true });
  const phone = await world.phone('alice', proxy);
  await register(phone, proxy, 'alice');
  await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'alice');

  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
  const called = await phone.rung();
  assert.match(called.leg.header('Record-Route') ?? '', `sip:${proxy.address}`);
  assert.is(called.leg.header('Via', 1)?.includes(proxy.address), true, 'it comes from the proxy');
  called.leg.answer();
  await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  await app.ok('DELETE', `/channels/${id}`);
  await called.heard('leg.hungUp');
  called.leg.hangup(16);
  await ended(app, id);

  const out = phone.open('1000@trunk');
  out.leg.dial();
  const { channel } = await app.waitFor('StasisStart', (event) => event.channel.id !== id);
  assert.match(channel.name, /^PJSIP\/alice-/, 'it proved its password by way of the proxy');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await out.heard('leg.answered');
  await app.ok('DELETE', `/channels/${channel.id}`);
  await out.heard('leg.hungUp');
  out.leg.hangup(16);
  await proxy.until(/got BYE for [^\n]*\n.*got BYE for/s);
});

test('a phone behind a proxy puts its caller through to another one there (REFER along the route set)', async (world) => {
  const users = ['alice', 'bob', 'carol'];
  const server = await world.server({
    endpoints: Object.fromEntries(users.map((user) => [user, { auth: { username: user, password } }])),
    dialplan: { default: { '1000': ['Dial(PJSIP/bob)'], '2000': ['Dial(PJSIP/carol)'] } },
  });
  const proxy = await world.proxy({ role: 'proxy', behind: server.sip() });
  const app = await server.app('desk', { subscribeAll: true });
  const phones = await Promise.all(users.map((user) => world.phone(user, proxy)));
  const [alice, bob, carol] = phones as [Phone, Phone, Phone];
  for (const [index, phone] of phones.entries()) await register(phone, proxy, users[index]!);

  const out = alice.open('1000@trunk');
  out.leg.dial();
  const atBob = await bob.rung();
  atBob.leg.answer();
  await out.heard('leg.answered');
  await app.waitFor('ChannelEnteredBridge', ({ channel }) => channel?.name.startsWith('PJSIP/bob') ?? false);
  assert.ok(atBob.leg.redirect(`PJSIP/sip:2000@${server.sip()}`));
  const atCarol = await carol.rung();
  atCarol.leg.answer();
  const { result, channel, exten } = await app.waitFor('BridgeBlindTransfer');
  assert.equal([result, exten], ['Success', '2000']);
  assert.match(channel.name, /^PJSIP\/bob-/);
  await ended(app, channel.id);
  await proxy.until(/got REFER for/);
  out.leg.hangup(16);
  await atCarol.heard('leg.hungUp');
  atCarol.leg.hangup(16);
});

test('of two proxies of a domain the second serves while the first is dead, and when it dies', async (world) => {
  const dead = await freePort();
  const [first, second] = [await world.proxy({ role: 'provider' }), await world.proxy({ role: 'provider' })];
  const name = 'node.provider.test';
  const at = (port: number, priority: number) => ({ type: 'SRV', priority, weight: 0, port, name }) as const;
  const dns = new DnsServer({
    '_sip._tcp.provider.test': [at(dead, 1), at(first.port, 2), at(second.port, 3)],
    [name]: [{ type: 'A', address: '127.0.0.1' }],
  });
  try {
    const sip = { dns: { servers: [await dns.start()] } };
    const endpoints = lineAt('sip:provider.test;transport=tcp', {
      registrations: [{ server: 'sip:provider.test;transport=tcp', retry: 1 }],
    });
    const server = await world.server({ endpoints, dialplan, sip });
    const app = await server.app('desk', { subscribeAll: true });
    await registered(app);
    await first.until(/got REGISTER/);
    const phone = await world.phone('201', second);
    for (const proxy of [first, second]) await register(phone, proxy, '201');
    const call = async (index: number): Promise<void> => {
      const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/201@trunk&app=desk');
      const called = await phone.rung(index);
      called.leg.answer();
      await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
      called.leg.hangup(16);
      await ended(app, id);
    };
    await call(0);
    await first.until(/got INVITE/);

    await first.close();
    // The connection is gone: it registers anew, where somebody is.
    await second.until(/got REGISTER for sip:provider\.test/);
    await call(1);
    await second.until(/got INVITE/);
    const out = phone.open('49301@trunk');
    out.leg.dial();
    const { channel } = await app.waitFor('StasisStart', (event) => event.channel.caller.number === '201');
    await app.ok('DELETE', `/channels/${channel.id}`);
    await out.heard('leg.hungUp');
    out.leg.hangup(16);
    await ended(app, channel.id);
  } finally {
    dns.close();
  }
});

need('sipp').test(suiteOf, 'over TLS to Kamailio, and from there to a phone that has none', async (sipp) => {
  const authority = new Authority();
  const files = new CertificateFiles();
  try {
    await overTls(sipp, authority, files);
  } finally {
    files.close();
  }
});

async function overTls(sipp: string, authority: Authority, files: CertificateFiles): Promise<void> {
  const port = await freePort();
  const steps = [
    receive('INVITE'),
    respond(180, 'Ringing'),
    respond(200, 'OK', { mediaPort: await freePort(), again: true }),
    receive('ACK'),
    receive('BYE'),
    confirm(),
  ];
  const provider = await Kamailio.start(kamailio.path!, {
    role: 'provider',
    fixed: `sip:300@127.0.0.1:${port}`,
    tls: files.pair('kamailio', authority.sign('127.0.0.1')),
  });
  const own = files.pair('own', authority.sign('127.0.0.1'));
  const trusting = { certificates: [own], authorities: [files.authority(authority)] };
  const there = `sip:127.0.0.1:${provider.tlsPort};transport=tls`;
  const server = await startTestServer({ endpoints: lineAt(there), dialplan, tls: trusting });
  try {
    const app = await server.app('desk', { subscribeAll: true });
    await registered(app);
    const phone = server.closing(new SippRun(sipp, { remote: provider.address, steps, port }));
    const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/300@trunk&app=desk');
    await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
    await app.ok('DELETE', `/channels/${id}`);
    await phone.done;
    await ended(app, id);
    assert.match(phone.received('INVITE'), /Via: SIP\/2.0\/TLS 127\.0\.0\.1/);
    await server.settle();
  } catch (error) {
    process.stderr.write(`${server.explain()}\n${provider.explain()}\n`);
    throw error;
  } finally {
    await server.close();
    await provider.close();
  }
}

suiteOf.run();
