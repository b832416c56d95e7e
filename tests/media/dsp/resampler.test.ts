import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Resampler } from '../../../src/media/dsp/resampler.ts';
import { level, noise, sine, sineToNoise, speech } from '../signal.ts';

const rates = [8000, 12_000, 16_000, 24_000, 32_000, 44_100, 48_000];
const pairs = rates.flatMap((from) => rates.filter((to) => to !== from).map((to) => [from, to] as const));

function resampled(samples: Int16Array, from: number, to: number, size = from / 50): Int16Array {
  const resampler = new Resampler(from, to);
  const target = new Int16Array(resampler.most(samples.length) + 8);
  let written = 0;
  for (let at = 0; at < samples.length; at += size)
    written += resampler.process(samples.subarray(at, at + size), target.subarray(written));
  return target.subarray(0, written);
}

test('tones that a telephone carries come out clean at every pair of rates: 70 dB above all else', () => {
  for (const [from, to] of pairs)
    for (const share of [0.05, 0.21, 0.4]) {
      const hertz = Math.round(Math.min(from, to) * share);
      const heard = resampled(sine(hertz, from, from / 2, 28_000), from, to).subarray(to / 10);
      const { ratio, amplitude } = sineToNoise(heard, hertz, to);
      assert.ok(ratio >= 70, `${from} to ${to}, ${hertz} Hz: ${ratio.toFixed(1)} dB`);
      assert.ok(Math.abs(20 * Math.log10(amplitude / 28_000)) < 0.1, `${from} to ${to}, ${hertz} Hz: ${amplitude}`);
    }
});

test('what the lower rate cannot carry does not come back as another tone', () => {
  for (const [from, to] of pairs.filter((each) => each[1] < each[0])) {
    const hertz = Math.round(to * 0.6);
    if (hertz > from * 0.45) continue;
    const heard = resampled(sine(hertz, from, from / 2, 28_000), from, to).subarray(to / 10);
    const down = 20 * Math.log10(28_000 / Math.SQRT2 / Math.max(level(heard), 0.01));
    assert.ok(down >= 70, `${from} to ${to}, ${hertz} Hz: ${down.toFixed(1)} dB down`);
  }
});

test('20 ms give 20 ms, in every frame', () => {
  for (const [from, to] of pairs) {
    const resampler = new Resampler(from, to);
    const frame = noise(from / 50);
    const target = new Int16Array(resampler.most(frame.length));
    for (let index = 0; index < 20; index++) assert.is(resampler.process(frame, target), to / 50, `${from} to ${to}`);
  }
});

test('pieces of any size are one stream, without a seam', () => {
  for (const [from, to] of [
    [8000, 48_000],
    [48_000, 8000],
    [44_100, 16_000],
    [16_000, 44_100],
  ] as const) {
    const samples = speech(from, 1);
    const whole = resampled(samples, from, to, samples.length);
    for (const size of [1, 7, from / 50, 3001])
      assert.equal(resampled(samples, from, to, size), whole, `${from} to ${to} by ${size}`);
  }
});

test('the end of the scale is clipped, never wrapped', () => {
  const square = Int16Array.from({ length: 8000 }, (_, index) => (index % 40 < 20 ? 32_767 : -32_768));
  const heard = resampled(square, 8000, 48_000);
  // In the middle of each half wave, where the filter's ringing has passed, the sign is the one that was said.
  for (let half = 4; half < 390; half++) {
    const middle = heard[(half * 20 + 10 + 16) * 6]!;
    assert.ok(Math.abs(middle) > 30_000 && middle > 0 === (half % 2 === 0), `half wave ${half}: ${middle}`);
  }
});

test('the delay is told, and a reset stream begins in silence', () => {
  const resampler = new Resampler(8000, 16_000);
  assert.is(resampler.delayMs, 2);
  const target = new Int16Array(400);
  resampler.process(sine(1000, 8000, 160), target);
  resampler.reset();
  resampler.process(new Int16Array(160), target);
  assert.is(level(target, 0, 320), 0);
});

test.run();
