import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer, type TestServer } from '../support/server.ts';

/** What parties of a call ask for by keys (RFC 4733), from phones that share no code with the server. */
const keys = suite('keys during a call, between phones');

const dialplan = {
  default: {
    '200': ['Dial(PJSIP/bob,60,tX)'],
    '300': ['Dial(PJSIP/carol)'],
  },
};
/** However slow the machine is that the phones are on. */
const features = { digit_timeout: 60_000, transfer_digit_timeout: 60_000 };

type World = { server: TestServer; alice: Phone; bob: Phone; carol: Phone };

/** Alice has called Bob, who may put her through; she may record the call. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  keys(title, async () => {
    const [bobsPort, carolsPort] = [await freePort(), await freePort()];
    const endpoints = {
      anonymous: { match: ['127.0.0.1'] },
      bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] } },
      carol: { aor: { contacts: [`sip:carol@127.0.0.1:${carolsPort}`] } },
    };
    await onServer({ dialplan, endpoints, features }, async (server) => {
      const open = async (number: string, port = 0) => server.closing(await Phone.open(number, server.sip(), port));
      const [alice, bob, carol] = [await open('4711'), await open('bob', bobsPort), await open('carol', carolsPort)];
      await alice.call('200');
      await body({ server, alice, bob, carol });
      const phones = [alice, bob, carol];
      phones.find(({ inCall }) => inCall)?.hangup();
      await Promise.all(phones.filter(({ inCall }) => inCall).map((each) => each.over()));
    });
  });

const pitches = [400, 700, 1100] as const;

async function hearEachOther(one: Phone, other: Phone): Promise<void> {
  one.audio.hum(400);
  other.audio.hum(700);
  await Promise.all([one.audio.hears([700], pitches), other.audio.hears([400], pitches)]);
  for (const { audio } of [one, other]) audio.hush();
}

const press = async ({ audio }: Phone, digits: string): Promise<void> => {
  for (const digit of digits) await audio.press(digit, 100);
};

/** The keys that a phone was told, each once (RFC 4733 2.3: the event, and whether it has ended). */
const told = ({ audio }: Phone): string =>
  [
    ...new Map(
      audio.packets
        .filter(({ payloadType, payload }) => payloadType === 101 && payload[1]! >> 7 === 1)
        .map(({ timestamp, payload }) => [timestamp, '0123456789*#'[payload[0]!]] as const),
    ).values(),
  ].join('');

test('who was called puts the caller through to a number, and the caller hears nothing of the keys', async (world) => {
  const { alice, bob, carol } = world;
  await hearEachOther(alice, bob);
  await press(bob, '5#1300');
  await carol.answered();
  await bob.over();
  await hearEachOther(alice, carol);
  await alice.audio.until(() => told(alice) !== '', 'the key that is no code');
  assert.is(told(alice), '5');
});

test('a called party consults a number while the caller hears music, returns, and transfers the call', async (world) => {
  const { alice, bob, carol, server } = world;
  const app = await server.app('all', { subscribeAll: true });
  await hearEachOther(alice, bob);
  await press(bob, '*2300');
  await carol.answered();
  await hearEachOther(bob, carol);
  await press(bob, '*1');
  await carol.over();
  await hearEachOther(alice, bob);
  const { result } = await app.waitFor('BridgeAttendedTransfer');
  assert.is(result, 'Fail');
  await press(bob, '*2300');
  await carol.answered();
  await hearEachOther(bob, carol);
  bob.hangup();
  await bob.over();
  await hearEachOther(alice, carol);
});

test('the caller records the call, and the other party hears the keys that are no code', async ({
  server,
  alice,
  bob,
}) => {
  const app = await server.app('all', { subscribeAll: true });
  await hearEachOther(alice, bob);
  await press(alice, '*3');
  const { recording } = await app.waitFor('RecordingStarted');
  assert.match(recording.name, /^auto-\d+-4711-bob$/);
  assert.match(recording.target_uri, /^bridge:/);
  await press(alice, '*7*3');
  await app.waitFor('RecordingFinished');
  await bob.audio.until(() => told(bob) === '*7', 'the keys that are no code');
  assert.equal(await app.ok<unknown>('GET', '/recordings/stored'), [{ name: recording.name, format: 'wav' }]);
});

keys.run();
