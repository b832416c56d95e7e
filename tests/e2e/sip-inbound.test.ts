import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { assertContinuous, assertHears, prompt } from '../support/rtp-audio.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, type TestServer } from '../support/server.ts';
import {
  answered,
  confirm,
  invite,
  pause,
  provisional,
  receive,
  request,
  type SippOptions,
  SippRun,
  sameBranch,
} from '../support/sipp.ts';
import { losesFirstCopies, SippRelay } from '../support/sipp-relay.ts';

const sipp = need('sipp');
const calls = suite('calls from a SIP phone');

const dialplan = {
  default: {
    '_X.': ['Stasis(desk,${EXTEN})'],
    echo: ['Answer', 'Echo'],
    s: ['Answer', 'Wait(3600)'],
    'prompt-and-out': ['Answer', 'Playback(hello-world)', 'Hangup(17)'],
  },
};

type World = { server: TestServer; peer: RtpPeer; call(options: SippOptions): SippRun };

/** A test with a server that takes calls from this machine, and the audio of a phone. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  sipp.test(calls, title, (program) =>
    onServer({ dialplan, endpoints: { anonymous: { match: ['127.0.0.1'] } } }, async (server) => {
      const call = (options: SippOptions) => server.closing(new SippRun(program, options));
      await body({ server, peer: server.closing(await RtpPeer.open()), call });
    }),
  );

for (const protocol of ['udp', 'tcp'] as const) {
  test(`an application answers a call over ${protocol}, plays a prompt, hears digits and hangs up`, async ({
    server,
    peer,
    call,
  }) => {
    const app = await server.app('desk');
    const phone = call({
      remote: server.sip(protocol),
      protocol,
      service: '100',
      steps: answered(peer.port),
    });

    const { channel, args } = await app.waitFor('StasisStart');
    assert.is(channel.state, 'Ring');
    assert.match(channel.name, /^PJSIP\/anonymous-[0-9a-f]{8}$/);
    assert.equal(channel.caller, { name: 'Tester', number: '4711' });
    assert.equal(args, ['100']);
    await app.ok('POST', `/channels/${channel.id}/answer`);
    const playback = await app.ok<{ id: string }>('POST', `/channels/${channel.id}/play?media=sound:hello-world`);
    const finished = await app.waitFor('PlaybackFinished');
    assert.is(finished.playback.id, playback.id);
    assert.is(finished.playback.state, 'done');
    const expected = prompt('hello-world');
    await peer.until(() => peer.words().length >= expected.length, 'the whole prompt');
    assertHears(peer.words(), expected);
    assertContinuous(peer.packets);

    for (const [digit, durationMs] of [
      ['5', 100],
      ['#', 240],
    ] as const) {
      await peer.press(digit, durationMs);
      const received = await app.waitFor('ChannelDtmfReceived', (event) => event.digit === digit);
      assert.is(received.duration_ms, durationMs);
    }
    await app.ok('DELETE', `/channels/${channel.id}`);
    await app.waitFor('StasisEnd');
    await phone.done;
    assert.match(phone.received('BYE'), /^Reason: *Q\.850 *;cause=16/im);
    assert.equal(app.story(channel.id), [
      'StasisStart',
      'ChannelStateChange',
      'ChannelDtmfReceived',
      'ChannelDtmfReceived',
      'ChannelHangupRequest',
      'StasisEnd',
    ]);
  });
}

test('a caller who gives up before the answer is a hang-up request and the end of the channel', async ({
  server,
  peer,
  call,
}) => {
  const app = await server.app('desk', { subscribeAll: true });
  const phone = call({
    remote: server.sip(),
    service: '100',
    steps: [
      invite({ mediaPort: peer.port }),
      receive(100, { optional: true }),
      receive(180),
      sameBranch('CANCEL'),
      receive(200),
      receive(487),
      sameBranch('ACK'),
    ],
  });
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/ring`);
  const asked = await app.waitFor('ChannelHangupRequest');
  assert.is(asked.soft, undefined, 'the phone asked, not software');
  const destroyed = await app.waitFor('ChannelDestroyed');
  assert.is(destroyed.channel.id, channel.id);
  assert.is(destroyed.channel.state, 'Ring');
  await phone.done;
});

test('a caller hangs up: the application hears that the phone asked for it', async ({ server, peer, call }) => {
  const app = await server.app('desk');
  const phone = call({
    remote: server.sip(),
    service: '100',
    steps: [
      invite({ mediaPort: peer.port }),
      provisional(),
      receive(200),
      request('ACK', 1),
      pause(100),
      request('BYE', 2),
      receive(200),
    ],
  });
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  const asked = await app.waitFor('ChannelHangupRequest');
  assert.is(asked.cause, 16);
  assert.is(asked.soft, undefined);
  await app.waitFor('StasisEnd');
  await phone.done;
});

test('a prompt played before the answer is heard as early media', async ({ server, peer, call }) => {
  const app = await server.app('desk');
  const phone = call({
    remote: server.sip(),
    service: '100',
    steps: [
      invite({ mediaPort: peer.port }),
      receive(100, { optional: true }),
      receive(183),
      receive(486),
      sameBranch('ACK'),
    ],
  });
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/play?media=sound:beep`);
  await app.waitFor('PlaybackFinished', ({ playback }) => playback.state === 'done');
  const expected = prompt('beep');
  await peer.until(() => peer.words().length >= expected.length, 'the whole beep');
  assertHears(peer.words(), expected);
  assert.is((await app.ok<{ state: string }>('GET', `/channels/${channel.id}`)).state, 'Ring');
  await app.ok('DELETE', `/channels/${channel.id}?reason=busy`);
  await phone.done;
  assert.match(phone.received('SIP/2.0 183'), /^m=audio \d+ RTP\/AVP 0 101$/m);
});

test('a call completes over a network that loses the first copy of every message', async ({ server, peer, call }) => {
  const app = await server.app('desk');
  const relay = server.closing(await SippRelay.open(server.sip(), losesFirstCopies()));
  const phone = call({ remote: relay.address, service: '100', steps: answered(peer.port) });
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await relay.seen('phone', 'ACK');
  await app.ok('POST', `/channels/${channel.id}/play?media=sound:beep`);
  await app.waitFor('PlaybackFinished', ({ playback }) => playback.state === 'done');
  const expected = prompt('beep');
  await peer.until(() => peer.words().length >= expected.length, 'the whole beep');
  assertHears(peer.words(), expected);
  await app.ok('DELETE', `/channels/${channel.id}`);
  await phone.done;
  assert.equal(
    app.events.filter(({ type }) => type === 'StasisStart').length,
    1,
    'repeated messages make no second call',
  );
});

test('the echo extension sends audio and digits back', async ({ server, peer, call }) => {
  const relay = server.closing(await SippRelay.open(server.sip()));
  const phone = call({
    remote: relay.address,
    service: 'echo',
    steps: [
      invite({ mediaPort: peer.port }),
      provisional(),
      receive(200),
      request('ACK', 1),
      receive('BYE'),
      confirm(),
    ],
  });
  const ok = await relay.seen('server', 'SIP/2.0 200');
  peer.sendTo(Number(/^m=audio (\d+)/m.exec(ok)?.[1]));
  // A ramp that has every µ-law octet but silence's own, so that each sample can be told from its neighbours.
  const spoken = Buffer.from(Array.from({ length: 160 * 10 }, (_, index) => (index * 7 + (index >> 8)) & 0xff));
  // Again until all of it was heard: what a busy machine lets come too late is left out of an echo.
  peer.repeat(0, spoken);
  await peer.until(() => peer.words().indexOf(spoken) >= 0, 'the echo');
  peer.hush();
  await peer.press('8', 160);
  await peer.until(
    () =>
      peer.packets.some(
        ({ payloadType, payload }) => payloadType === 101 && payload[0] === 8 && payload[1]! >> 7 === 1,
      ),
    'the end of the digit',
  );
  const [channel] = await server.client().ok<{ id: string }[]>('GET', '/channels');
  await server.client().ok('DELETE', `/channels/${channel?.id}`);
  await phone.done;
});

test('the dialplan answers, plays and hangs up with a cause of its own', async ({ server, peer, call }) => {
  const phone = call({ remote: server.sip(), service: 'prompt-and-out', steps: answered(peer.port) });
  await phone.done;
  const expected = prompt('hello-world');
  await peer.until(() => peer.words().length >= expected.length, 'the whole prompt');
  assertHears(peer.words(), expected);
  assert.match(phone.received('BYE'), /^Reason: *Q\.850 *;cause=17/im);
});

test('a number that does not exist is answered 404', async ({ server, peer, call }) => {
  const steps = [invite({ mediaPort: peer.port }), receive(100, { optional: true }), receive(404), sameBranch('ACK')];
  await call({ remote: server.sip(), service: 'nobody', steps }).done;
});

calls.run();
