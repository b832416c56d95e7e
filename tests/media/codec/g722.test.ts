import { execFileSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { G722Decoder, G722Encoder } from '../../../src/media/codec/g722.ts';
import { need } from '../../support/need.ts';
import { likeness, noise, sine, sineToNoise, speech } from '../signal.ts';

const ffmpeg = need('ffmpeg');

/** Speech, then noise at the end of the scale, then silence: what every table and every limit is reached by. */
function material(): Int16Array {
  const parts = [speech(16_000, 3), noise(16_000, 32_767), new Int16Array(3200), sine(5200, 16_000, 8000, 30_000)];
  return Int16Array.from(parts.flatMap((part) => [...part]));
}

function encoded(samples: Int16Array): Uint8Array {
  const octets = new Uint8Array(samples.length / 2);
  assert.is(new G722Encoder().encode(samples, octets), octets.length);
  return octets;
}

function decoded(octets: Uint8Array): Int16Array {
  const samples = new Int16Array(octets.length * 2);
  assert.is(new G722Decoder().decode(octets, samples), samples.length);
  return samples;
}

/** Runs ffmpeg over standard input and output. */
function converted(program: string, input: Uint8Array, from: string[], to: string[]): Buffer {
  return execFileSync(program, ['-v', 'error', ...from, '-i', 'pipe:0', ...to, 'pipe:1'], {
    input,
    maxBuffer: 64 * 1024 * 1024,
  });
}

ffmpeg.test(test, 'octets are those of another encoder, one by one', (program) => {
  const samples = material();
  const octets = converted(
    program,
    Buffer.from(samples.buffer),
    ['-f', 's16le', '-ar', '16000', '-ac', '1'],
    ['-c:a', 'g722', '-f', 'g722'],
  );
  assert.equal(Buffer.from(encoded(samples)), octets);
});

ffmpeg.test(test, 'samples are those of another decoder, one by one', (program) => {
  const octets = encoded(material());
  const samples = converted(program, octets, ['-f', 'g722'], ['-f', 's16le']);
  assert.equal(Buffer.from(decoded(octets).buffer), samples);
});

ffmpeg.test(test, 'whatever octets arrive are decoded as elsewhere', (program) => {
  const octets = Uint8Array.from(noise(8000, 128), (each) => each & 0xff);
  const samples = converted(program, octets, ['-f', 'g722'], ['-f', 's16le']);
  assert.equal(Buffer.from(decoded(octets).buffer), samples);
});

test('speech comes out as it went in, 22 samples later', () => {
  const samples = speech(16_000, 2);
  const { correlation, delay } = likeness(samples, decoded(encoded(samples)), 40);
  assert.ok(correlation > 0.995, `correlation ${correlation}`);
  assert.is(delay, 22);
});

test('both bands carry: tones of 1 and 6 kHz keep their level', () => {
  for (const [hertz, ratio] of [
    [1000, 25],
    [6000, 15],
  ] as const) {
    const heard = decoded(encoded(sine(hertz, 16_000, 16_000))).subarray(3200);
    const measured = sineToNoise(heard, hertz, 16_000);
    assert.ok(Math.abs(measured.amplitude - 8000) < 500, `${hertz} Hz: ${measured.amplitude}`);
    assert.ok(measured.ratio > ratio, `${hertz} Hz: ${measured.ratio} dB`);
  }
});

test('an encoder that followed what another made goes on as that one would have', () => {
  const samples = speech(16_000, 2);
  const whole = encoded(samples);
  const encoder = new G722Encoder();
  encoder.follow(whole.subarray(0, 8000));
  const rest = new Uint8Array(8000);
  encoder.encode(samples.subarray(16_000), rest);
  const heard = decoded(Uint8Array.from([...whole.subarray(0, 8000), ...rest]));
  // Only the filter in front of it began anew: 24 samples.
  const expected = decoded(whole);
  assert.ok(likeness(expected.subarray(16_100), heard.subarray(16_100), 0).correlation > 0.999);
  assert.ok(Math.max(...heard.subarray(15_900, 16_100)) <= Math.max(...expected) * 1.1);
});

test('streams cut into packets anywhere are the same stream', () => {
  const samples = speech(16_000, 1);
  const encoder = new G722Encoder();
  const decoder = new G722Decoder();
  const whole = encoded(samples);
  const octets: number[] = [];
  const heard: number[] = [];
  for (let at = 0, size = 2; at < samples.length; at += size, size = (size % 638) + 2) {
    const piece = samples.subarray(at, at + size);
    const packet = new Uint8Array(piece.length / 2);
    encoder.encode(piece, packet);
    const out = new Int16Array(piece.length);
    decoder.decode(packet, out);
    octets.push(...packet);
    heard.push(...out);
  }
  assert.equal(Uint8Array.from(octets), whole);
  assert.equal(Int16Array.from(heard), decoded(whole));
});

test.run();
