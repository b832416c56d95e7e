import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Concealer } from '../../../src/media/dsp/concealer.ts';
import { largestStep, level, likeness, noise, sine, speech } from '../signal.ts';

/** What is heard of a stream of which some 20 ms frames are lost. */
function heard(samples: Int16Array, rate: number, lost: (index: number) => boolean): Int16Array {
  const concealer = new Concealer(rate);
  const size = rate / 50;
  const result = samples.slice(0, Math.floor(samples.length / size) * size);
  for (let index = 0; index * size < result.length; index++) {
    const frame = result.subarray(index * size, (index + 1) * size);
    if (lost(index)) concealer.conceal(frame);
    else concealer.heard(frame);
  }
  return result;
}

/** A voice of steady pitch: harmonics of 140 Hz. */
function voice(rate: number, seconds: number): Int16Array {
  return Int16Array.from({ length: rate * seconds }, (_, index) => {
    let sum = 0;
    for (let harmonic = 1; harmonic <= 12; harmonic++)
      sum += Math.sin((2 * Math.PI * 140 * harmonic * index) / rate + harmonic) / harmonic;
    return Math.round(4000 * sum);
  });
}

for (const rate of [8000, 16_000, 48_000]) {
  const frame = rate / 50;

  test(`at ${rate} Hz a steady voice goes on as if nothing had been lost`, () => {
    const samples = voice(rate, 1);
    const out = heard(samples, rate, (index) => index === 20);
    // 10 ms are as loud as before.
    const [from, to] = [20 * frame, 20 * frame + frame / 2];
    const { correlation } = likeness(samples.subarray(from, to), out.subarray(from, to), 0);
    assert.ok(correlation > 0.97, `correlation ${correlation}`);
  });

  test(`at ${rate} Hz nothing clicks: no step is larger than those of the audio itself`, () => {
    for (const samples of [voice(rate, 2), speech(rate, 4), sine(433, rate, rate * 2), noise(rate, 4000)]) {
      const bound = largestStep(samples) * 1.25 + 50;
      for (const lost of [
        (index: number) => index % 10 === 9,
        (index: number) => index % 25 > 20,
        (index: number) => index % 2 === 1,
        (index: number) => index > 30 && index < 60,
      ]) {
        const out = heard(samples, rate, lost);
        assert.ok(largestStep(out) <= bound, `${largestStep(out)} where ${bound} is the most`);
      }
    }
  });

  test(`at ${rate} Hz a long loss fades within 60 ms and comes back as it was`, () => {
    const samples = voice(rate, 2);
    const out = heard(samples, rate, (index) => index >= 20 && index < 40);
    const share = (from: number, to: number) => level(out, from * frame, to * frame) / level(samples);
    assert.ok(share(20, 21) > 0.75, `first 20 ms: ${share(20, 21)}`);
    assert.ok(share(21, 22) < share(20, 21) && share(22, 23) < share(21, 22));
    assert.is(share(23, 40), 0);
    assert.equal(out.subarray(41 * frame), samples.subarray(41 * frame, out.length));
  });

  test(`at ${rate} Hz what is made up is never louder than what was heard`, () => {
    const samples = speech(rate, 10, 3);
    const out = heard(samples, rate, (index) => index % 7 === 6);
    for (let index = 6; (index + 1) * frame <= out.length; index += 7) {
      const before = Math.max(...[1, 2].map((back) => level(out, (index - back) * frame, (index - back + 1) * frame)));
      const made = level(out, index * frame, (index + 1) * frame);
      assert.ok(made <= before * 1.6 + 20, `frame ${index}: ${made} after ${before}`);
    }
  });
}

test('without a loss nothing is changed', () => {
  const samples = speech(8000, 2);
  assert.equal(
    heard(samples, 8000, () => false),
    samples,
  );
});

test('before anything was heard, and after a reset, silence is made up', () => {
  const concealer = new Concealer(8000);
  const target = noise(160);
  concealer.conceal(target);
  assert.is(level(target), 0);
  concealer.heard(voice(8000, 1));
  concealer.reset();
  target.set(noise(160));
  concealer.conceal(target);
  assert.is(level(target), 0);
});

test.run();
