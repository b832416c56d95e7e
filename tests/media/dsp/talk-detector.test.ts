import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { meanLevel } from '../../../src/media/dsp/level.ts';
import { TalkDetector } from '../../../src/media/dsp/talk-detector.ts';
import { sine } from '../signal.ts';

/** Changes of `ms` of each level in turn, with the time they were told at. */
function changes(detector: TalkDetector, levels: readonly (readonly [level: number, ms: number])[]): unknown[] {
  const told: unknown[] = [];
  let now = 0;
  for (const [level, ms] of levels)
    for (let at = 0; at < ms; at += 20) {
      now += 20;
      const change = detector.takeLevel(level, 20);
      if (change) told.push({ at: now, ...change });
    }
  return told;
}

const detection = { thresholdLevel: 256, silenceMs: 500 };

test('the level of a frame is its mean magnitude', () => {
  assert.is(meanLevel(Int16Array.of(3, -3, 0, -6)), 3);
  assert.is(meanLevel(new Int16Array(0)), 0);
  assert.ok(Math.abs(meanLevel(sine(997, 8000, 8000, 1000)) - 2000 / Math.PI) < 15);
});

test('talking begins after two loud frames and is over after the silence asked for, which does not count', () => {
  const told = changes(new TalkDetector(detection), [
    [0, 1000],
    [1000, 2000],
    [0, 1000],
  ]);
  assert.equal(told, [
    { at: 1040, talking: true },
    { at: 3500, talking: false, durationMs: 2000 },
  ]);
});

test('who talked already is not told to begin, and ends', () => {
  const told = changes(new TalkDetector({ ...detection, talking: true }), [
    [1000, 200],
    [0, 1000],
  ]);
  assert.equal(told, [{ at: 700, talking: false, durationMs: 200 }]);
});

test('a click is no word, and a pause between words ends nothing', () => {
  const told = changes(new TalkDetector(detection), [
    [5000, 20],
    [0, 200],
    [1000, 300],
    [0, 480],
    [1000, 300],
    [0, 500],
  ]);
  assert.equal(told, [
    { at: 260, talking: true },
    { at: 1800, talking: false, durationMs: 1080 },
  ]);
});

test('who talks is heard a little below the threshold, who is quiet is not', () => {
  assert.equal(changes(new TalkDetector(detection), [[200, 2000]]), []);
  const told = changes(new TalkDetector(detection), [
    [256, 100],
    [200, 1000],
    [170, 1000],
  ]);
  assert.equal(told, [
    { at: 40, talking: true },
    { at: 1600, talking: false, durationMs: 1100 },
  ]);
});

test('audio is measured, and nothing arriving is silence', () => {
  const detector = new TalkDetector({ ...detection, talkMs: 20 });
  assert.equal(detector.take(sine(300, 8000, 160, 2000), 20), { talking: true });
  assert.is(detector.talking, true);
  assert.is(detector.take(new Int16Array(0), 480), undefined);
  assert.is(detector.quietMs, 480);
  assert.equal(detector.take(new Int16Array(0), 20), { talking: false, durationMs: 20 });
});

test('a source that goes ends talking, once', () => {
  const detector = new TalkDetector(detection);
  assert.is(detector.end(), undefined);
  changes(detector, [[1000, 200]]);
  assert.equal(detector.end(), { talking: false, durationMs: 200 });
  assert.is(detector.end(), undefined);
});

test.run();
