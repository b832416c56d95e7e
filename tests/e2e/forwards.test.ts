import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AriClient } from '../support/ari-client.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';

/** Phones that forward their calls (302), over real sockets. */
const forwards = suite('forwarded calls');

const dialplan = {
  default: {
    '200': ['Dial(PJSIP/bob)'],
    '300': ['Dial(PJSIP/carol)'],
    '302': ['Dial(PJSIP/dave)'],
    '303': ['Stasis(nowhere)'],
    '304': ['Hangup(21)'],
    '305': ['Dial(PJSIP/nobody)'],
    '301': ['Answer', 'Dial(PJSIP/carol,30)', 'Hangup'],
    '_0X.': ['Dial(PJSIP/${EXTEN}@carol)'],
    desk: ['Stasis(desk)'],
    lobby: ['Answer', 'Wait(3600)'],
  },
  internal: { '900': ['Dial(PJSIP/carol)'] },
};

/** Beside the one who may do everything, one who sees what is its own. */
const users = [
  { name: user, password },
  { name: 'clerk', password: 'its own', scope: { applications: ['none'], contexts: ['default'] } },
];

type World = { server: TestServer; app: AriClient; alice: Phone; bob: Phone; carol: Phone };

/** A server, Alice who calls, and Bob, who forwards to 300, and Carol, who is that. */
const test = (title: string, settings: object, body: (world: World) => Promise<void>) =>
  forwards(title, async () => {
    const [bobsPort, carolsPort] = [await freePort(), await freePort()];
    const endpoints = {
      anonymous: { match: ['127.0.0.1'] },
      bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] }, redirect_method: 'user', ...settings },
      dave: { aor: { contacts: [`sip:dave@127.0.0.1:${carolsPort}`] } },
      carol: { aor: { contacts: [`sip:carol@127.0.0.1:${carolsPort}`] }, redirect_method: 'user' },
    };
    await onServer({ dialplan, endpoints, users }, async (server) => {
      const phone = async (number: string, port = 0) => server.closing(await Phone.open(number, server.sip(), port));
      const [alice, bob, carol] = [await phone('4711'), await phone('bob', bobsPort), await phone('carol', carolsPort)];
      bob.refuses = '302 Moved Temporarily';
      bob.forwardsTo = `sip:300@${server.sip()}`;
      const app = await server.app('desk', { subscribeAll: true });
      await body({ server, app, alice, bob, carol });
      alice.hangup();
      await Promise.all([alice.over(), carol.over()]);
    });
  });

/** The Dial events of a call, in short: who is dialed, how far, and where that one forwards to. */
const dials = ({ events }: AriClient) =>
  events.flatMap((event) =>
    event.type === 'Dial'
      ? [[short(event.peer.name), event.dialstatus, event.forward, event.forwarded && short(event.forwarded.name)]]
      : [],
  );
const short = (name: string): string => name.replace(/-[0-9a-f]+(;\d)?$/, '');

test('the dialplan’s Dial goes on with who is named, who is told how it came to that', {}, async (world) => {
  const { app, alice, carol } = world;
  await alice.call('200');
  assert.ok(carol.inCall);
  assert.equal(carol.invites[0]?.all('Diversion'), ['<sip:bob@127.0.0.1>;reason=unconditional']);
  await app.waitFor('Dial', ({ peer, dialstatus }) => peer.name.startsWith('PJSIP/carol') && dialstatus === 'ANSWER');
  assert.equal(dials(app).slice(0, 5), [
    ['PJSIP/bob', '', '', undefined],
    ['PJSIP/bob', 'CANCEL', 'Local/300@default', 'Local/300@default'],
    ['Local/300@default', '', '', undefined],
    ['PJSIP/carol', '', '', undefined],
    ['PJSIP/carol', 'ANSWER', '', undefined],
  ]);
});

test('no target of a phone opens another technology or context', {}, async (world) => {
  const { server, app, alice, bob, carol } = world;
  const targets = ['0123%26Local%2F900%40internal', '0123%40internal', '900%40internal', '900', '0123%26PJSIP%2Fcarol'];
  for (const target of [...targets, '0123%2C%2Cg', '0123%0D%0A', '0123%5E900']) {
    bob.forwardsTo = `sip:${target}@${server.sip()}`;
    const refused = await alice.call('200').then(
      () => 'answered',
      (error: Error) => error.message,
    );
    assert.match(refused, 'was not answered', target);
  }
  assert.equal(carol.invites, []);
  assert.equal(
    [...new Set(dials(app).map(([peer]) => peer))].filter((peer) => !peer?.startsWith('Local/')),
    ['PJSIP/bob'],
  );
  bob.forwardsTo = `sip:0123@${server.sip()}`;
  await alice.call('200');
  assert.is(carol.invites.length, 1);
});

test('a call that an application places goes on and comes to that application', {}, async (world) => {
  const { app, carol } = world;
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/bob&app=desk&appArgs=x');
  const { channel, args } = await app.waitFor('StasisStart');
  assert.equal([short(channel.name), args], ['Local/300@default', ['x']]);
  assert.is.not(channel.id, id);
  const gone = await app.waitFor('ChannelDestroyed', (event) => event.channel.id === id);
  assert.is(gone.cause, 22);
  await app.ok('DELETE', `/channels/${channel.id}`);
  await carol.over();
});

test('a call into the dialplan stays with the user that placed it', {}, async ({ server, carol }) => {
  const clerk = server.closing(new AriClient(server.url, 'clerk:its own'));
  const { id } = await clerk.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/bob&context=default&extension=lobby');
  await carol.answered();
  const seen = await clerk.ok<{ id: string; name: string }[]>('GET', '/channels');
  assert.equal(seen.map(({ name }) => short(name)).toSorted(), ['Local/300@default', 'Local/300@default']);
  assert.not.ok(seen.some((channel) => channel.id === id));
  await clerk.ok('DELETE', `/channels/${seen[0]!.id}`);
  await carol.over();
});

test('to the target that is wanted most, of several', {}, async ({ server, alice, bob, carol }) => {
  bob.forwardsTo = `sip:304@${server.sip()}>;q=0.9, <sip:300@${server.sip()}`;
  await alice.call('200');
  assert.ok(carol.inCall);
});

test('at the address that is named', { redirect_method: 'uri_core' }, async ({ app, alice, bob, carol }) => {
  bob.forwardsTo = `sip:carol@127.0.0.1:${carol.port}`;
  await alice.call('200');
  assert.ok(carol.inCall);
  await app.waitFor('Dial', ({ dialstatus }) => dialstatus === 'ANSWER');
  assert.equal(
    dials(app).filter(([, , forward]) => forward !== ''),
    [['PJSIP/bob', 'CANCEL', `PJSIP/bob/${bob.forwardsTo}`, 'PJSIP/bob']],
  );
});

test('two who forward to each other are called once each', {}, async ({ app, server, alice, bob, carol }) => {
  carol.refuses = '302 Moved Temporarily';
  carol.forwardsTo = `sip:200@${server.sip()}`;
  await alice.call('200').then(
    () => assert.unreachable(),
    () => {},
  );
  assert.equal([bob.invites.length, carol.invites.length], [2, 1]);
  await app.waitFor('Dial', ({ forward = '' }) => forward.startsWith('PJSIP/bob/'));
  assert.equal(
    dials(app).filter(([, , forward]) => forward !== ''),
    [
      ['PJSIP/bob', 'CANCEL', 'Local/300@default', 'Local/300@default'],
      ['PJSIP/carol', 'CANCEL', 'Local/200@default', 'Local/200@default'],
      ['PJSIP/bob', 'CANCEL', `PJSIP/bob/${bob.forwardsTo}`, undefined],
    ],
  );
});

test('a caller that the dialplan has answered stays with whom it dials', {}, async ({ app, alice, carol }) => {
  const call = alice.call('301');
  await app.waitFor('Dial', ({ peer, dialstatus }) => peer.name.startsWith('PJSIP/carol') && dialstatus === 'ANSWER');
  await call;
  const both = async () => (await app.ok<{ channels: string[] }[]>('GET', '/bridges')).map(({ channels }) => channels);
  await app.waitFor('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
  assert.equal(
    (await both()).map(({ length }) => length),
    [2],
  );
  assert.ok(alice.inCall && carol.inCall);
});

for (const [number, what, refuses, status] of [
  ['302', 'a Dial to somebody busy', '486 Busy Here', 486],
  ['302', 'a Dial to a phone that is overloaded', '503 Service Unavailable', 503],
  ['302', 'a Dial to a phone that is switched off', '480 Temporarily Unavailable', 480],
  ['305', 'a Dial to nobody', '', 503],
  ['303', 'an application that is away', '', 480],
  ['304', 'Hangup(21)', '', 603],
] as const)
  test(`a caller hears of ${what} by ${status}`, {}, async ({ alice, carol }) => {
    if (refuses !== '') carol.refuses = refuses;
    const failure = await alice.call(number).then(
      () => 'answered',
      (error: Error) => error.message,
    );
    assert.match(failure, new RegExp(`\\b${status}\\b`));
  });

forwards.run();
