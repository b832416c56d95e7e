import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import type { SrtpKey } from '../../../src/lib/srtp.ts';
import { defaultMediaConfig, defaultVideoConfig } from '../../../src/media/config.ts';
import { createMediaPlane } from '../../../src/media/media-plane.ts';
import { type MediaThread, startWorker } from '../../../src/media/start-worker.ts';
import type { MediaMeasures, MediaPlane, MediaSession, Mix, MixReport } from '../../../src/telephony/media.ts';
import type { VideoCodec, VideoMeasures } from '../../../src/telephony/video.ts';
import { need } from '../../support/need.ts';
import { RtpPeer } from '../../support/rtp-peer.ts';
import { type Colour, clipOf } from '../../support/video/clips.ts';
import { decode, framesOf, gapsIn, inOrder, inTurn, pictureIdOf } from '../../support/video/pictures.ts';
import { openVideoCall, usualVideo, type VideoCall } from '../../support/video/video-call.ts';
import { VideoPeer } from '../../support/video/video-peer.ts';
import { memoryLogger, usualFlow } from '../support.ts';

const ffmpeg = need('ffmpeg');
const member = { role: 'participant', muted: false, passDigits: false } as const;
const config = {
  ...defaultMediaConfig,
  ports: { first: 0, last: 0 },
  threadTimeoutMs: 60_000,
  // Far sides of a busy machine may be silent for long, and are not lost.
  video: { ...defaultVideoConfig, sourceTimeoutMs: 60_000, talkerAfterMs: 200, talkerHoldMs: 200 },
};
/** For tests in which sources are lost: as long as no machine keeps one silent that is not. */
const losesSources = { sourceTimeoutMs: 2_000 };

type Stage = {
  plane: MediaPlane;
  threads: MediaThread[];
  mix: Mix;
  /** Whom all were said to be shown, in turn. */
  sources: (string | undefined)[];
  /** What was measured, of whom. */
  measured: [string, MediaMeasures | VideoMeasures][];
  /** Resolves when so many were said. */
  told(count: number): Promise<void>;
  call: (id: string, colour?: Colour, options?: Parameters<typeof openVideoCall>[2]) => Promise<VideoCall>;
};

/** A plane with a mix, and calls that are ended with it. */
async function onStage(
  threadCount: number,
  run: (stage: Stage) => Promise<void>,
  more: Partial<typeof config.video> = {},
): Promise<void> {
  const threads: MediaThread[] = [];
  const startThread: typeof startWorker = (start) => {
    const thread = startWorker(start);
    threads.push(thread);
    return thread;
  };
  const log = memoryLogger();
  const measured: Stage['measured'] = [];
  const plane = createMediaPlane({
    config: { ...config, video: { ...config.video, ...more }, threads: threadCount, measureMs: 100 },
    ...{ clock: systemClock, log, startThread },
    measured: (...each) => void measured.push(each),
  });
  const sources: (string | undefined)[] = [];
  let heard = () => {};
  const mix = plane.openMix('room', 'mixing', (report: MixReport) => {
    if (report.type !== 'mix.videoSource') return;
    sources.push(report.session);
    heard();
  });
  const peers: VideoPeer[] = [];
  const call: Stage['call'] = async (id, colour, options) => {
    const opened = await openVideoCall(plane, id, options);
    peers.push(...opened.peers);
    mix.join(opened.session, member);
    if (colour) opened.peer.show(await clipOf(options?.codec ?? 'vp8', colour));
    return opened;
  };
  const told = async (count: number) => {
    while (sources.length < count) await new Promise<void>((resolve) => (heard = resolve));
  };
  try {
    await run({ plane, threads, mix, sources, measured, told, call });
  } finally {
    for (const peer of peers) await peer.close();
    await plane.close();
  }
}

/** What a far side makes of all that has come. */
async function pictures({ packets }: VideoPeer, codec: VideoCodec = 'vp8'): Promise<Colour[]> {
  const { pictures: decoded, complaints } = await decode(codec, framesOf(codec, packets));
  assert.is(complaints, '');
  return inTurn(decoded);
}

/**
 * Waits until a far side is shown a colour: a switch takes as long as the key frame that it waits for. A decoder is a
 * process that begins with the first frame: it is asked after 4 frames, then after 8, 16 and so on.
 */
async function shows(peer: VideoPeer, colour: Colour, codec?: VideoCodec): Promise<void> {
  for (let frames = 4; frames <= 64; frames *= 2) {
    await peer.sees(frames);
    if ((await pictures(peer, codec)).at(-1) === colour) return;
  }
  assert.unreachable(`${colour} is not shown`);
}

const count = (peer: VideoPeer, type: string): number => peer.feedback.filter((each) => each.type === type).length;

for (const [codec, threads] of [
  ['vp8', 3],
  ['h264', 1],
] as const)
  ffmpeg.test(
    test,
    `who talks is shown to the others and sees who talked before; who stops sending makes room (${codec})`,
    () =>
      onStage(
        threads,
        async ({ mix, call, sources, told }) => {
          const calls = [
            await call('r', 'red', { codec }),
            await call('g', 'green', { codec }),
            await call('b', 'blue', { codec }),
          ];
          const [red, green, blue] = calls as [VideoCall, VideoCall, VideoCall];
          const voices: RtpPeer[] = [];
          for (const { session } of calls) {
            const voice = await RtpPeer.open();
            voices.push(voice);
            voice.sendTo(session.local.port);
            session.configure({ ...usualFlow, remote: { address: '127.0.0.1', port: voice.port } });
          }
          try {
            mix.video({ mode: 'talker' });
            await told(1);
            voices[1]!.hum(440);
            while (sources.at(-1) !== 'g') await told(sources.length + 1);
            for (const { peer } of [red, blue]) await shows(peer, 'green', codec);
            voices[1]!.hush();
            voices[2]!.hum(660);
            while (sources.at(-1) !== 'b') await told(sources.length + 1);
            for (const { peer } of [red, green]) await shows(peer, 'blue', codec);
            assert.equal(
              [
                (await pictures(red.peer, codec)).slice(-2),
                (await pictures(green.peer, codec)).at(-1),
                (await pictures(blue.peer, codec)).at(-1),
              ],
              [['green', 'blue'], 'blue', 'green'],
            );
            const before = sources.length;
            blue.peer.show(undefined);
            await told(before + 1);
            assert.is(sources.at(-1), 'g');
            await green.peer.sees(3);
            for (const { peer } of calls) assert.is(gapsIn(peer.packets), 0);
          } finally {
            for (const voice of voices) await voice.close();
          }
        },
        losesSources,
      ),
  );

ffmpeg.test(test, 'it is told whom a stream shows, and measured what passes in it', () =>
  onStage(3, async ({ mix, call, measured }) => {
    const [red, green] = [await call('r', 'red'), await call('g', 'green', { streams: 2 })];
    for (const { session } of [red, green])
      session.configure({ ...usualFlow, remote: { address: '127.0.0.1', port: session.local.port } });
    mix.video({ mode: 'talker' });
    const ofVideo = (id: string) => measured.flatMap(([of, each]) => (of === id && 'video' in each ? [each] : []));
    const isBusy = (each: VideoMeasures) =>
      each.packets_heard > 0 && each.packets_sent > 0 && each.key_frames > 0 && each.key_frames_asked > 0;
    const found = (id: string, whom: string) => ofVideo(id).find((each) => each.shows === whom && isBusy(each));
    await Promise.all([
      red.peer.until(() => found('r', 'g') !== undefined, 'what was measured of red'),
      green.peer.until(() => found('g', 'r') !== undefined, 'what was measured of green'),
    ]);
    const last = found('g', 'r')!;
    assert.equal(
      {
        ...last,
        ...{ packets_heard: true, packets_sent: true, key_frames: true, key_frames_asked: true },
        ...{ jitter_heard_ms: last.jitter_heard_ms >= 0, left_out: last.left_out >= 0 },
      },
      {
        ...{ video: 0, codec: 'vp8', flow: 'sendrecv', packets_heard: true, packets_sent: true },
        ...{ loss_heard: 0, loss_sent: 0, jitter_heard_ms: true, jitter_sent_ms: 0 },
        ...{ key_frames: true, key_frames_asked: true, sent_again: 0, asked_again: 0 },
        ...{ switches: 1, left_out: true, shows: 'r' },
      },
    );
    // In the second one nothing passes.
    assert.equal(new Set(ofVideo('g').map(({ video }) => video)), new Set([0]));
    const statistics = await green.session.videoStatistics();
    assert.equal(
      statistics.map(({ stream, shows: shown }) => [stream, shown]),
      [
        [0, 'r'],
        [1, undefined],
      ],
    );
  }),
);

ffmpeg.test(test, 'a source that is lost is replaced while it is away, and shown again when it comes back', () =>
  onStage(
    1,
    async ({ mix, call, sources, told }) => {
      const red = await call('r', 'red');
      const green = await call('g', 'green');
      const blue = await call('b');
      mix.video({ mode: 'single', source: red.session });
      await blue.peer.sees(4);
      red.peer.show(undefined);
      await told(1);
      await shows(blue.peer, 'green');
      red.peer.show(await clipOf('vp8', 'red'));
      await told(2);
      await shows(blue.peer, 'red');
      assert.equal(sources, ['g', 'r']);
      assert.equal(await pictures(blue.peer), ['red', 'green', 'red']);
      mix.leave(red.session);
      await told(3);
      assert.is(sources.at(-1), 'g');
      assert.ok(green);
    },
    losesSources,
  ),
);

ffmpeg.test(test, 'who is to be shown may be said before anybody comes', () =>
  onStage(3, async ({ plane, mix, call, sources }) => {
    const viewer = { id: 'viewer' } as MediaSession;
    const red = { id: 'red' } as MediaSession;
    mix.video({ mode: 'single', source: red });
    const first = await call('viewer');
    await call('red', 'red');
    await first.peer.sees(3);
    assert.equal(sources, []);
    const other = plane.openMix('other', 'mixing', () => {});
    other.video({ mode: 'sfu' });
    other.show(viewer, [undefined, red]);
    const second = await openVideoCall(plane, 'second', { streams: 2 });
    other.show(second.session, [red]);
    other.join(second.session, member);
    other.join(red, member);
    await second.peer.sees(3);
    assert.equal(await pictures(second.peer), ['red']);
    for (const peer of second.peers) await peer.close();
  }),
);

ffmpeg.test(test, 'a lost thread opens its streams again on their ports, and their numbers go on', () =>
  onStage(3, async ({ threads, mix, call }) => {
    const red = await call('r', 'red');
    const green = await call('g', 'green');
    mix.video({ mode: 'talker' });
    await Promise.all([red.peer.sees(4), green.peer.sees(4)]);
    for (const lost of [1, 0]) {
      const seen = [red.peer.packets.length, green.peer.packets.length];
      await threads[lost]!.terminate();
      for (const [index, { peer }] of [red, green].entries())
        await peer.until(
          () => peer.packets.length > seen[index]! + 20 && count(peer, 'pli') > 0,
          'video after a thread was lost',
        );
    }
    for (const [{ peer }, colour] of [
      [red, 'green'],
      [green, 'red'],
    ] as const) {
      assert.is(new Set(peer.packets.map(({ ssrc }) => ssrc)).size, 1);
      assert.is(gapsIn(peer.packets), 0);
      const ordered = inOrder(peer.packets);
      for (let index = 1; index < ordered.length; index++)
        assert.ok(((ordered[index]!.timestamp - ordered[index - 1]!.timestamp) | 0) >= 0);
      assert.ok((await pictures(peer)).every((each) => each === colour));
    }
  }),
);

ffmpeg.test(test, 'a session that is saved goes on on its ports, with its numbers', async () => {
  const clip = await clipOf('vp8', 'red');
  const peers = [await VideoPeer.open(), await VideoPeer.open()];
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const mix = plane.openMix('room', 'mixing', () => {});
  const sessions = [await plane.openRtp('a', () => {}), await plane.openRtp('b', () => {})];
  for (const [index, session] of sessions.entries()) {
    const { port } = await session.openVideo(0);
    peers[index]!.sendTo(port);
    session.configureVideo(0, { ...usualVideo, remote: { address: '127.0.0.1', port: peers[index]!.port } });
    mix.join(session, member);
  }
  mix.video({ mode: 'talker' });
  peers[0]!.show(clip);
  await peers[1]!.sees(3);
  // Asked last, so nothing is sent behind what the dump says.
  mix.video({ mode: 'none' });
  await sessions[1]!.videoStatistics();
  const dumps = JSON.parse(JSON.stringify(sessions.map((session) => session.dump())));
  await plane.close();
  const again = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const next = again.openMix('room', 'mixing', () => {});
  for (const dump of dumps) next.join(await again.reopenRtp(dump, () => {}), member);
  next.video({ mode: 'talker' });
  await peers[1]!.sees(3);
  assert.is(new Set(peers[1]!.packets.map(({ ssrc }) => ssrc)).size, 1);
  assert.is(gapsIn(peers[1]!.packets), 0);
  const ids = inOrder(peers[1]!.packets).map(({ payload }) => pictureIdOf(payload)!);
  for (let index = 1; index < ids.length; index++) assert.ok([0, 1].includes((ids[index]! - ids[index - 1]!) & 0x7fff));
  assert.equal(await pictures(peers[1]!), ['red']);
  for (const peer of peers) await peer.close();
  await again.close();
});

ffmpeg.test(test, 'lost packets are asked for again, and sent again to who misses them', () =>
  onStage(1, async ({ mix, call }) => {
    // Every tenth packet of the sender is lost on its way to us.
    const loses = (sent: number) => sent % 10 === 9;
    const red = await call('r', 'red', { peer: { loses } });
    const green = await call('g');
    mix.video({ mode: 'talker' });
    await green.peer.sees(20);
    // On a busy machine a packet may be given up: four lost ones in a row came again.
    await green.peer.until(() => {
      const ordered = inOrder(green.peer.packets);
      return ordered.some((_packet, at) => at >= 40 && gapsIn(ordered.slice(at - 40, at)) === 0);
    }, 'what was lost');
    const last = green.peer.packets.at(-1)!;
    const before = green.peer.packets.length;
    green.peer.miss(last.sequence);
    await green.peer.until(
      () => green.peer.packets.slice(before).some(({ sequence }) => sequence === last.sequence),
      'a packet again',
    );
    const again = green.peer.packets.slice(before).find(({ sequence }) => sequence === last.sequence);
    assert.equal(again, last);
    const [received] = await red.session.videoStatistics();
    const [shown] = await green.session.videoStatistics();
    assert.ok(received!.asked_again > 0);
    assert.is(shown!.sent_again, 1);
    assert.is(count(red.peer, 'nack') > 0, true);
  }),
);

ffmpeg.test(test, 'however often viewers ask, a source is asked for a key frame twice a second at most', () =>
  onStage(1, async ({ mix, call }) => {
    const begun = performance.now();
    const red = await call('r', 'red', {
      flow: { feedback: { nack: false, pli: false, fir: true, tmmbr: false, remb: false } },
    });
    const viewers = [await call('g'), await call('b')];
    mix.video({ mode: 'single', source: red.session });
    await Promise.all(viewers.map(({ peer }) => peer.sees(3)));
    const storm = setInterval(() => {
      for (const { peer } of viewers) for (let each = 0; each < 50; each++) peer.askKeyFrame();
    }, 5);
    await viewers[0]!.peer.sees(50);
    await red.peer.until(() => count(red.peer, 'fir') >= 4, 'requests');
    clearInterval(storm);
    // Of all the time that went by: one may come late, and the next one not.
    const most = 1 + Math.floor((performance.now() - begun) / 500);
    assert.ok(count(red.peer, 'fir') <= most, `${count(red.peer, 'fir')} requests, of ${most}`);
    assert.is(count(red.peer, 'pli'), 0);
    assert.is(gapsIn(viewers[0]!.peer.packets), 0);
  }),
);

ffmpeg.test(
  test,
  'a source is asked to send the least that all take who are shown it, in whatever thread they are',
  () =>
    onStage(3, async ({ mix, call }) => {
      const red = await call('r', 'red');
      const viewers = [await call('g'), await call('b', undefined, { flow: { maxBitrate: 900_000 } })];
      const [green, blue] = viewers.map(({ peer }) => peer) as [VideoPeer, VideoPeer];
      mix.video({ mode: 'single', source: red.session });
      await Promise.all([green.sees(3), blue.sees(3)]);
      const heard = (peer: VideoPeer, type: string) =>
        peer.feedback.filter((each) => each.type === type).map(({ bitrate }) => bitrate);
      const asked = (bitrate: number) =>
        red.peer.until(() => heard(red.peer, 'tmmbr').at(-1) === bitrate, `a request for ${bitrate} bit/s`);
      await asked(900_000);
      green.bound(75_000, 3);
      await green.until(() => heard(green, 'tmmbn').length > 0, 'a confirmation');
      await asked(600_000);
      blue.estimate(75_000, 2, [7, blue.packets.at(-1)!.ssrc]);
      await asked(300_000);
      // Of streams that are others' nothing counts, and more than there is is no bound: as often as they like.
      for (let count = 0; count < 3000; count++) {
        blue.estimate(0, 0, [red.peer.ssrc]);
        blue.bound(0, 0, red.peer.ssrc);
        green.bound(0x1_ffff, 63);
      }
      // What comes in the middle of that is left out with it, and said again, as far sides do.
      for (let times = 0; times < 100 && heard(red.peer, 'tmmbr').at(-1) !== 900_000; times++) {
        green.bound(0x1_ffff, 63);
        blue.estimate(75_000, 4);
        await blue.sees(2);
      }
      await asked(900_000);
      const [statistics] = await viewers[1]!.session.videoStatistics();
      const [sent] = await red.session.videoStatistics();
      assert.equal([statistics!.bitrate_taken, sent!.bitrate_asked], [900_000, 900_000]);
      mix.leave(viewers[1]!.session);
      await asked(999_997_440);
      assert.equal(heard(green, 'tmmbn')[0], 600_000);
      await green.sees(3);
      assert.equal(await pictures(green), ['red']);
    }),
);

ffmpeg.test(
  test,
  'a phone that takes whole units of H.264 alone sees who sends them in parts, in other threads too',
  () =>
    onStage(3, async ({ mix, call }) => {
      const h264 = { profile: 'constrained baseline', level: 31, packetization: 0 } as const;
      const codec = 'h264' as const;
      const calls = [await call('r', 'red', { codec }), await call('g', 'green', { codec, flow: { h264 } })];
      mix.video({ mode: 'talker' });
      await Promise.all(calls.map(({ peer }) => peer.sees(10)));
      const [red, green] = calls.map(({ peer }) => peer) as [VideoPeer, VideoPeer];
      const kinds = (peer: VideoPeer) => new Set(peer.packets.map(({ payload }) => payload[0]! & 0x1f));
      assert.ok(kinds(red).has(24) && kinds(red).has(28), 'parts are passed on to who takes them');
      assert.not.ok(kinds(green).has(24) || kinds(green).has(28), 'and not to who does not');
      assert.equal([await pictures(red, codec), await pictures(green, codec)], [['green'], ['red']]);
      assert.is(gapsIn(green.packets), 0);
    }),
);

ffmpeg.test(test, 'strangers, other payload types, cut packets and noise change nothing of what is seen', () =>
  onStage(1, async ({ mix, call }) => {
    const red = await call('r', 'red');
    const green = await call('g');
    mix.video({ mode: 'talker' });
    await green.peer.sees(3);
    const { port } = await red.session.openVideo(0);
    const stranger = createSocket('udp4');
    const whole = [...red.peer.sent.values()].at(-1)!;
    const noise = Array.from({ length: 200 }, (_, index) => randomBytes(index));
    for (let sent = 0; sent < 20_000; sent += 200) {
      for (const octets of noise) stranger.send(octets, port + (sent % 2), '127.0.0.1');
      stranger.send(whole, port, '127.0.0.1');
      await new Promise<void>((soon) => setImmediate(soon));
    }
    stranger.close();
    // Of the source itself, RTP of the agreed payload type is no noise: it would be a source that has begun anew.
    const isOfSource = (octets: Buffer) => octets[0]! >> 6 === 2 && (octets[1]! & 0x7f) === (whole[1]! & 0x7f);
    for (const octets of noise) if (!isOfSource(octets)) red.peer.sendRaw(octets);
    for (let length = 0; length < 16; length++) red.peer.sendRaw(whole.subarray(0, length));
    const other = Buffer.from(whole);
    other[1] = 97;
    red.peer.sendRaw(other);
    await green.peer.sees(5);
    assert.is(new Set(green.peer.packets.map(({ ssrc }) => ssrc)).size, 1);
    // What the noise drove out of a full buffer comes again, or a key frame takes its place.
    await green.peer.until(() => gapsIn(green.peer.packets.slice(-100)) === 0, 'a picture without gaps');
    assert.equal(await pictures(green.peer), ['red']);
  }),
);

const key = (): SrtpKey => ({ suite: 'AES_CM_128_HMAC_SHA1_80', key: randomBytes(30).toString('base64') });

ffmpeg.test(test, 'secret video is opened and made secret again: a plane understands another one', () =>
  onStage(1, async ({ plane, mix, call }) => {
    const viewer = await call('g');
    const far = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
    const [local, remote] = [key(), key()];
    const near = await plane.openRtp('near', () => {});
    const beyond = await far.openRtp('beyond', () => {});
    const [nearPort, beyondPort] = [await near.openVideo(0), await beyond.openVideo(0)];
    near.configureVideo(0, { ...usualVideo, remote: beyondPort, srtp: { local, remote } });
    beyond.configureVideo(0, { ...usualVideo, remote: nearPort, srtp: { local: remote, remote: local } });
    mix.join(near, member);
    const red = await openVideoCall(far, 'red');
    const farMix = far.openMix('far', 'mixing', () => {});
    farMix.join(beyond, member);
    farMix.join(red.session, member);
    red.peer.show(await clipOf('vp8', 'red'));
    farMix.video({ mode: 'talker' });
    mix.video({ mode: 'talker' });
    await viewer.peer.sees(5);
    assert.equal(await pictures(viewer.peer), ['red']);
    await red.peer.close();
    await far.close();
  }),
);

test('streams are opened once, bounded, and let go with their line or their session', () =>
  onStage(1, async ({ plane }) => {
    const before = await plane.usage();
    const session = await plane.openRtp('a', () => {});
    const first = await session.openVideo(0);
    assert.equal(await session.openVideo(0), first);
    await Promise.all(Array.from({ length: config.video.streams - 1 }, (_, index) => session.openVideo(index + 1)));
    const refused = await session.openVideo(99).then(
      () => 'opened',
      (error: Error) => error.message,
    );
    assert.is(refused, 'the session has no free video stream');
    assert.is((await plane.usage()).ports, before.ports + 1 + config.video.streams);
    session.configureVideo(1, undefined);
    assert.is((await plane.usage()).ports, before.ports + config.video.streams);
    assert.not.equal(await session.openVideo(1), first);
    session.close();
    assert.equal(await plane.usage(), before);
    const closed = await session.openVideo(0).then(
      () => 'opened',
      (error: Error) => error.message,
    );
    assert.is(closed, 'the session was closed');
  }));

ffmpeg.test(test, 'figures of a stream tell what came, what was shown and what was asked', () =>
  onStage(1, async ({ mix, call }) => {
    const red = await call('r', 'red');
    const green = await call('g');
    mix.video({ mode: 'talker' });
    await green.peer.sees(10);
    const [received] = await red.session.videoStatistics();
    const [shown] = await green.session.videoStatistics();
    const codec: VideoCodec = 'vp8';
    assert.equal(
      { stream: received!.stream, codec: received!.codec, remote: received!.remote_ssrc, switches: received!.switches },
      { stream: 0, codec, remote: red.peer.ssrc, switches: 0 },
    );
    assert.ok(received!.rxcount > 10 && received!.key_frames > 0 && received!.key_frames_asked > 0);
    assert.is(shown!.local_ssrc, green.peer.packets[0]!.ssrc);
    assert.ok(shown!.txcount >= green.peer.packets.length && shown!.switches === 1);
  }),
);

test.run();
