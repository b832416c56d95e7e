import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Allowance } from '../../../src/drivers/sip/allowance.ts';
import { defaultAor } from '../../../src/drivers/sip/config.ts';
import type { LogIns } from '../../../src/drivers/sip/endpoints.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createIds } from '../../../src/lib/ids.ts';
import { createDigestClient, type DigestClient } from '../../../src/sip/auth/client.ts';
import type { HeaderLines } from '../../../src/sip/message/build.ts';
import { buildRequest } from '../../../src/sip/message/build.ts';
import type { SipResponse } from '../../../src/sip/message/message.ts';
import { createPhone, endpoint, type Phone } from './support.ts';

const ids = createIds(systemClock);
const phones: Phone[] = [];
const alice = endpoint('alice', {
  auth: { username: 'alice', password: 'wonderland' },
  aor: { ...defaultAor, maxContacts: 2, qualifyFrequencyMs: 60_000 },
});
const bob = endpoint('bob', { auth: { username: 'bob', password: 'builder' } });

async function world(config = {}, logIns?: LogIns) {
  const endpoints = [alice, bob];
  const server = await createPhone({ config: { endpoints, ...config }, ...(logIns && { logIns }) });
  const client = await createPhone();
  phones.push(server, client);
  const target = { protocol: 'udp', address: '127.0.0.1', port: server.port } as const;
  let cseq = 0;
  /** One request; its final response. */
  const once = (digest: DigestClient, headers: HeaderLines, user = 'alice', number = ++cseq, callId = 'reg-1') =>
    new Promise<SipResponse>((resolve, reject) => {
      const uri = `sip:127.0.0.1:${server.port}`;
      const aor = `<sip:${user}@127.0.0.1>`;
      const request = buildRequest({
        method: 'REGISTER',
        uri,
        from: `${aor};tag=1`,
        to: aor,
        callId,
        cseq: number,
        headers,
      });
      for (const { name, value } of digest.authorize('REGISTER', uri)) request.append(name, value);
      client.transactions.request(request, target, { onFinal: resolve, onTimeout: reject, onTransportError: reject });
    });
  /** Registers with a password: the final response after the challenge. */
  const register = async (
    headers: HeaderLines,
    options: { user?: string; username?: string; password?: string; number?: number } = {},
  ) => {
    const { user = 'alice', username = user, password = 'wonderland', number } = options;
    const digest = createDigestClient([{ username, password }], ids);
    const challenge = await once(digest, headers, user);
    assert.is(challenge.status, 401);
    const value = challenge.headerLines('WWW-Authenticate');
    digest.challenged(value.map((each) => ({ from: 'WWW-Authenticate', value: each })));
    return once(digest, headers, user, number);
  };
  return { server, client, once, register };
}

const registrar = suite('registrar');

registrar.after.each(async () => {
  for (const phone of phones.splice(0)) await phone.close();
});

registrar('a phone registers from where it may, over what it may use, and in its own name', async () => {
  const bounded = (allowance: Allowance) => ({ endpoints: [{ ...alice, allowance }, bob] });
  const outcomes = async (allowance: Allowance) => {
    const { register, server, client } = await world(bounded(allowance));
    const { status } = await register([['Contact', `<sip:alice@127.0.0.1:${client.port}>`]]);
    return [status, server.contacts.size];
  };
  assert.equal(
    [
      await outcomes({ sources: ['127.0.0.0/8', '::1'], registrationSources: ['127.0.0.1'], protocols: ['udp'] }),
      await outcomes({ registrationSources: ['10.0.0.0/8'] }),
      await outcomes({ sources: ['2001:db8::/32'] }),
      await outcomes({ protocols: ['tls', 'wss'] }),
    ],
    [
      [200, 1],
      [403, 0],
      [403, 0],
      [403, 0],
    ],
  );
  const { register, server, client } = await world();
  const contact: HeaderLines = [['Contact', `<sip:alice@127.0.0.1:${client.port}>`]];
  assert.is((await register(contact, { user: 'alice', username: 'bob', password: 'builder' })).status, 403);
  assert.is(server.contacts.size, 0);
});

registrar('wrong passwords are counted with source and user, right ones and first tries are not', async () => {
  const failed: string[] = [];
  const logIns: LogIns = {
    failed(source, user) {
      failed.push(`${source} ${user}`);
      return { action: 'admit' };
    },
  };
  const { register, client } = await world({}, logIns);
  const contact: HeaderLines = [['Contact', `<sip:alice@127.0.0.1:${client.port}>`]];
  assert.is((await register(contact, { password: 'guess' })).status, 401);
  assert.is((await register(contact, { username: 'nobody' })).status, 401);
  assert.is((await register(contact)).status, 200);
  assert.equal(failed, ['127.0.0.1 alice', '127.0.0.1 nobody']);
});

registrar('a guess is answered as late as the count says, a right password at once', async () => {
  const verdicts = [
    { action: 'delay', ms: 20 },
    { action: 'delay', ms: 3_600_000 },
  ] as const;
  let next = 0;
  const { server, register, client } = await world({}, { failed: () => verdicts[next++]! });
  const contact: HeaderLines = [['Contact', `<sip:alice@127.0.0.1:${client.port}>`]];
  assert.is((await register(contact, { password: 'guess' })).status, 401);
  const late = register(contact, { password: 'guess', number: 100 }).then(
    () => 'answered',
    () => 'given up',
  );
  assert.is((await register(contact, { number: 101 })).status, 200);
  await server.close();
  await client.close();
  assert.is(await Promise.race([late, Promise.resolve('waiting')]), 'waiting');
});

registrar('a registered phone is known where it registered from, until it is gone', async () => {
  const { server, register, client } = await world();
  const phone = { protocol: 'udp', address: '127.0.0.1', port: client.port } as const;
  const contact = `<sip:alice@127.0.0.1:${client.port}>`;
  assert.is(server.peers.isKnown(phone), false);
  await register([['Contact', contact]]);
  assert.is(server.peers.isKnown(phone), true);
  await register([['Contact', contact]], { number: 50 });
  await register([['Contact', `${contact};expires=0`]], { number: 60 });
  assert.equal([server.peers.isKnown(phone), server.peers.size], [false, 0]);
});

registrar('a phone registers with its password and is told to call control', async () => {
  const { server, register, client } = await world();
  const response = await register([
    ['Contact', `<sip:alice@127.0.0.1:${client.port}>`],
    ['Expires', '600'],
  ]);
  assert.is(response.status, 200);
  assert.equal(response.headerLines('Contact'), [`<sip:alice@127.0.0.1:${client.port}>;expires=600`]);
  const [contact] = [...server.contacts.values()];
  assert.equal(
    { ...contact, id: '' },
    {
      id: '',
      uri: `sip:alice@127.0.0.1:${client.port}`,
      aor: 'alice',
      technology: 'PJSIP',
      endpoint: 'alice',
      qualifyFrequencyMs: 60_000,
      qualifyTimeoutMs: 3000,
      expiresMs: 600_000,
    },
  );
  assert.match(contact!.id, /^alice;@[0-9a-f]{32}$/);
});

for (const algorithm of ['MD5', 'SHA-256'] as const)
  registrar(`registering works when only ${algorithm} is offered`, async () => {
    const { register } = await world({ algorithms: [algorithm] });
    assert.is((await register([['Contact', '<sip:alice@127.0.0.1>']])).status, 200);
  });

registrar('a wrong password, another user and an unknown one learn nothing', async () => {
  const { server, register } = await world();
  const contact = [['Contact', '<sip:x@127.0.0.1>']] as const;
  assert.is((await register(contact, { password: 'guess' })).status, 401);
  assert.is((await register(contact, { user: 'mallory' })).status, 401);
  assert.is((await register(contact, { username: 'bob', password: 'builder' })).status, 403);
  assert.is((await register(contact, { user: 'mallory', username: 'bob', password: 'builder' })).status, 403);
  assert.is(server.contacts.size, 0);
});

registrar('renewing keeps the contact, expires=0 removes it, a query only lists', async () => {
  const { server, register } = await world();
  const contact = '<sip:alice@127.0.0.1:5070>';
  await register([['Contact', `${contact};expires=100`]]);
  await register([['Contact', `${contact};expires=200`]]);
  assert.is(server.contacts.size, 1);
  assert.equal((await register([])).headerLines('Contact'), [`${contact};expires=200`]);
  const gone = await register([['Contact', `${contact};expires=0`]]);
  assert.equal([gone.status, gone.headerLines('Contact')], [200, []]);
  assert.equal(server.contactEvents, ['registered alice', 'registered alice', 'removed alice']);
});

registrar('the star removes all, but only alone and with Expires 0', async () => {
  const { server, register } = await world();
  await register([['Contact', '<sip:a@127.0.0.1:5070>, <sip:b@127.0.0.1:5071>']]);
  assert.is(server.contacts.size, 2);
  assert.is((await register([['Contact', '*']])).status, 400);
  assert.is(
    (
      await register([
        ['Contact', '*'],
        ['Contact', '<sip:a@127.0.0.1>'],
        ['Expires', '0'],
      ])
    ).status,
    400,
  );
  assert.is(server.contacts.size, 2);
  assert.is(
    (
      await register([
        ['Contact', '*'],
        ['Expires', '0'],
      ])
    ).status,
    200,
  );
  assert.is(server.contacts.size, 0);
});

registrar('too short is 423, too long is cut, nothing asked is the default', async () => {
  const { register } = await world();
  const short = await register([
    ['Contact', '<sip:a@127.0.0.1:5070>'],
    ['Expires', '10'],
  ]);
  assert.equal([short.status, short.header('Min-Expires')], [423, '60']);
  const long = await register([['Contact', '<sip:a@127.0.0.1:5070>;expires=999999']]);
  assert.equal(long.headerLines('Contact'), ['<sip:a@127.0.0.1:5070>;expires=7200']);
  const usual = await register([['Contact', '<sip:a@127.0.0.1:5070>']]);
  assert.equal(usual.headerLines('Contact'), ['<sip:a@127.0.0.1:5070>;expires=3600']);
});

registrar('a contact too many displaces the one heard of least lately', async () => {
  const { server, register } = await world();
  for (const port of [5071, 5072, 5073]) await register([['Contact', `<sip:a@127.0.0.1:${port}>`]]);
  assert.equal(
    [...server.contacts.values()].map(({ uri }) => uri),
    ['sip:a@127.0.0.1:5072', 'sip:a@127.0.0.1:5073'],
  );
  const many = [5074, 5075, 5076].map((port) => `<sip:a@127.0.0.1:${port}>`).join(', ');
  assert.is((await register([['Contact', many]])).status, 403);
});

registrar('an older request that comes late changes nothing', async () => {
  const { server, register } = await world();
  await register([['Contact', '<sip:a@127.0.0.1:5070>;expires=300']], { number: 50 });
  const late = await register([['Contact', '<sip:a@127.0.0.1:5070>;expires=0']], { number: 49 });
  assert.is(late.status, 500);
  assert.is(server.contacts.size, 1);
});

registrar('a call goes to the address the phone registered from, whatever its contact says', async () => {
  const { server, register } = await world();
  await register([['Contact', '<sip:alice@192.0.2.77:9>']]);
  const out = server.open('alice');
  out.leg.dial();
  // The phone knows nobody there, so it asks who it is: the INVITE went through the NAT.
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 21, techCause: 401 });
  await server.finish();
});

registrar('an expired contact is not called any more', async () => {
  const { server, register } = await world();
  await register([['Contact', '<sip:alice@127.0.0.1:5070>']]);
  server.driver.expired([...server.contacts.values()][0]!);
  const out = server.open('alice');
  out.leg.dial();
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 20 });
  await server.finish();
});

registrar('qualify measures the round trip; any answer counts, none is a failure', async () => {
  const { server, client, register } = await world();
  await register([['Contact', `<sip:alice@127.0.0.1:${client.port}>`]]);
  const contact = { ...[...server.contacts.values()][0]!, qualifyTimeoutMs: 60_000 };
  const begun = performance.now();
  const roundTrip = await server.driver.qualify(contact);
  // In microseconds.
  const most = 1000 * (performance.now() - begun);
  assert.ok(roundTrip > 0 && roundTrip <= most, `${roundTrip} of ${most}`);
  client.driver.enter('drain');
  assert.ok((await server.driver.qualify(contact)) > 0);
  await client.close();
  const failed = await server.driver.qualify({ ...contact, qualifyTimeoutMs: 20 }).catch((error: Error) => error);
  assert.instance(failed, Error);
  assert.is(server.driver.counts().qualifying, 0);
});

registrar('configured contacts are told at the start and go with their endpoint', async () => {
  const lines = endpoint('line', { aor: { ...defaultAor, contacts: ['sip:192.0.2.8', 'nonsense'] } });
  const { server } = await world({ endpoints: [lines] });
  const [contact] = [...server.contacts.values()];
  assert.equal([contact?.uri, contact?.expiresMs], ['sip:192.0.2.8', undefined]);
  server.driver.removeEndpoint('line');
  assert.is(server.contacts.size, 0);
  assert.throws(
    () => server.open('line'),
    (error: { part?: string }) => error.part === 'endpoint',
  );
  server.driver.setEndpoint(lines);
  assert.is(server.contacts.size, 1);
});

registrar('the Path of a registration is told back, and calls go that way', async () => {
  const { server, client, register } = await world();
  const path = [`<sip:127.0.0.1:${client.port};lr>`, '<sip:inner.example.com;lr>'];
  const kept = await register([
    ['Contact', '<sip:alice@10.9.9.9>'],
    ['Supported', 'path'],
    ...path.map((hop) => ['Path', hop] as const),
  ]);
  assert.equal([kept.status, kept.headerList('Path')], [200, path]);
  const invite = new Promise<readonly string[]>((resolve) =>
    client.transactions.onRequest((transaction) => {
      resolve([transaction.request.requestUri, ...transaction.request.headerList('Route')]);
      transaction.reply(486);
    }),
  );
  server.open('alice').leg.dial();
  assert.equal(await invite, ['sip:alice@10.9.9.9', ...path]);
  assert.is(
    (
      await register([
        ['Contact', '<sip:alice@10.9.9.9>'],
        ['Path', '<sip:no'],
      ])
    ).status,
    400,
  );
});

registrar('a phone that registers its flow has one binding for it, whatever its URI', async () => {
  const { register } = await world();
  const contact = (host: string, flow: string) =>
    `<sip:alice@${host}>;+sip.instance="<urn:uuid:00000000-0000-1000-8000-000A95A0E128>";reg-id=${flow};expires=600`;
  const outbound = (host: string, flow: string): HeaderLines => [
    ['Contact', contact(host, flow)],
    ['Supported', 'path, outbound'],
  ];
  const first = await register(outbound('10.0.0.1', '1'));
  assert.equal([first.status, first.headerList('Require')], [200, ['outbound']]);
  const again = await register(outbound('10.0.0.2', '1'));
  assert.equal(again.headerList('Contact'), [
    '<sip:alice@10.0.0.2>;expires=600;+sip.instance="<urn:uuid:00000000-0000-1000-8000-000A95A0E128>";reg-id=1',
  ]);
  const second = await register(outbound('10.0.0.3', '2'));
  assert.is(second.headerList('Contact').length, 2);
  // Without the option, and through a proxy, it is a contact like others.
  const plain = await register([['Contact', contact('10.0.0.4', '1')]]);
  assert.equal([plain.headerList('Require'), plain.headerList('Contact').length], [[], 2]);
});

registrar.run();
