import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { decode, encode } from '../../../src/media/codec/codecs.ts';
import { type DetectedDigit, DigitDetector } from '../../../src/media/dsp/digit-detector.ts';
import { noise, speech } from '../signal.ts';

const frequencies: Readonly<Record<string, readonly [number, number]>> = Object.fromEntries(
  ['123A', '456B', '789C', '*0#D'].flatMap((row, r) =>
    [...row].map((digit, c) => [digit, [[697, 770, 852, 941][r]!, [1209, 1336, 1477, 1633][c]!]]),
  ),
);

type Shape = { rate?: number; ms?: number; low?: number; high?: number; off?: number };

/** A digit's two tones, `off` = how far from where they should be, as a share. */
function tone(digit: string, { rate = 8000, ms = 100, low = 5000, high = 5000, off = 0 }: Shape = {}): Int16Array {
  const [row, column] = frequencies[digit]!;
  const angle = (2 * Math.PI * (1 + off)) / rate;
  return Int16Array.from({ length: (rate * ms) / 1000 }, (_, at) =>
    Math.round(low * Math.sin(angle * row * at) + high * Math.sin(angle * column * at + 1)),
  );
}

const silence = (ms: number, rate = 8000) => new Int16Array((rate * ms) / 1000);
const joined = (...parts: Int16Array[]) => Int16Array.from(parts.flatMap((part) => [...part]));

/** All that is told of samples taken in frames of 20 ms. */
function heard(samples: Int16Array, rate = 8000, detector = new DigitDetector(rate)): DetectedDigit[] {
  const told: DetectedDigit[] = [];
  for (let at = 0; at < samples.length; at += rate / 50) {
    const ended = detector.take(samples.subarray(at, at + rate / 50));
    if (ended) told.push(ended);
  }
  return told;
}

const digitsOf = (told: readonly DetectedDigit[]) => told.map(({ digit }) => digit).join('');

test('all sixteen digits are heard, at every rate, each with its length', () => {
  for (const rate of [8000, 16_000, 44_100, 48_000]) {
    const parts = Object.keys(frequencies).flatMap((digit) => [tone(digit, { rate, ms: 100 }), silence(80, rate)]);
    const told = heard(joined(...parts), rate);
    assert.is(digitsOf(told), Object.keys(frequencies).join(''), `${rate} Hz`);
    for (const { digit, durationMs } of told)
      assert.ok(Math.abs(durationMs - 100) <= 26, `${digit} at ${rate} Hz: ${durationMs} ms`);
  }
});

test('digits of 45 ms with as much between are heard one by one, wherever they begin', () => {
  for (let offset = 0; offset < 25; offset++) {
    const parts = [...'5577#'].flatMap((digit) => [tone(digit, { ms: 45 }), silence(45)]);
    assert.is(digitsOf(heard(joined(silence(offset), ...parts, silence(100)))), '5577#', `${offset} ms`);
  }
});

test('digits are heard through G.711, loud and soft, with twist, off by 1.5 %, and in noise', () => {
  const shapes: Shape[] = [
    { low: 15_000, high: 15_000 },
    { low: 600, high: 600 },
    { low: 4000, high: 7500 },
    { low: 6500, high: 3000 },
    { off: 0.015 },
    { off: -0.015 },
  ];
  for (const shape of shapes)
    for (const codec of ['ulaw', 'alaw'] as const) {
      const parts = [...'159D*0#'].flatMap((digit) => [tone(digit, { ms: 80, ...shape }), silence(80)]);
      const line = joined(...parts);
      const hiss = noise(line.length, (shape.low ?? 5000) / 12);
      const noisy = line.map((sample, index) => sample + hiss[index]!);
      assert.is(digitsOf(heard(decode(codec, encode(codec, noisy)))), '159D*0#', JSON.stringify({ ...shape, codec }));
    }
});

test('what is too weak, too short, too much twisted, too far off or one tone only is no digit', () => {
  const line = (shape: Shape) => joined(silence(50), tone('5', { ms: 100, ...shape }), silence(100));
  const shapes: Shape[] = [
    { low: 150, high: 150 },
    { ms: 12 },
    { low: 1500, high: 7000 },
    { low: 9000, high: 2000 },
    { off: 0.04 },
    { off: -0.04 },
    { low: 0 },
    { high: 0 },
  ];
  for (const shape of shapes) assert.equal(heard(line(shape)), [], JSON.stringify(shape));
});

test('a digit is told at its end, and what sounds now is known', () => {
  const detector = new DigitDetector(8000);
  assert.equal(heard(tone('9', { ms: 200 }), 8000, detector), []);
  assert.is(detector.sounding, '9');
  assert.equal(digitsOf([detector.end()!]), '9');
  assert.is(detector.sounding, '');
  assert.is(detector.end(), undefined);
});

test('a gap of one frame, as a lost packet leaves it, makes one digit and not two', () => {
  const whole = tone('4', { ms: 200 });
  whole.fill(0, 800, 900);
  assert.is(digitsOf(heard(joined(whole, silence(100)))), '4');
});

test('one digit right behind another is heard as both', () => {
  assert.is(digitsOf(heard(joined(tone('1', { ms: 80 }), tone('2', { ms: 80 }), silence(80)))), '12');
});

test('ten minutes of something like speech hold no digit', () => {
  for (let seed = 1; seed <= 5; seed++)
    for (const rate of [8000, 16_000])
      assert.equal(heard(speech(rate, 60, seed), rate), [], `seed ${seed}, ${rate} Hz`);
});

test('no prompt holds a digit', () => {
  const directory = fileURLToPath(new URL('../../../sounds/en', import.meta.url));
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.wav'));
  assert.ok(files.length > 50);
  for (const file of files) {
    const octets = readFileSync(join(directory, file));
    const samples = new Int16Array(
      octets.buffer.slice(octets.byteOffset + 44, octets.byteOffset + (octets.length & ~1)),
    );
    assert.equal(heard(samples), [], file);
  }
});

test('noise holds no digit', () => {
  for (let seed = 1; seed < 6; seed++) assert.equal(heard(noise(8000 * 60, 20_000, seed)), []);
});

test.run();
