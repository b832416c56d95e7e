import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultAor, type EndpointConfig } from '../../../src/drivers/sip/config.ts';
import { driverData } from '../../support/snapshots.ts';
import { createPhone, endpoint, type Phone, type PhoneOptions, quick, usual } from './support.ts';

/** Lines at a provider: what is registered there, and whose a call is that comes back. */

const registration = {
  expirationSeconds: 600,
  shortestRefreshMs: 5_000,
  retryMs: 1_000,
  longestRetryMs: 8_000,
  rejectedRetryMs: 0,
};
const subscriber = (rest: Partial<EndpointConfig> = {}): EndpointConfig =>
  endpoint('49301', { auth: { username: '49301', password: 'secret' }, ...rest });

type World = { provider: Phone; ours: Phone };

/** A provider that knows the subscriber 49301, and us with a line there. */
async function world(
  test: (world: World) => Promise<void>,
  {
    line = {},
    provider: at = {},
    server = '',
  }: { line?: Partial<EndpointConfig>; provider?: PhoneOptions; server?: string } = {},
) {
  const provider = await createPhone({ config: { endpoints: [subscriber()] }, ...at });
  const trunk = endpoint('trunk', {
    context: 'from-provider',
    outboundAuth: { username: '49301', password: 'secret' },
    registrations: [{ ...registration, server: server || provider.uri }],
    ...line,
  });
  const { protocol = 'udp', timers = usual } = at;
  const ours = await createPhone({ config: { endpoints: [trunk] }, protocol, timers });
  try {
    await test({ provider, ours });
  } finally {
    await ours.finish();
    await provider.finish();
    await ours.close();
    await provider.close();
  }
}

const wantedOf = ({ driver }: Phone) => {
  const [wanted] = driver.wantedRegistrations();
  assert.ok(wanted, 'nothing is to be registered');
  return wanted;
};

const lines = suite('lines at a provider');

lines('a line is registered with its password, refreshed under one Call-ID, and taken back', async () => {
  await world(async ({ provider, ours }) => {
    const wanted = wantedOf(ours);
    assert.is(wanted.client, `sip:49301@127.0.0.1`);
    assert.equal(await ours.driver.register(wanted, 600_000), { type: 'accepted', expiresMs: 600_000 });
    assert.equal(await ours.driver.register(wanted, 600_000), { type: 'accepted', expiresMs: 600_000 });
    assert.equal(provider.contactEvents, ['registered 49301', 'registered 49301']);
    assert.is(provider.contacts.size, 1, 'a refresh is the same contact');
    assert.match([...provider.contacts.values()][0]?.uri ?? '', /^sip:49301@127\.0\.0\.1:\d+;line=\w{20}$/);
    // Each was challenged once: four requests.
    assert.is(driverData(ours.driver).lines?.[0]?.cseq, 4);
    assert.equal(await ours.driver.register(wanted, 0), { type: 'accepted', expiresMs: 1_000 });
    assert.is(provider.contacts.size, 0);
    ours.driver.ended(wanted);
    assert.is(ours.driver.counts().lines, 0);
  });
});

lines(
  'a call to what was registered is the line’s, whoever calls; one that only guesses is asked for a password',
  async () => {
    await world(async ({ provider, ours }) => {
      const wanted = wantedOf(ours);
      await ours.driver.register(wanted, 600_000);
      const place = { address: '127.0.0.1', port: provider.port, protocol: 'udp' } as const;
      assert.ok(ours.peers.isKnown(place), 'the registrar is spared by what bounds strangers');
      const call = provider.open('49301', { caller: { name: 'Dora', number: '555' } });
      call.leg.dial();
      const inbound = await ours.rung();
      assert.is(inbound.call?.context, 'from-provider');
      assert.is(inbound.call?.extension, '49301');
      assert.equal(inbound.call?.caller, { name: 'Dora', number: '555' });
      call.leg.hangup(16);
      const stranger = provider.open(`49301/sip:49301@127.0.0.1:${ours.port};line=aaaaaaaaaaaaaaaaaaaa`);
      stranger.leg.dial();
      await stranger.heard('leg.hungUp');
      assert.is(ours.incoming.length, 1);
    });
  },
);

lines('a wrong password is a refusal for good', async () => {
  const line = { outboundAuth: { username: '49301', password: 'wrong' } };
  await world(
    async ({ ours }) => {
      const answer = await ours.driver.register(wantedOf(ours), 600_000);
      assert.equal(answer, { type: 'refused', reason: '401 Unauthorized', permanent: true });
    },
    { line },
  );
});

lines('an interval that is too brief comes back with the least that is taken', async () => {
  const patient = subscriber({ aor: { ...defaultAor, minimumExpirationSeconds: 900 } });
  await world(
    async ({ ours }) => {
      const answer = await ours.driver.register(wantedOf(ours), 600_000);
      assert.equal(answer, { type: 'tooBrief', minimumMs: 900_000 });
    },
    { provider: { config: { endpoints: [patient] } } },
  );
});

lines('a registrar that takes us for no time has refused', async () => {
  const registrar = createSocket('udp4');
  registrar.on('message', (octets, { port, address }) => {
    const header = (name: string) => new RegExp(`^${name}: .*`, 'm').exec(octets.toString())?.[0] ?? '';
    const lines = ['Via', 'From', 'To', 'Call-ID', 'CSeq', 'Contact'].map(header);
    registrar.send(`SIP/2.0 200 OK\r\n${lines.join('\r\n')};expires=0\r\nContent-Length: 0\r\n\r\n`, port, address);
  });
  registrar.bind(0, '127.0.0.1');
  await once(registrar, 'listening');
  await world(
    async ({ ours }) => {
      const answer = await ours.driver.register(wantedOf(ours), 600_000);
      assert.equal(answer, { type: 'refused', reason: '200, but registered for 0 s', permanent: false });
    },
    { server: `sip:127.0.0.1:${registrar.address().port}` },
  );
  registrar.close();
});

lines('a registrar that says nothing, or is nowhere, has not answered', async () => {
  await world(
    async ({ ours }) => {
      const answer = await ours.driver.register(wantedOf(ours), 600_000);
      assert.equal(answer, { type: 'unanswered', reason: 'no answer' });
    },
    { provider: { lets: () => false, timers: quick } },
  );
  await world(
    async ({ ours }) => {
      const answer = await ours.driver.register(wantedOf(ours), 600_000);
      assert.equal(answer, { type: 'unanswered', reason: 'it cannot be reached' });
    },
    { server: 'sip:nowhere.invalid' },
  );
});

lines('what another process registered goes on under its Call-ID and token', async () => {
  await world(async ({ provider, ours }) => {
    const wanted = wantedOf(ours);
    await ours.driver.register(wanted, 600_000);
    const data = JSON.parse(JSON.stringify(driverData(ours.driver)));
    const trunk = ours.driver.endpoints().find(({ name }) => name === 'trunk')!;
    const next = await createPhone({ config: { endpoints: [trunk] } });
    next.driver.restore(data);
    assert.equal(await next.driver.register(wanted, 600_000), { type: 'accepted', expiresMs: 600_000 });
    const uris = [...provider.contacts.values()].map(({ uri }) => /line=(\w+)/.exec(uri)?.[1]);
    assert.equal(new Set(uris), new Set([data.lines[0].token]));
    await next.close();
  });
});

lines.run();
