import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FormatName } from '../../src/lib/formats.ts';
import type { AudioCodec } from '../../src/media/codec/audio-codec.ts';
import { openCodec } from '../../src/media/codec/open-codec.ts';
import { OpusCodec } from '../../src/media/codec/opus.ts';
import type { AriClient } from '../support/ari-client.ts';
import { freePort } from '../support/free-port.ts';
import { audioTypes, Phone } from '../support/phone.ts';
import { amplitude } from '../support/rtp-audio.ts';
import type { RtpPacket } from '../support/rtp-peer.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';

/** Phones that change their codec in the middle of a call, by re-INVITE or UPDATE, over real sockets. */
const changes = suite('codecs that change in the middle of a call');

type Speech = { codec: FormatName; payloadType: number };

const [ulaw, alaw, g722] = [
  { codec: 'ulaw', payloadType: 0 },
  { codec: 'alaw', payloadType: 8 },
  { codec: 'g722', payloadType: 9 },
] as const;
const opus = { codec: 'opus', payloadType: 111 } as const;
const everyCodec: readonly Speech[] = [alaw, opus, g722, ulaw, g722, opus, alaw, ulaw];
const maps = {
  101: 'telephone-event/8000',
  111: 'opus/48000/2',
  97: 'opus/48000/2',
  98: 'PCMA/8000',
  99: 'PCMA/8000',
  18: 'G729/8000',
};

async function opened({ codec: name }: Speech): Promise<AudioCodec> {
  const codec = openCodec(name, { order: 'network' });
  if (codec instanceof OpusCodec) await codec.ready();
  return codec;
}

/** Says a tone over and over: a second of packets of 20 ms. */
async function say(phone: Phone, speech: Speech, hertz: number): Promise<void> {
  const codec = await opened(speech);
  const size = codec.sampleRate / 50;
  const target = new Uint8Array(1500);
  const packets = Array.from({ length: 50 }, (_, index) => {
    const samples = Int16Array.from({ length: size }, (_none, at) =>
      Math.round(8000 * Math.sin((2 * Math.PI * hertz * (index * size + at)) / codec.sampleRate)),
    );
    return Buffer.from(target.slice(0, codec.encode(samples, target)));
  });
  codec.close();
  phone.audio.cycle(speech.payloadType, packets, codec.clockRate / 50);
}

/** How loud a tone is in packets of a codec. */
function loudness(packets: readonly RtpPacket[], codec: AudioCodec, hertz: number): number {
  const target = new Int16Array(codec.sampleRate / 5);
  const samples = packets.flatMap(({ payload }) => [...target.subarray(0, codec.decode(payload, target))]);
  return amplitude(samples, (hertz * 8000) / codec.sampleRate);
}

/** Packets of audio of the last 400 ms. */
const recent = 20;

/** Resolves once a phone hears a tone and nothing of another codec, in what comes from now on. */
async function hears(phone: Phone, speech: Speech, hertz: number, what: string): Promise<void> {
  const { packets } = phone.audio;
  const codec = await opened(speech);
  let next = packets.length + recent;
  await phone.audio.until(() => {
    if (packets.length < next) return false;
    next = packets.length + 5;
    const last = packets.slice(-recent);
    return last.every(({ payloadType }) => payloadType === speech.payloadType) && loudness(last, codec, hertz) > 1500;
  }, `${what}: ${hertz} Hz as ${speech.codec} ${speech.payloadType}`);
  codec.close();
}

const [hertzA, hertzB] = [600, 1000];
type World = { server: TestServer; app: AriClient; alice: Phone; bob: Phone; a: string; b: string };

const test = (title: string, body: (world: World) => Promise<void>, isEarly = false) =>
  changes(title, async () => {
    const port = await freePort();
    const codecs = ['ulaw', 'alaw', 'g722', 'opus'];
    const endpoints = {
      anonymous: { match: ['127.0.0.1'], codecs, '100rel': 'peer_supported' },
      bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] }, codecs },
    };
    await onServer({ endpoints, dialplan: { default: { desk: ['Stasis(desk)'] } } }, async (server) => {
      const alice = server.closing(await Phone.open('4711', server.sip()));
      const bob = server.closing(await Phone.open('bob', server.sip(), port));
      for (const phone of [alice, bob]) phone.maps = maps;
      const app = await server.app('desk', { subscribeAll: true });
      const called = alice.call('desk', isEarly ? ['Supported: 100rel'] : []).catch(() => {});
      const { channel } = await app.waitFor('StasisStart');
      if (isEarly) {
        await app.ok('POST', `/channels/${channel.id}/progress`);
        await alice.until(() => alice.isEarly, 'early media');
      } else {
        await app.ok('POST', `/channels/${channel.id}/answer`);
        await called;
      }
      const { id: b } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/bob&app=desk');
      await app.waitFor('StasisStart', (event) => event.channel.id === b);
      await body({ server, app, alice, bob, a: channel.id, b });
      alice.hangup();
      await app.request('DELETE', '/bridges/both');
      await app.request('DELETE', `/channels/${b}`);
      await Promise.all([called, alice.over(), bob.over()]);
    });
  });

/** A phone changes to a codec alone, and speaks it from then on. */
async function change(phone: Phone, speech: Speech, hertz: number, method: 'INVITE' | 'UPDATE' = 'INVITE') {
  phone.codecs = [speech.payloadType];
  assert.is(await phone.offerAnew(method), 200);
  assert.is(audioTypes(phone.described.at(-1)!)[0], speech.payloadType);
  await say(phone, speech, hertz);
}

async function bridge({ app, a, b }: World): Promise<void> {
  await app.ok('POST', '/bridges/both?type=mixing');
  await app.ok('POST', `/bridges/both/addChannel?channel=${a},${b}`);
}

test('in a bridge of two both hear each other through every change, together and one by one', async (world) => {
  const { alice, bob } = world;
  await bridge(world);
  await say(alice, ulaw, hertzA);
  await say(bob, ulaw, hertzB);
  let other: Speech = ulaw;
  for (const [index, speech] of everyCodec.entries()) {
    await change(alice, speech, hertzA);
    const about = `change ${index}`;
    await Promise.all([hears(alice, speech, hertzB, about), hears(bob, other, hertzA, about)]);
    if (index % 2 === 0) continue;
    await change(bob, speech, hertzB);
    other = speech;
    await Promise.all([hears(alice, speech, hertzB, about), hears(bob, speech, hertzA, about)]);
  }
  alice.codecs = [18];
  assert.is(await alice.offerAnew(), 488, 'a codec that nobody has changes nothing');
  await Promise.all([hears(alice, ulaw, hertzB, 'refused'), hears(bob, ulaw, hertzA, 'refused')]);
});

test('the number of a codec changes, both ways have numbers of their own, and neither side notices', async (world) => {
  const { alice, bob } = world;
  await bridge(world);
  await say(alice, ulaw, hertzA);
  await say(bob, ulaw, hertzB);
  const numbers: Speech[] = [8, 98, 99, 98].map((payloadType) => ({ codec: 'alaw', payloadType }));
  for (const speech of [...numbers, opus, { codec: 'opus', payloadType: 97 } as const, opus, ulaw]) {
    await change(alice, speech, hertzA);
    const about = `${speech.codec} ${speech.payloadType}`;
    await Promise.all([hears(alice, speech, hertzB, about), hears(bob, ulaw, hertzA, about)]);
  }
  for (const speech of numbers) {
    await change(alice, speech, hertzA);
    await change(bob, alaw, hertzB);
    await Promise.all([hears(alice, speech, hertzB, 'both'), hears(bob, alaw, hertzA, 'both')]);
  }
});

test('a playback goes on in the new codec, and a recording hears every one', async ({ app, alice, a, server }) => {
  await app.ok('POST', `/channels/${a}/play?media=tone:${hertzB}&playbackId=p`);
  await app.ok('POST', `/channels/${a}/record?name=all&format=wav`);
  await say(alice, ulaw, hertzA);
  for (const speech of everyCodec) {
    await change(alice, speech, hertzA);
    await hears(alice, speech, hertzB, 'playback');
  }
  await app.ok('POST', '/recordings/live/all/stop');
  await app.waitFor('RecordingFinished');
  const authorization = `Basic ${btoa(`${user}:${password}`)}`;
  const answer = await fetch(`${server.url}/recordings/stored/all/file`, { headers: { authorization } });
  const file = Buffer.from(await answer.arrayBuffer());
  const samples = new Int16Array(
    file.buffer.slice(file.byteOffset + 44, file.byteOffset + file.length - (file.length & 1)),
  );
  const windows = Array.from({ length: Math.floor(samples.length / 1600) }, (_, at) =>
    amplitude(samples.subarray(at * 1600, (at + 1) * 1600), hertzA),
  );
  const quiet = windows.slice(2, -1).filter((each) => each < 1500).length;
  assert.ok(quiet <= everyCodec.length, `${quiet} of ${windows.length} pieces of 0.2 s lack the tone`);
  await app.ok('DELETE', '/playbacks/p');
});

test('a conference hears who changes, and who changes hears the conference', async (world) => {
  const { app, alice, bob, server } = world;
  await bridge(world);
  const carol = server.closing(await Phone.open('4712', server.sip()));
  const called = carol.call('desk');
  const { channel } = await app.waitFor('StasisStart', (event) => ![world.a, world.b].includes(event.channel.id));
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await called;
  await app.ok('POST', `/bridges/both/addChannel?channel=${channel.id}`);
  await say(bob, ulaw, hertzB);
  for (const speech of everyCodec) {
    await change(alice, speech, hertzA);
    await Promise.all([
      hears(alice, speech, hertzB, 'alice'),
      hears(bob, ulaw, hertzA, 'bob'),
      hears(carol, ulaw, hertzA, 'carol'),
      hears(carol, ulaw, hertzB, 'carol'),
    ]);
  }
  carol.hangup();
  await carol.over();
});

test(
  'before the answer UPDATE changes the codec of early media',
  async ({ app, alice, a }) => {
    await app.ok('POST', `/channels/${a}/play?media=tone:${hertzB}&playbackId=p`);
    for (const speech of everyCodec) {
      await change(alice, speech, hertzA, 'UPDATE');
      await hears(alice, speech, hertzB, 'early media');
    }
  },
  true,
);

changes.run();
