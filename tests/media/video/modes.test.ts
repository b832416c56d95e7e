import { test as inOne } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import { defaultMediaConfig, defaultVideoConfig } from '../../../src/media/config.ts';
import { createMediaPlane } from '../../../src/media/media-plane.ts';
import type { Mix, MixReport } from '../../../src/telephony/media.ts';
import { need } from '../../support/need.ts';
import { type ClipCodec, type Colour, clipOf } from '../../support/video/clips.ts';
import {
  decode,
  framesOf,
  gapsIn,
  inOrder,
  inTurn,
  pictureIdOf,
  type VideoPacketHeard,
} from '../../support/video/pictures.ts';
import { openVideoCall, type VideoCall } from '../../support/video/video-call.ts';
import { memoryLogger } from '../support.ts';

const ffmpeg = need('ffmpeg');
const member = { role: 'participant', muted: false, passDigits: false } as const;

type Room = { mix: Mix; calls: VideoCall[]; reports: MixReport[]; told(count: number): Promise<void> };

/** A mix of far sides that each send a colour, in so many threads. */
async function inRoom(
  { threads, codec, senders, streams = 1 }: { threads: number; codec: ClipCodec; senders: Colour[]; streams?: number },
  run: (room: Room) => Promise<void>,
): Promise<void> {
  const config = {
    ...defaultMediaConfig,
    ports: { first: 0, last: 0 },
    threads,
    // A machine with much else to do is no thread that hangs, and no camera that is gone.
    threadTimeoutMs: 60_000,
    video: { ...defaultVideoConfig, sourceTimeoutMs: 60_000 },
  };
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const reports: MixReport[] = [];
  let heard = () => {};
  const mix = plane.openMix('room', 'mixing', (report) => {
    if (report.type !== 'mix.videoSource') return;
    reports.push(report);
    heard();
  });
  const calls: VideoCall[] = [];
  try {
    for (const [index, colour] of senders.entries()) {
      const call = await openVideoCall(plane, `c${index}`, { codec, streams });
      calls.push(call);
      mix.join(call.session, member);
      call.peer.show(await clipOf(codec, colour));
    }
    const told = async (count: number) => {
      while (reports.length < count) await new Promise<void>((resolve) => (heard = resolve));
    };
    await run({ mix, calls, reports, told });
  } finally {
    for (const { peers } of calls) for (const peer of peers) await peer.close();
    await plane.close();
  }
}

/** Picture ids of VP8 and VP9 go on by one from frame to frame, whoever is shown. */
function assertIdsGoOn(codec: ClipCodec, packets: readonly VideoPacketHeard[]): void {
  if (codec !== 'vp8' && codec !== 'vp9') return;
  const ordered = inOrder(packets);
  const frames = ordered.filter(({ timestamp }, index) => timestamp !== ordered[index - 1]?.timestamp);
  const ids = frames.map(({ payload }) => pictureIdOf(payload, codec)!);
  const expected = ids.map((_, index) => (ids[0]! + index) & 0x7fff);
  assert.equal(ids, expected, 'picture ids');
}

/** What a far side sees of what has come so far: colours in turn; numbers go on, and nobody complains. */
async function seen(codec: ClipCodec, call: VideoCall, stream = 0): Promise<Colour[]> {
  const { packets } = call.peers[stream]!;
  assert.is(new Set(packets.map(({ ssrc }) => ssrc)).size, 1, 'one source');
  assert.is(gapsIn(packets), 0, 'no gaps');
  assertIdsGoOn(codec, packets);
  const { pictures, complaints } = await decode(codec, framesOf(codec, packets));
  assert.is(complaints, '');
  return inTurn(pictures);
}

/**
 * Waits until all far sides are shown a colour in a stream: a switch takes as long as the key frame that it waits for.
 * A decoder is a process that begins with the first frame: it is asked after 3 frames, then after 6, 12 and so on.
 */
async function show(codec: ClipCodec, calls: readonly VideoCall[], colour: Colour): Promise<void> {
  for (const call of calls) {
    let frames = 3;
    do {
      await call.peer.sees(frames);
      frames *= 2;
    } while ((await seen(codec, call)).at(-1) !== colour);
  }
}

for (const [codec, threads] of [
  ['vp8', 1],
  ['h264', 3],
] as const) {
  const where = `${codec}, ${threads === 1 ? 'one thread' : `${threads} threads`}`;

  ffmpeg.test(inOne, `two far sides see each other (${where})`, () =>
    inRoom({ threads, codec, senders: ['red', 'green'] }, async ({ mix, calls: [one, two] }) => {
      mix.video({ mode: 'talker' });
      await Promise.all([one!.peer.sees(5), two!.peer.sees(5)]);
      assert.equal([await seen(codec, one!), await seen(codec, two!)], [['green'], ['red']]);
    }),
  );

  ffmpeg.test(inOne, `one source is shown to all, another one from its next key frame on (${where})`, () =>
    inRoom({ threads, codec, senders: ['red', 'green', 'blue'] }, async ({ mix, calls, reports }) => {
      const [red, green, blue] = calls as [VideoCall, VideoCall, VideoCall];
      mix.video({ mode: 'single', source: red.session });
      await Promise.all(calls.map(({ peer }) => peer.sees(4)));
      const asked = green.peer.feedback.filter(({ type }) => type === 'pli').length;
      mix.video({ mode: 'single', source: green.session });
      await green.peer.until(
        () => green.peer.feedback.filter(({ type }) => type === 'pli').length > asked,
        'a key frame request',
      );
      await show(codec, calls, 'green');
      for (const call of [red, green, blue]) assert.equal(await seen(codec, call), ['red', 'green']);
      assert.equal(reports, []);
    }),
  );

  ffmpeg.test(inOne, `each is shown each other in a stream of its own (${where})`, () =>
    inRoom({ threads, codec, senders: ['red', 'green', 'blue'], streams: 2 }, async ({ mix, calls }) => {
      const [red, green, blue] = calls as [VideoCall, VideoCall, VideoCall];
      mix.video({ mode: 'sfu' });
      mix.show(red.session, [green.session, blue.session]);
      mix.show(green.session, [red.session, blue.session]);
      mix.show(blue.session, [red.session, green.session]);
      await Promise.all(calls.flatMap(({ peers }) => peers.map((peer) => peer.sees(5))));
      const all: Colour[][][] = [];
      for (const call of calls) all.push([await seen(codec, call, 0), await seen(codec, call, 1)]);
      assert.equal(all, [
        [['green'], ['blue']],
        [['red'], ['blue']],
        [['red'], ['green']],
      ]);
    }),
  );
}

for (const [codec, threads] of [
  ['vp9', 3],
  ['av1', 1],
] as const)
  ffmpeg.test(
    inOne,
    `every mode shows whole pictures, each switch with a key frame that was asked for (${codec}, ${threads === 1 ? 'one thread' : `${threads} threads`})`,
    () =>
      inRoom({ threads, codec, senders: ['red', 'green', 'blue'], streams: 2 }, async ({ mix, calls }) => {
        const [red, green, blue] = calls as [VideoCall, VideoCall, VideoCall];
        const each = () => Promise.all(calls.map(({ peer }) => peer.sees(5)));
        mix.video({ mode: 'talker' });
        await each();
        assert.equal(
          [await seen(codec, red), await seen(codec, green), await seen(codec, blue)],
          [['green'], ['red'], ['red']],
        );
        const asked = blue.peer.feedback.filter(({ type }) => type === 'pli').length;
        mix.video({ mode: 'single', source: blue.session });
        await blue.peer.until(
          () => blue.peer.feedback.filter(({ type }) => type === 'pli').length > asked,
          'a key frame request',
        );
        await show(codec, calls, 'blue');
        mix.video({ mode: 'sfu' });
        mix.show(red.session, [green.session, blue.session]);
        mix.show(green.session, [red.session, blue.session]);
        mix.show(blue.session, [red.session, green.session]);
        await Promise.all(calls.flatMap(({ peers }) => peers.map((peer) => peer.sees(5))));
        await show(codec, [red], 'green');
        await show(codec, [green, blue], 'red');
        assert.equal(
          [await seen(codec, red), await seen(codec, green), await seen(codec, blue)],
          [
            ['green', 'blue', 'green'],
            ['red', 'blue', 'red'],
            ['red', 'blue', 'red'],
          ],
        );
        assert.equal(
          [await seen(codec, red, 1), await seen(codec, green, 1), await seen(codec, blue, 1)],
          [['blue'], ['blue'], ['green']],
        );
      }),
  );

inOne.run();
