import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { VideoPacket } from '../../../src/media/video/camera.ts';
import { everything, flow, HandCamera, type HandClock } from './cameras.ts';

/** Keeps what it was handed: the number of each packet. */
const viewer = () => {
  const indices: number[] = [];
  return { indices, take: ({ index }: VideoPacket) => void indices.push(index), takes: () => everything };
};

test('a key frame is asked for at once, but never more often than is allowed, by however many', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock, {}, { keyFramesPerSecond: 2 });
  hand.camera.askKeyFrame();
  assert.equal(hand.told, [], 'nobody has been heard yet');
  hand.receive(...hand.frame(1));
  const at: number[] = [];
  for (; clock.now < 2000; clock.now += 20) {
    const before = hand.told.length;
    for (let count = 0; count < 50; count++) hand.camera.askKeyFrame();
    hand.camera.tick(clock.now);
    if (hand.told.length > before) at.push(clock.now);
  }
  assert.equal(at, [0, 500, 1000, 1500]);
  assert.equal(new Set(hand.told), new Set(['206/1']));
});

test('what was asked before a key frame is forgotten when one comes', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  hand.receive(...hand.frame(1));
  hand.camera.askKeyFrame();
  hand.camera.askKeyFrame();
  hand.receive(...hand.frame(1));
  hand.camera.tick((clock.now += 5000));
  assert.equal(hand.told, ['206/1']);
});

test('a far side without PLI gets FIR; one without both is asked by another way, as often', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  hand.receive(...hand.frame(1));
  hand.camera.configure({ ...flow, feedback: { ...flow.feedback, nack: false, pli: false } });
  hand.camera.askKeyFrame();
  clock.now += 1000;
  hand.camera.configure({ ...flow, feedback: { ...flow.feedback, pli: false, fir: false } });
  for (let count = 0; count < 50; count++) hand.camera.askKeyFrame();
  assert.equal(hand.told, ['206/4', 'otherwise']);
});

test('lost packets are asked for again while somebody watches, three times at most', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  const watching = viewer();
  hand.receive(...hand.frame(1));
  hand.frame(1);
  hand.receive(...hand.frame(1));
  hand.camera.tick((clock.now += 40));
  assert.equal(hand.told, [], 'nobody watches');
  hand.camera.watch(watching);
  const lost = hand.frame(2);
  hand.receive(...hand.frame(1));
  const at: number[] = [];
  for (const end = clock.now + 2000; clock.now < end; clock.now += 20) {
    const before = hand.told.length;
    hand.camera.tick(clock.now);
    if (hand.told.length > before) at.push(clock.now);
  }
  assert.equal(at, [60, 160, 260]);
  assert.equal(new Set(hand.told), new Set(['205/1']));
  hand.receive(...lost);
  const [first] = watching.indices;
  assert.equal(
    watching.indices.map((index) => index - first!),
    [0, -2, -1],
  );
  assert.is(hand.camera.figures.missed, 0);
});

test('what a far side misses is bounded: where too much is lost nothing is asked for', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock, {}, { resendPackets: 10 });
  hand.camera.watch(viewer());
  hand.receive(...hand.frame(1));
  hand.frame(11);
  hand.receive(...hand.frame(1));
  assert.is(hand.camera.figures.missed, 0);
  assert.equal(hand.limits.figures(), { 'media.video.resend_packets': 1 });
  hand.frame(10);
  hand.receive(...hand.frame(1));
  assert.is(hand.camera.figures.missed, 10);
  assert.equal(hand.limits.figures(), { 'media.video.resend_packets': 1 });
});

test('packets that come twice or make no sense are handed to nobody', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  const watching = viewer();
  hand.camera.watch(watching);
  const packets = hand.frame(3);
  hand.receive(...packets, ...packets);
  const [cut] = hand.frame(1);
  hand.receive(cut!.subarray(0, 14));
  const [first] = watching.indices;
  assert.equal(
    watching.indices.map((index) => index - first!),
    [0, 1, 2],
  );
  assert.is(hand.camera.figures.leftOut, 4);
});

test('numbers go on where they wrap, and it lives while it sends', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock, { sequence: 0xfffe, timestamp: 0xffff_ff00 }, { sourceTimeoutMs: 100 });
  const watching = viewer();
  hand.camera.watch(watching);
  assert.is(hand.camera.live, false);
  hand.receive(...hand.frame(2), ...hand.frame(2));
  assert.equal(
    watching.indices.map((index) => index - watching.indices[0]!),
    [0, 1, 2, 3],
  );
  assert.is(hand.camera.live, true);
  clock.now += 100;
  assert.is(hand.camera.live, false);
});

test.run();
