import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AriEvent } from '../../src/models/events.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer, type TestServer } from '../support/server.ts';

/** Transfers between phones that share no code with the server, over real sockets. */
const transfers = suite('transfers between three phones');

const dialplan = {
  default: {
    '200': ['Dial(PJSIP/bob)'],
    '300': ['Dial(PJSIP/carol)'],
    '301': ['Dial(PJSIP/carol,20)'],
    '_0X.': ['Dial(PJSIP/${EXTEN}@carol)'],
    desk: ['Stasis(desk)'],
  },
  elsewhere: { '900': ['Dial(PJSIP/carol)'] },
};

type World = { server: TestServer; alice: Phone; bob: Phone; carol: Phone; phone(number: string): Promise<Phone> };

/** A server, Alice who calls, and Bob and Carol who can be called. */
const test = (title: string, body: (world: World) => Promise<void>, allows: object = {}, times = {}) =>
  transfers(title, async () => {
    const [bobsPort, carolsPort] = [await freePort(), await freePort()];
    const endpoints = {
      anonymous: { match: ['127.0.0.1'], ...allows },
      bob: { auth: { username: 'bob', password: 'secret' }, aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] } },
      carol: { aor: { contacts: [`sip:carol@127.0.0.1:${carolsPort}`] } },
      dave: { auth: { username: 'dave', password: 'secret' }, context: 'elsewhere', allow_replaces: true },
    };
    // Nothing of a transfer is over because a machine is slow.
    await onServer({ dialplan, endpoints, sip: { transfers: { timeout: 600, ...times } } }, async (server) => {
      const phones: Phone[] = [];
      const phone = async (number: string, port = 0) => {
        const opened = server.closing(await Phone.open(number, server.sip(), port));
        opened.password = 'secret';
        phones.push(opened);
        return opened;
      };
      const [alice, bob, carol] = [await phone('4711'), await phone('bob', bobsPort), await phone('carol', carolsPort)];
      await body({ server, alice, bob, carol, phone });
      // One of those who still talk hangs up, and that is heard by all others.
      phones.find(({ inCall }) => inCall)?.hangup();
      await Promise.all(phones.filter(({ inCall }) => inCall).map((each) => each.over()));
    });
  });

/** Alice has called Bob, and both talk. */
async function talk({ alice, bob }: World): Promise<void> {
  await alice.call('200');
  assert.ok(bob.inCall);
}

const pitches = [400, 700, 1100] as const;

/** Both hear what the other says, and nobody else. */
async function hearEachOther(one: Phone, other: Phone): Promise<void> {
  one.audio.hum(400);
  other.audio.hum(700);
  await Promise.all([one.audio.hears([700], pitches), other.audio.hears([400], pitches)]);
}

/** The statuses that a phone was told of its transfer. */
const news = (phone: Phone): string[] => phone.notified.map(({ fragment }) => fragment.replace('SIP/2.0 ', ''));
const told = (phone: Phone, status: string) =>
  phone.until(() => news(phone).some((each) => each.startsWith(status)), `${status} to ${phone.number}`);

test('blind: the target answers, and who asked is let go', async (world) => {
  const { alice, bob, carol } = world;
  await talk(world);
  assert.is(await bob.refer('<sip:300@127.0.0.1>'), 202);
  await carol.answered();
  await bob.over();
  await told(bob, '200');
  assert.equal([news(bob).at(0), news(bob).at(-1)], ['100 Trying', '200 OK']);
  assert.is(bob.notified.at(-1)?.state, 'terminated;reason=noresource');
  await hearEachOther(alice, carol);
  carol.hangup();
  await alice.over();
});

test('blind: a phone that hangs up by itself after the last NOTIFY is sent no BYE', async (world) => {
  const { alice, bob, carol } = world;
  await talk(world);
  assert.is(await bob.refer('<sip:300@127.0.0.1>'), 202);
  await told(bob, '200');
  bob.hangup();
  await carol.answered();
  await hearEachOther(alice, carol);
  assert.not.match(bob.explain(), /< BYE/);
  alice.hangup();
  await carol.over();
});

test('blind: who called may transfer as well', async (world) => {
  const { alice, bob, carol } = world;
  await talk(world);
  assert.is(await alice.refer('<sip:300@127.0.0.1>'), 202);
  await carol.answered();
  await alice.over();
  await hearEachOther(bob, carol);
  bob.hangup();
  await carol.over();
});

test('blind: no target opens another technology or context', async (world) => {
  const { alice, bob, carol } = world;
  await talk(world);
  const targets = [
    '0123%26Local%2F900%40elsewhere',
    '0123%40elsewhere',
    '900%40elsewhere',
    '900',
    '0123%26PJSIP%2Fcarol',
  ];
  for (const [index, target] of [...targets, '0123%2C%2Cg', '0123%0D%0A', '0123%5E900'].entries()) {
    assert.is(await bob.refer(`<sip:${target}@127.0.0.1>`), 202, target);
    await bob.until(
      () => news(bob).filter((each) => each === '404 Not Found').length > index,
      `a refusal of ${target}`,
    );
  }
  assert.equal(carol.invites, []);
  await hearEachOther(alice, bob);
});

test('blind: a busy target leaves both talking', async (world) => {
  const { alice, bob, carol } = world;
  carol.refuses = '486 Busy Here';
  await talk(world);
  assert.is(await bob.refer('<sip:300@127.0.0.1>'), 202);
  await told(bob, '486');
  await hearEachOther(alice, bob);
});

test('blind: a target that does not answer leaves both talking', async (world) => {
  const { server, alice, bob, carol } = world;
  carol.answers = false;
  await talk(world);
  assert.is(await bob.refer('<sip:301@127.0.0.1>'), 202);
  await told(bob, '180');
  server.clock.skip(20_000);
  await told(bob, '480');
  await hearEachOther(alice, bob);
});

test('blind: a target that is nobody is told, and nothing else happens', async (world) => {
  const { alice, bob } = world;
  await talk(world);
  assert.is(await bob.refer('<sip:999@127.0.0.1>'), 202);
  await told(bob, '404');
  await hearEachOther(alice, bob);
});

/** Bob, who talks to Alice, puts her through to Carol, whose phone rings. */
async function putThrough(world: World): Promise<World> {
  const { bob, carol } = world;
  carol.answers = false;
  await talk(world);
  await bob.refer('<sip:300@127.0.0.1>');
  await told(bob, '180');
  return world;
}

/** He hangs up meanwhile. */
async function leave({ bob, carol }: World): Promise<void> {
  bob.hangup();
  await carol.until(() => carol.rings, 'ringing');
}

test('blind: who asks may hang up while the target rings', async (world) => {
  const { alice, carol } = await putThrough(world);
  await leave(world);
  assert.ok(alice.inCall);
  carol.take();
  await carol.answered();
  await hearEachOther(alice, carol);
});

test('blind: who has hung up is called back when the target is busy, and both talk again', async (world) => {
  const { alice, bob, carol } = await putThrough(world);
  await leave(world);
  carol.decline('486 Busy Here');
  await bob.answered();
  await hearEachOther(alice, bob);
});

test(
  'blind: a phone that hangs up at once when it is told of the failure is called back',
  async (world) => {
    const { alice, bob, carol } = world;
    carol.refuses = '486 Busy Here';
    await talk(world);
    assert.is(await bob.refer('<sip:300@127.0.0.1>'), 202);
    await told(bob, '486');
    bob.hangup();
    await bob.answered();
    await hearEachOther(alice, bob);
  },
  {},
  { bye_timeout: 30 },
);

test('blind: when neither the target nor who asked can be had, the call is over', async (world) => {
  const { alice, bob, carol } = await putThrough(world);
  bob.refuses = '486 Busy Here';
  await leave(world);
  carol.decline('486 Busy Here');
  await alice.over();
  assert.is(bob.invites.length, 2);
});

test('blind: when whoever is put through hangs up, the target stops ringing', async (world) => {
  const { alice, bob, carol } = await putThrough(world);
  alice.hangup();
  await bob.over();
  await carol.until(() => !carol.rings, 'the end of ringing');
});

test('a flood of REFERs is one transfer', async (world) => {
  const { alice, bob, carol } = world;
  carol.answers = false;
  await talk(world);
  assert.is(await bob.refer('<sip:300@127.0.0.1>'), 202);
  const statuses = new Set<number>();
  for (let count = 0; count < 30; count++) statuses.add(await bob.refer('<sip:300@127.0.0.1>'));
  assert.equal([...statuses], [491]);
  alice.hangup();
  await bob.over();
});

test('a caller hears that its call is being forwarded before it rings there', async (world) => {
  const { alice, bob } = world;
  bob.answers = false;
  bob.saysFirst = '181 Call Is Being Forwarded';
  const calling = alice.call('200');
  await alice.until(() => /180 Ringing/.test(alice.explain()), 'ringing');
  bob.take();
  await calling;
  const statuses = [...alice.explain().matchAll(/< SIP\/2\.0 (\d\d\d) .* INVITE/g)].map(([, status]) => status);
  // A server that takes longer than 200 ms says 100 first.
  assert.equal(
    statuses.filter((status) => status !== '100'),
    ['181', '180', '200'],
  );
  alice.hangup();
  await bob.over();
});

test('attended: both far parties talk, and both calls of who asked end', async (world) => {
  const { alice, bob, carol, phone } = world;
  await talk(world);
  const consulting = await phone('bob');
  await consulting.call('300');
  assert.is(await bob.refer(`<sip:300@127.0.0.1?Replaces=${consulting.replaces()}>`), 202);
  await Promise.all([bob.over(), consulting.over()]);
  await told(bob, '200');
  assert.is(news(bob).at(-1), '200 OK');
  await hearEachOther(alice, carol);
  alice.hangup();
  await carol.over();
});

/** The ids of what an event names, and everything else of it but what says when and where. */
const inShort = ({ timestamp: _at, asterisk_id: _by, application: _to, ...event }: AriEvent) =>
  Object.fromEntries(
    Object.entries(event)
      .filter(([name]) => !/^(sequence|seq|trace\w*|caused_by)$/.test(name))
      .map(([name, value]) => [name, value && typeof value === 'object' && 'id' in value ? value.id : value]),
  );

test('an application hears of transfers with all that the events have', async (world) => {
  const { server, alice, bob, carol, phone } = world;
  const app = await server.app('desk', { subscribeAll: true });
  await talk(world);
  const all = await app.ok<{ id: string; name: string }[]>('GET', '/channels');
  const idOf = (name: string) => all.find((each) => each.name.startsWith(`PJSIP/${name}`))?.id;
  const [bridge] = await app.ok<{ id: string }[]>('GET', '/bridges');
  assert.is(await bob.refer('<sip:999@127.0.0.1>'), 202);
  const blind = await app.waitFor('BridgeBlindTransfer');
  assert.equal(inShort(blind), {
    ...{ type: 'BridgeBlindTransfer', channel: idOf('bob'), bridge: bridge?.id, transferee: idOf('anonymous') },
    ...{ exten: '999', context: 'default', result: 'Fail', is_external: true },
  });

  const consulting = await phone('bob');
  await consulting.call('300');
  const bridges = await app.ok<{ id: string; channels: string[] }[]>('GET', '/bridges');
  const channels = await app.ok<{ id: string; name: string }[]>('GET', '/channels');
  const second = bridges.find(({ id }) => id !== bridge?.id);
  const carols = channels.find(({ name }) => name.startsWith('PJSIP/carol'))?.id;
  const consults = second?.channels.find((id) => id !== carols);
  await bob.refer(`<sip:300@127.0.0.1?Replaces=${consulting.replaces()}>`);
  assert.equal(inShort(await app.waitFor('BridgeAttendedTransfer')), {
    ...{ type: 'BridgeAttendedTransfer', result: 'Success', is_external: true, transferee: idOf('anonymous') },
    ...{ transferer_first_leg: idOf('bob'), transferer_first_leg_bridge: bridge?.id },
    ...{ transferer_second_leg: consults, transferer_second_leg_bridge: second?.id, transfer_target: carols },
    ...{ destination_type: 'bridge', destination_bridge: second?.id },
  });
  await Promise.all([bob.over(), consulting.over()]);
  alice.hangup();
  await carol.over();
});

test('attended: a second call that has ended is told as 481, and both go on talking', async (world) => {
  const { alice, bob, carol, phone } = world;
  await talk(world);
  const consulting = await phone('bob');
  await consulting.call('300');
  const named = consulting.replaces();
  consulting.hangup();
  await carol.over();
  assert.is(await bob.refer(`<sip:300@127.0.0.1?Replaces=${named}>`), 202);
  await told(bob, '481');
  await hearEachOther(alice, bob);
});

test('left to the application: it is told what is asked, does it, and the phone hears what it says', async (world) => {
  const { server, alice, carol } = world;
  const app = await server.app('desk');
  const calling = alice.call('desk');
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await calling;
  await app.ok(
    'POST',
    `/channels/${channel.id}/variable?variable=${encodeURIComponent('PJSIP_TRANSFER_HANDLING()')}&value=ari-only`,
  );
  assert.is(await alice.refer('<sip:300@127.0.0.1>'), 202);
  const asked = await app.waitFor('ChannelTransfer');
  assert.equal(
    [asked.refer_to, asked.referred_by.source_channel.id],
    [{ requested_destination: { destination: '300' } }, channel.id],
  );
  await app.ok('POST', `/channels/${channel.id}/transfer_progress?states=channel_progress`);
  await app.ok('POST', `/channels/${channel.id}/transfer_progress`, { states: 'channel_answered' });
  const states = await Promise.all(
    ['channel_progress', 'channel_answered'].map((state) =>
      app.waitFor('ChannelTransfer', (each) => each.state === state),
    ),
  );
  assert.is(states.length, 2);
  await told(alice, '200');
  assert.not.ok(carol.inCall);
  assert.ok(alice.inCall);
});

test(
  'INVITE with Replaces: a phone takes the place of another, in the call and at the one that rings',
  async (world) => {
    const { alice, bob, carol, phone } = world;
    await talk(world);
    const dave = await phone('4713');
    await dave.call('x', [`Replaces: ${decodeURIComponent(alice.replaces())}`]);
    await alice.over();
    await hearEachOther(dave, bob);
    bob.hangup();
    await dave.over();

    carol.answers = false;
    const calling = alice.call('300');
    await carol.until(() => carol.rings, 'ringing');
    const eve = await phone('4714');
    await eve.call('x', [`Replaces: ${decodeURIComponent(carol.replaces())}`]);
    await calling;
    await carol.until(() => !carol.rings, 'the end of ringing');
    await hearEachOther(alice, eve);
  },
  { allow_replaces: true },
);

test(
  'attended: a called party transfers a call that another phone has taken over',
  async (world) => {
    const { alice, bob, carol, phone } = world;
    await talk(world);
    const eve = await phone('4713');
    await eve.call('x', [`Replaces: ${decodeURIComponent(alice.replaces())}`]);
    await alice.over();
    const consulting = await phone('bob');
    await consulting.call('300');
    assert.is(await bob.refer(`<sip:300@127.0.0.1?Replaces=${consulting.replaces()}>`), 202);
    await told(bob, '200');
    await Promise.all([bob.over(), consulting.over()]);
    await hearEachOther(eve, carol);
  },
  { allow_replaces: true },
);

test(
  'INVITE with Replaces: what cannot be replaced is refused as RFC 3891 has it',
  async (world) => {
    const { alice, bob, phone } = world;
    await talk(world);
    const dave = await phone('4713');
    const named = decodeURIComponent(alice.replaces());
    const refused = async (replaces: string) => {
      await isRefused(dave.call('x', [`Replaces: ${replaces}`]));
      return lastRefusal(dave);
    };
    assert.is(await refused(`${named};early-only`), 486);
    assert.is(await refused('nobody;to-tag=1;from-tag=2'), 481);
    assert.is(await refused('nobody;to-tag=1'), 400);
    alice.hangup();
    await bob.over();
    assert.is(await refused(named), 603);
  },
  { allow_replaces: true },
);

test('INVITE with Replaces: an endpoint that is not allowed to takes no call', async (world) => {
  const { alice, bob, phone } = world;
  await talk(world);
  const mallory = await phone('4713');
  await isRefused(mallory.call('x', [`Replaces: ${decodeURIComponent(alice.replaces())}`]));
  assert.is(lastRefusal(mallory), 403);
  await hearEachOther(alice, bob);
});

test('INVITE with Replaces: a call of another context is not there', async (world) => {
  const { alice, bob, phone } = world;
  await talk(world);
  const dave = await phone('dave');
  await isRefused(dave.call('x', [`Replaces: ${decodeURIComponent(alice.replaces())}`]));
  assert.is(lastRefusal(dave), 481);
  await hearEachOther(alice, bob);
});

test('attended: a phone cannot join the calls of others to its own', async (world) => {
  const { alice, bob, carol, phone } = world;
  await talk(world);
  const mallory = await phone('4713');
  await mallory.call('300');
  const stolen = bob.replaces();
  assert.is(await mallory.refer(`<sip:300@127.0.0.1?Replaces=${stolen}>`), 202);
  await told(mallory, '481');
  await hearEachOther(alice, bob);
  await hearEachOther(mallory, carol);
  mallory.hangup();
  await carol.over();
});

test(
  'attended: a phone that may replace calls of its context may name them in a REFER',
  async (world) => {
    const { alice, bob, carol, phone } = world;
    await talk(world);
    const desk = await phone('4713');
    await desk.call('300');
    assert.is(await desk.refer(`<sip:300@127.0.0.1?Replaces=${bob.replaces()}>`), 202);
    await Promise.all([desk.over(), bob.over()]);
    await hearEachOther(alice, carol);
  },
  { allow_replaces: true },
);

const lastRefusal = (phone: Phone) =>
  Number(/SIP\/2\.0 ([4-6]\d\d)/.exec(phone.explain().split('> INVITE').at(-1) ?? '')?.[1]);

async function isRefused(promise: Promise<unknown>): Promise<void> {
  const outcome = await promise.then(
    () => 'answered',
    () => 'refused',
  );
  assert.is(outcome, 'refused');
}

transfers.run();
