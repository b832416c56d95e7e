import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Pace } from '../../../src/media/external/pace.ts';

/** Hears a frame every `everyMs`, `count` times. @returns when it ended. */
function hear(pace: Pace, from: number, count: number, everyMs = 20): number {
  for (let frame = 0; frame < count; frame++) pace.hear(0, from + frame * everyMs);
  return from + count * everyMs;
}

test('a stream is even from its first frame on, while one comes every 20 ms, give or take 10', () => {
  const pace = new Pace();
  assert.not(pace.even);
  assert.is(pace.hear(0, 1000), true);
  for (let frame = 1; frame < 1000; frame++) assert.is(pace.hear(0, 1000 + 20 * frame + (frame % 2) * 9), false);
  assert.ok(pace.even);
});

for (const [name, waiting, offMs] of [
  ['a burst', 1, 0],
  ['a frame that is early', 0, -11],
  ['a frame that is late', 0, 11],
] as const)
  test(`${name} makes it uneven for the next ten seconds`, () => {
    const pace = new Pace();
    const now = hear(pace, 1000, 50) + offMs;
    assert.is(pace.hear(waiting, now), true);
    const calm = hear(pace, now + 20, 499);
    assert.not(pace.even);
    assert.is(pace.hear(0, calm), true);
  });

test('a pause is no trouble, though nobody waits for what follows', () => {
  const pace = new Pace();
  const now = hear(pace, 1000, 50);
  assert.is(pace.check(now + 10, now + 10), false);
  assert.is(pace.check(now + 11, now + 11), true);
  assert.not(pace.even);
  assert.is(pace.hear(0, now + 101), true);
  assert.ok(pace.even);
});

test('a sender whose clock is 0.1 % fast counts as even, one that sends faster than playback does not', () => {
  const pace = new Pace();
  hear(pace, 1000, 100_000, 19.98);
  assert.ok(pace.even);
  hear(pace, 2_999_000, 200, 19.8);
  assert.not(pace.even);
});

for (const stallMs of [10, 19, 40, 95, 150, 400])
  test(`frames that this thread reads ${stallMs} ms late, because it stood still, leave the stream even`, () => {
    const pace = new Pace();
    let now = 1000;
    /** A tick at each 20 ms, a frame 7 ms behind it. Nothing is done while the thread stands still; frames wait meanwhile. */
    const pass = (ticks: number, stoodUntil = 0) => {
      let waiting = 0;
      const owed: number[] = [];
      for (let at = now; at < now + ticks * 20; at++) {
        if (at % 20 === 0) owed.push(at);
        if (at % 20 === 7) waiting++;
        if (at < stoodUntil) continue;
        if (waiting > 0) pace.hear(waiting - 1, at);
        waiting = 0;
        for (const nominal of owed.splice(0)) pace.check(nominal, at);
        assert.ok(pace.even || at < 1010, `uneven at ${at}`);
      }
      now += ticks * 20;
    };
    for (const phase of [0, 5, 12, 18]) {
      pass(50);
      pass(50, now + phase + stallMs);
    }
  });

for (const [name, stallMs] of [
  ['while this thread stands still', 60],
  ['behind a late tick', 0],
] as const)
  test(`seconds of audio in one message ${name} make a stream uneven`, () => {
    const pace = new Pace();
    pace.check(1000, 1000);
    if (stallMs === 0) pace.check(1020, 1050);
    pace.hear(399, 1000 + (stallMs || 52));
    assert.not(pace.even);
  });

test.run();
