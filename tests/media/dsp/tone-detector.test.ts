import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ToneDetector } from '../../../src/media/dsp/tone-detector.ts';
import { noise, sine, speech } from '../signal.ts';

/** When a tone was told, in ms. */
function told(samples: Int16Array, { hertz = 1100, durationMs = 500, sampleRate = 8000 } = {}): number[] {
  const detector = new ToneDetector({ hertz, durationMs, sampleRate });
  const times: number[] = [];
  const size = sampleRate / 50;
  for (let at = 0; at < samples.length; at += size)
    if (detector.take(samples.subarray(at, at + size))) times.push(((at + size) * 1000) / sampleRate);
  return times;
}

const silence = (ms: number) => new Int16Array(ms * 8);
const joined = (...parts: Int16Array[]) => Int16Array.from(parts.flatMap((part) => [...part]));

test('a tone is told when it has sounded long enough, once for each time', () => {
  const tone = sine(1100, 8000, 8000);
  assert.equal(told(joined(silence(200), tone, silence(200), tone)), [700, 1900]);
});

test('at every rate', () => {
  for (const sampleRate of [8000, 16_000, 44_100, 48_000])
    assert.equal(told(sine(2100, sampleRate, sampleRate), { hertz: 2100, sampleRate }), [500]);
});

test('a click of noise in it does not make it begin anew, a pause does', () => {
  const tone = sine(1100, 8000, 8 * 300);
  assert.equal(told(joined(tone, noise(160, 9000), tone)), [520]);
  assert.equal(told(joined(tone, silence(60), tone)), []);
});

test('another frequency, a weak tone, a short one, noise and speech are not it', () => {
  for (const samples of [
    sine(1200, 8000, 16_000),
    sine(1000, 8000, 16_000),
    sine(1100, 8000, 16_000, 200),
    sine(1100, 8000, 8 * 480),
    noise(16_000, 20_000),
    speech(8000, 60),
  ])
    assert.equal(told(samples), []);
});

test.run();
