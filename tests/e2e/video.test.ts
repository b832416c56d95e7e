import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallDetail, CallPage } from '../../src/models/call.ts';
import type { RTPstat } from '../../src/models/rtp-statistics.ts';
import type { MediaTimelineEntry } from '../../src/models/timeline.ts';
import type { AriClient } from '../support/ari-client.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { type Colour, clipOf } from '../support/video/clips.ts';
import { decode, framesOf, inTurn } from '../support/video/pictures.ts';
import { VideoPeer } from '../support/video/video-peer.ts';

/** Phones that speak SIP, with cameras that show a colour each: who sees whom is decoded by ffmpeg. */
const calls = suite('video calls');
const ffmpeg = need('ffmpeg');

const video = { video_codecs: ['vp8'], max_video_streams: 4 };
const endpoints = { anonymous: { match: ['127.0.0.1'], ...video } };
const dialplan = { default: { '_X.': ['Stasis(desk)'] } };
/** Streams are told of soon, so that tests are short. */
const sip = { video: { renegotiate_delay: 20, renegotiate_interval: 0.2 } };

/** A phone with a camera that shows a colour, and so many screens. */
async function open(server: TestServer, number: string, colour: Colour, screens = 4, port = 0): Promise<Phone> {
  const peers: VideoPeer[] = [];
  for (let count = 0; count < screens; count++) peers.push(server.closing(await VideoPeer.open()));
  const phone = server.closing(await Phone.open(number, server.sip(), port, peers));
  peers[0]?.show(await clipOf('vp8', colour));
  return phone;
}

/** What a screen shows from now on, once it does so for a while; a switch in between is waited for. */
async function sees(phone: Phone, colour: Colour, screen = 0): Promise<void> {
  const peer = phone.videos[screen]!;
  let shown: readonly Colour[] = [];
  for (let tries = 0; tries < 20; tries++) {
    await peer.sees(5);
    const { pictures, complaints } = await decode('vp8', framesOf('vp8', peer.packets));
    assert.is(complaints, '', `what ${phone.number} sees`);
    shown = inTurn(pictures.slice(-3));
    if (shown.length === 1 && shown[0] === colour) return;
  }
  assert.equal(shown, [colour], `what ${phone.number} sees in ${screen}`);
}

/** Calls in, and is answered. */
async function enter(app: AriClient, phone: Phone): Promise<string> {
  const calling = phone.call('100');
  const { channel } = await app.waitFor('StasisStart', (event) => event.channel.caller.number === phone.number);
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await calling;
  return channel.id;
}

async function meeting(server: TestServer, type: string, colours: readonly Colour[]) {
  const app = await server.app('desk');
  await app.ok('POST', `/bridges/b1?type=${type}`);
  const phones: Phone[] = [];
  const ids: string[] = [];
  const join = async (colour: Colour, screens = 4) => {
    const phone = await open(server, String(200 + phones.length), colour, screens);
    const id = await enter(app, phone);
    await app.ok('POST', `/bridges/b1/addChannel?channel=${id}`);
    phones.push(phone);
    ids.push(id);
    return phone;
  };
  for (const colour of colours) await join(colour);
  return { app, phones, ids, join };
}

const bridge = (app: AriClient) => app.ok<{ video_mode: string; video_source_id?: string }>('GET', '/bridges/b1');

/** Waits until a phone was told of so many streams that it is shown something in. */
const lines = (phone: Phone) => phone.described.at(-1)?.match(/^m=video [1-9]/gm)?.length ?? 0;
const labels = (phone: Phone) =>
  [...(phone.described.at(-1) ?? '').matchAll(/^a=label:(.*)$/gm)].map(([, id]) => id!.trim());
const hasLines = (phone: Phone, count: number) => phone.until(() => lines(phone) === count, `${count} streams`);

/** An answer of the interface beside ARI. */
const hookswitch = (server: TestServer, path: string): Promise<Response> =>
  fetch(`${server.url.replace(/\/ari$/, '/hookswitch')}${path}`, {
    headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
  });

ffmpeg.test(calls, 'two phones that Dial connects see each other', async () => {
  const port = await freePort();
  const bobs = { bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] }, ...video } };
  const dial = { default: { '_X.': ['Dial(PJSIP/bob)'] } };
  const recorder = { media_interval: 1, rtp_headers: 200 };
  await onServer(
    { logLevel: 'info', dialplan: dial, recorder, endpoints: { ...endpoints, ...bobs } },
    async (server) => {
      const [alice, bob] = [await open(server, '200', 'red', 1), await open(server, 'bob', 'green', 1, port)];
      await alice.call('100');
      await Promise.all([sees(alice, 'green'), sees(bob, 'red')]);
      // Both are measured, each is shown the other; heads of the video of both are kept beside those of audio.
      const [call] = ((await (await hookswitch(server, '/calls')).json()) as CallPage).calls;
      const ids = call!.channels.map(({ id }) => id);
      const seen = async () => {
        const { timeline } = (await (await hookswitch(server, `/calls/${call!.id}`)).json()) as CallDetail;
        const shows = (id: string) =>
          timeline.findLast((each) => each.kind === 'media' && each.object === id && each.report['video'] === 0);
        return ids.map((id) => (shows(id) as MediaTimelineEntry | undefined)?.report['shows']);
      };
      while ((await seen()).join() !== [...ids].reverse().join()) await alice.videos[0]!.sees(10);
      const capture = await hookswitch(server, `/calls/${call!.id}.pcap?rtp=headers`);
      const octets = Buffer.from(await capture.arrayBuffer());
      for (const { videos } of [alice, bob]) {
        const ssrc = Buffer.alloc(4);
        ssrc.writeUInt32BE(videos[0]!.ssrc);
        assert.ok(octets.includes(ssrc), 'heads of video');
      }
      alice.hangup();
      await bob.over();
      await server.settle();
      const codecs = server
        .lines()
        .flatMap((line) => (line.msg === 'a call is answered' ? [[line.codec, line.video]] : []));
      assert.equal(codecs, [
        ['ulaw', 'vp8'],
        ['ulaw', 'vp8'],
      ]);
    },
  );
});

ffmpeg.test(calls, 'who talks is seen by the others, and sees who talked before; a locked source is seen by all', () =>
  onServer({ dialplan, endpoints, sip }, async (server) => {
    const { app, phones, ids } = await meeting(server, 'mixing', ['red', 'green', 'blue']);
    const [red, green, blue] = phones as [Phone, Phone, Phone];
    const source = (id: string | undefined) =>
      app.waitFor('BridgeVideoSourceChanged', (event) => event.bridge.video_source_id === id);
    green.audio.hum(700);
    await source(ids[1]);
    await Promise.all([sees(red, 'green'), sees(blue, 'green')]);
    green.audio.hush();
    blue.audio.hum(400);
    await source(ids[2]);
    await Promise.all([sees(red, 'blue'), sees(green, 'blue'), sees(blue, 'green')]);
    await app.ok('POST', `/bridges/b1/videoSource/${ids[0]}`);
    await Promise.all([sees(green, 'red'), sees(blue, 'red')]);
    const { video: [stream] = [] } = await app.ok<RTPstat>('GET', `/channels/${ids[1]}/rtp_statistics`);
    assert.ok(stream && stream.rxcount > 0 && stream.txcount > 0 && stream.key_frames > 0, JSON.stringify(stream));
    assert.ok(stream.switches > 1, JSON.stringify(stream));
    assert.equal([stream.stream, stream.codec, stream.rxploss, stream.txploss], [0, 'vp8', 0, 0]);
    assert.is(stream.shows, ids[0]);
    assert.equal([(await bridge(app)).video_mode, (await bridge(app)).video_source_id], ['single', ids[0]]);
    await app.ok('DELETE', '/bridges/b1/videoSource');
    assert.is((await bridge(app)).video_mode, 'talker');
    await Promise.all([sees(red, 'blue'), sees(green, 'blue')]);
    for (const phone of phones) phone.hangup();
    await app.ok('DELETE', '/bridges/b1');
    await server.settle();
  }),
);

ffmpeg.test(
  calls,
  'in a bridge of type video_sfu each sees all others in streams of their own, as they come and go',
  () =>
    onServer({ dialplan, endpoints, sip }, async (server) => {
      const { app, phones, ids, join } = await meeting(server, 'video_sfu,sdp_label', ['red', 'green', 'blue']);
      const [red, green, blue] = phones as [Phone, Phone, Phone];
      await Promise.all(phones.map((phone) => hasLines(phone, 2)));
      assert.equal(phones.map(labels), [
        [ids[1], ids[2]],
        [ids[0], ids[2]],
        [ids[0], ids[1]],
      ]);
      await Promise.all([sees(red, 'green'), sees(red, 'blue', 1), sees(green, 'red'), sees(green, 'blue', 1)]);
      await Promise.all([sees(blue, 'red'), sees(blue, 'green', 1)]);
      const yellow = await join('yellow', 1);
      await hasLines(red, 3);
      await Promise.all([sees(red, 'yellow', 2), sees(yellow, 'red')]);
      green.hangup();
      await hasLines(red, 2);
      await Promise.all([sees(red, 'yellow'), sees(red, 'blue', 1), sees(blue, 'yellow', 1)]);
      for (const phone of phones) phone.hangup();
      await app.ok('DELETE', '/bridges/b1');
      await server.settle();
    }),
);

calls.run();
