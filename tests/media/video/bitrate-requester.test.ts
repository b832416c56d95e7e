import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LimitCounts } from '../../../src/lib/limit-counts.ts';
import { BitrateRequester } from '../../../src/media/video/bitrate-requester.ts';
import { everything, flow, HandCamera, type HandClock, handScreen } from './cameras.ts';

const most = 1_000_000_000;

function asker() {
  const said: [number, number][] = [];
  const limits = new LimitCounts();
  let now = 0;
  let can = true;
  const asks = new BitrateRequester({
    ...{ everyMs: 500, lowest: 100_000, hit: limits.hit },
    send: (bitrate) => {
      if (can) said.push([now, bitrate]);
      return can;
    },
  });
  const until = (end: number): void => {
    for (; now < end; now += 20) asks.tick(now);
  };
  return { asks, said, limits, until, able: (value: boolean) => (can = value) };
}

test('a source is told what all take at once, again every few seconds, and three times that it is free', () => {
  const { asks, said, until } = asker();
  until(1000);
  assert.equal([said, asks.state, asks.told], [[], 'free', undefined]);
  asks.want(300_000);
  until(12_000);
  assert.equal([asks.state, asks.told], ['bound', 300_000]);
  asks.want(everything);
  assert.equal([asks.state, asks.told], ['freed', 300_000]);
  until(40_000);
  assert.equal([asks.state, asks.told], ['free', undefined]);
  assert.equal(said, [
    ...[1000, 6000, 11_000].map((at) => [at, 300_000]),
    ...[12_000, 17_000, 22_000].map((at) => [at, most]),
  ]);
});

test('however often that changes, it is told as often as is allowed, and then the latest', () => {
  const { asks, said, until } = asker();
  for (let step = 0; step < 100; step++) {
    asks.want(200_000 + step);
    until(20 * (step + 1));
  }
  until(4000);
  assert.equal(said, [
    [0, 200_000],
    [500, 200_025],
    [1000, 200_050],
    [1500, 200_075],
    [2000, 200_099],
  ]);
});

test('one who is freed for a moment is bound again', () => {
  const { asks, said, until } = asker();
  asks.want(300_000);
  until(1000);
  asks.want(everything);
  asks.want(400_000);
  assert.is(asks.state, 'bound');
  until(2000);
  assert.equal(said, [
    [0, 300_000],
    [1000, 400_000],
  ]);
});

test('nobody makes a source go below what is set, and what is as good as no bound is none', () => {
  const { asks, said, limits, until } = asker();
  asks.want(0);
  asks.want(1);
  until(1000);
  asks.want(most);
  asks.want(10 * most);
  until(1040);
  assert.equal(said, [
    [0, 100_000],
    [1000, most],
  ]);
  assert.equal(limits.figures(), { 'media.video.lowest_bitrate': 1 });
});

test('a source that cannot be told yet, or begins anew, is told as soon as it can be', () => {
  const { asks, said, until, able } = asker();
  able(false);
  asks.want(300_000);
  until(1000);
  able(true);
  until(2000);
  asks.again();
  until(3000);
  assert.equal(said, [
    [1000, 300_000],
    [2000, 300_000],
  ]);
});

test('a camera is asked for the least that those take who are shown it, and freed when they leave', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  hand.camera.configure({ ...flow, feedback: { ...flow.feedback, tmmbr: true, remb: true } });
  hand.receive(...hand.frame(1));
  const [one, other] = [handScreen(clock), handScreen(clock)];
  const asked = () => {
    clock.now += 1000;
    hand.camera.tick(clock.now);
    return hand.camera.bitrateAsked;
  };
  one.shown.show(hand.camera);
  other.shown.show(hand.camera);
  assert.is(asked(), undefined);
  one.shown.configure({ ...flow, maxBitrate: 500_000 });
  assert.is(asked(), 500_000);
  other.shown.bitrateAsked(300_000, 'remb');
  other.shown.bitrateAsked(400_000, 'tmmbr');
  assert.equal([asked(), other.shown.bitrateTaken], [300_000, 300_000]);
  other.shown.bitrateAsked(everything, 'remb');
  assert.is(asked(), 400_000);
  // It is on hold, and back.
  other.shown.configure({ ...flow, send: false });
  assert.is(asked(), 500_000);
  other.shown.configure(flow);
  assert.is(asked(), 400_000);
  // Another far side: what the one before has said does not hold for it.
  other.shown.configure({ ...flow, remote: { address: '127.0.0.1', port: 4002 } });
  assert.is(asked(), 500_000);
  one.shown.show(undefined);
  assert.is(asked(), undefined);
  assert.equal(new Set(hand.told), new Set(['206/1', '205/3']));
});

test('who knows no TMMBR is asked by REMB, and who knows neither not at all', () => {
  const clock: HandClock = { now: 0 };
  for (const [feedback, told] of [
    [{ tmmbr: false, remb: true }, ['206/15']],
    [{ tmmbr: false, remb: false }, []],
  ] as const) {
    const hand = new HandCamera(1, clock);
    hand.camera.configure({ ...flow, feedback: { ...flow.feedback, ...feedback } });
    hand.receive(...hand.frame(1));
    const { shown } = handScreen(clock);
    shown.show(hand.camera);
    shown.bitrateAsked(300_000, 'remb');
    hand.told.length = 0;
    hand.camera.tick((clock.now += 20));
    assert.equal([hand.told, hand.camera.bitrateAsked], [told, told.length > 0 ? 300_000 : undefined]);
  }
});

test('a camera that is not passed on for its codec is not asked to send less', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  hand.camera.configure({ ...flow, feedback: { ...flow.feedback, tmmbr: true } });
  const { shown } = handScreen(clock);
  shown.configure({ ...flow, codec: 'vp9', maxBitrate: 300_000 });
  shown.show(hand.camera);
  hand.receive(...hand.frame(1));
  hand.camera.tick((clock.now += 20));
  assert.is(hand.camera.bitrateAsked, undefined);
});

test('a far side that takes less all the time is sent no more than that, however often it says so', () => {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  shown.show(hand.camera);
  for (let frame = 0; frame < 300; frame++) {
    // Two frames of 19 octets fit into a second; each time it says a little more or less. (An estimate counts as the lowest rate.)
    shown.bitrateAsked(304 - (frame % 2), 'tmmbr');
    hand.receive(...hand.frame(1));
    clock.now += 33;
    hand.camera.tick(clock.now);
    shown.tick(clock.now);
  }
  const octets = sent.reduce((sum, packet) => sum + packet.length, 0);
  assert.ok(octets <= (38 * (300 * 33 + 1000)) / 1000 + 19, `${octets} octets`);
  assert.ok(octets >= 19 * 8, `${octets} octets`);
  // Nothing at all, and then all again.
  shown.bitrateAsked(0, 'tmmbr');
  sent.length = 0;
  for (let frame = 0; frame < 100; frame++) {
    hand.receive(...hand.frame(1));
    shown.tick((clock.now += 33));
  }
  assert.is(sent.length, 0);
  shown.bitrateAsked(everything, 'tmmbr');
  shown.bitrateAsked(everything, 'remb');
  for (let frame = 0; frame < 10; frame++) {
    hand.receive(...hand.frame(1));
    hand.camera.tick((clock.now += 33));
  }
  assert.ok(sent.length >= 5, `${sent.length} packets`);
});

test.run();
