import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ComfortNoise } from '../../../src/media/codec/comfort-noise.ts';
import { level } from '../signal.ts';

function noiseOf(...payload: number[]): Int16Array {
  const comfort = new ComfortNoise(7);
  comfort.update(Uint8Array.from(payload));
  const samples = new Int16Array(16_000);
  comfort.fill(samples, 0, samples.length);
  return samples;
}

test('the level is the one told, in dB under overload', () => {
  for (const dbov of [20, 40, 60]) {
    const expected = 32_768 * 10 ** (-dbov / 20);
    const measured = level(noiseOf(dbov));
    assert.ok(Math.abs(20 * Math.log10(measured / expected)) < 0.3, `−${dbov} dBov: ${measured} of ${expected}`);
  }
  assert.is(level(noiseOf(127)), 0);
});

test('a described spectrum colours the noise and keeps its level', () => {
  const white = noiseOf(40);
  // One reflection of −0.85: neighbours resemble each other.
  const coloured = noiseOf(40, 127 - 109);
  const neighbours = (samples: Int16Array) => {
    let sum = 0;
    for (let index = 1; index < samples.length; index++) sum += samples[index]! * samples[index - 1]!;
    return sum / (samples.length * level(samples) ** 2);
  };
  assert.ok(Math.abs(neighbours(white)) < 0.05, `white: ${neighbours(white)}`);
  assert.ok(Math.abs(neighbours(coloured) - 0.85) < 0.05, `coloured: ${neighbours(coloured)}`);
  assert.ok(Math.abs(20 * Math.log10(level(coloured) / level(white))) < 1, `${level(coloured)} of ${level(white)}`);
});

test('an empty packet changes nothing', () => {
  const comfort = new ComfortNoise();
  const samples = new Int16Array(160);
  comfort.update(Uint8Array.of(30));
  comfort.update(new Uint8Array(0));
  comfort.fill(samples, 80, 80);
  assert.is(level(samples, 0, 80), 0);
  assert.ok(level(samples, 80) > 500);
});

test('no packet makes it grow without bound', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (payload) => {
      const told = 32_768 * 10 ** (-(payload[0]! & 0x7f) / 20);
      assert.ok(level(noiseOf(...payload)) <= Math.max(2, told * 4));
    }),
  );
});

test.run();
