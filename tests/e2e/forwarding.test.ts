import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AriClient } from '../support/ari-client.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer, type TestServer } from '../support/server.ts';

/** Whether packets of phones are passed on as they came, as an operator sees it, with real packets. */
const forwarding = suite('packets that are passed on');

const dialplan = {
  default: {
    '_X.': ['Stasis(desk)'],
    first: ['Dial(Local/second@default)'],
    second: ['Dial(Local/third@default)'],
    third: ['Dial(Local/last@default)'],
    last: ['Dial(PJSIP/bob)'],
  },
};

/** What each phone hums, in Hz; whole periods in a packet each, so that it sounds the same whichever is lost. */
const tones = [400, 700, 1000] as const;
const [low, middle, high] = tones;

type Figures = { rxcount: number; forwarded: number };
type World = {
  server: TestServer;
  app: AriClient;
  /** A phone that has called in, answered, with its channel. */
  enter(number: string): Promise<{ phone: Phone; id: string }>;
};

const test = (title: string, threads: number, body: (world: World) => Promise<void>) =>
  forwarding(`${title} (${threads} media threads)`, async () => {
    const port = await freePort();
    const endpoints = {
      anonymous: { match: ['127.0.0.1'] },
      bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] } },
    };
    // A busy machine takes its time to start threads.
    await onServer({ dialplan, endpoints, media: { threads, thread_timeout: 60 } }, async (server) => {
      const app = await server.app('desk', { subscribeAll: true });
      bobs.set(server, server.closing(await Phone.open('bob', server.sip(), port)));
      const enter = async (number: string) => {
        const phone = server.closing(await Phone.open(number, server.sip()));
        const called = phone.call(number);
        const { channel } = await app.waitFor('StasisStart', (event) => event.channel.caller.number === number);
        await app.ok('POST', `/channels/${channel.id}/answer`);
        await called;
        return { phone, id: channel.id };
      };
      await body({ server, app, enter });
    });
  });
const bobs = new WeakMap<TestServer, Phone>();

const figures = (app: AriClient, id: string): Promise<Figures> =>
  app.ok<Figures>('GET', `/channels/${id}/rtp_statistics`);

/** Asks until ten packets of a phone have come in a row that were all passed on, or none of which was. */
async function settlesTo(
  app: AriClient,
  { id, phone: { audio } }: { id: string; phone: Phone },
  what: 'forwarded' | 'mixed',
): Promise<void> {
  let from = await figures(app, id);
  for (let looks = 0; looks < 100; looks++) {
    const { length } = audio.packets;
    // As many as it has heard meanwhile it has said, too, as far as this machine has turns for both.
    await audio.until(() => audio.packets.length >= length + 10, `packets to ${id}`);
    const now = await figures(app, id);
    const came = now.rxcount - from.rxcount;
    if (came < 10) continue;
    const passed = now.forwarded - from.forwarded;
    if (passed === (what === 'mixed' ? 0 : came)) return;
    from = now;
  }
  assert.unreachable(`${id} is not ${what}`);
}

/** Each of the phones hears all others and not itself. */
async function hearEachOther(phones: readonly (readonly [Phone, number])[]): Promise<void> {
  for (const [phone, hertz] of phones) phone.audio.hum(hertz);
  const all = phones.map(([, hertz]) => hertz);
  await Promise.all(
    phones.map(([phone, own]) =>
      phone.audio.hears(
        all.filter((hertz) => hertz !== own),
        tones,
      ),
    ),
  );
}

for (const threads of [1, 3]) {
  test('two in a bridge pass packets on, three are mixed, two pass them on again', threads, async ({ app, enter }) => {
    const [a, b, c] = [await enter('101'), await enter('102'), await enter('103')];
    await app.ok('POST', '/bridges/b1?type=mixing');
    await app.ok('POST', `/bridges/b1/addChannel?channel=${a.id},${b.id}`);
    await hearEachOther([
      [a.phone, low],
      [b.phone, middle],
    ]);
    await Promise.all([a, b].map((each) => settlesTo(app, each, 'forwarded')));
    await app.ok('POST', `/bridges/b1/addChannel?channel=${c.id}`);
    await hearEachOther([
      [a.phone, low],
      [b.phone, middle],
      [c.phone, high],
    ]);
    await Promise.all([a, b, c].map((each) => settlesTo(app, each, 'mixed')));
    await app.ok('POST', `/bridges/b1/removeChannel?channel=${c.id}`);
    await hearEachOther([
      [a.phone, low],
      [b.phone, middle],
    ]);
    await Promise.all([a, b].map((each) => settlesTo(app, each, 'forwarded')));
    for (const { phone } of [a, b, c]) {
      assert.is(new Set(phone.audio.packets.map(({ ssrc }) => ssrc)).size, 1, 'one stream');
      phone.hangup();
    }
    await app.ok('DELETE', '/bridges/b1');
  });

  test('phones at both ends of three Local channels in a row, one behind another', threads, async (world) => {
    const { app, server, enter } = world;
    const [a, b] = [await enter('101'), await enter('102')];
    const ends = [a.id];
    for (const pair of [1, 2, 3]) {
      const ids = `channelId=near-${pair}&otherChannelId=far-${pair}`;
      await app.ok('POST', `/channels?endpoint=Local/100@default&app=desk&${ids}`);
      await app.waitFor('StasisStart', ({ channel }) => channel.id === `far-${pair}`);
      await app.ok('POST', `/channels/far-${pair}/answer`);
      await app.waitFor('StasisStart', ({ channel }) => channel.id === `near-${pair}`);
      ends.push(`near-${pair}`, `far-${pair}`);
    }
    ends.push(b.id);
    for (let bridge = 0; bridge < 4; bridge++) {
      await app.ok('POST', `/bridges/b${bridge}?type=mixing`);
      await app.ok('POST', `/bridges/b${bridge}/addChannel?channel=${ends[2 * bridge]},${ends[2 * bridge + 1]}`);
    }
    const pair = [
      [a.phone, low],
      [b.phone, middle],
    ] as const;
    const goesThrough = async (how: 'forwarded' | 'mixed') => {
      await hearEachOther(pair);
      await Promise.all([a, b].map((each) => settlesTo(app, each, how)));
    };
    await goesThrough('forwarded');
    // A spy in the middle has frames made of packets as long as somebody hears it, and nothing is heard less for it.
    await app.ok('POST', '/channels/near-2/snoop/spy?spy=both&app=desk');
    await app.waitFor('StasisStart', ({ channel }) => channel.id === 'spy');
    await goesThrough('forwarded');
    await app.ok('POST', '/bridges/heard?type=mixing');
    await app.ok('POST', '/bridges/heard/addChannel?channel=spy');
    await goesThrough('mixed');
    await app.ok('DELETE', '/channels/spy');
    await goesThrough('forwarded');
    await app.ok('DELETE', '/bridges/heard');
    // So does what is played there: whoever is beyond it hears that instead.
    await app.ok('POST', '/channels/near-2/play/tone?media=tone:1000/60000');
    await b.phone.audio.hears([high], tones);
    await a.phone.audio.hears([middle], tones);
    await app.ok('DELETE', '/playbacks/tone');
    await goesThrough('forwarded');
    // A recording in the middle, too.
    await app.ok('POST', '/bridges/b2/record?name=middle&format=wav');
    await app.waitFor('RecordingStarted');
    await goesThrough('mixed');
    await app.ok('POST', '/recordings/live/middle/stop');
    await app.waitFor('RecordingFinished');
    await goesThrough('forwarded');
    for (let bridge = 0; bridge < 4; bridge++) await app.ok('DELETE', `/bridges/b${bridge}`);
    for (const each of [1, 2, 3]) await app.ok('DELETE', `/channels/near-${each}`);
    for (const { phone } of [a, b]) phone.hangup();
    assert.equal(server.errors(), []);
  });

  test('the same by the dialplan alone; who hangs up at one end ends all of it', threads, async ({ app, server }) => {
    const bob = bobs.get(server)!;
    const alice = server.closing(await Phone.open('101', server.sip()));
    await alice.call('first');
    const ids = (await app.ok<{ id: string; name: string }[]>('GET', '/channels')).filter(({ name }) =>
      name.startsWith('PJSIP/'),
    );
    assert.is(ids.length, 2);
    await hearEachOther([
      [alice, low],
      [bob, middle],
    ]);
    // Bridges of the dialplan come to be where somebody is first: over several threads some of them mix.
    if (threads === 1) for (const { id } of ids) await settlesTo(app, { id, phone: bob }, 'forwarded');
    alice.hangup();
    await bob.over();
  });
}

forwarding.run();
