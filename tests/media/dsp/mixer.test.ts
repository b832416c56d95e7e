import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addInto, limit, MixBuffer } from '../../../src/media/dsp/mixer.ts';
import { sine, sineToNoise } from '../signal.ts';

test('sums within three quarters of the scale are passed unchanged', () => {
  for (let sum = -24_576; sum <= 24_576; sum++) if (limit(sum) !== sum) assert.unreachable(`${sum}: ${limit(sum)}`);
});

test('sums beyond never fall, never wrap, and never reach the end of the scale', () => {
  let before = limit(-3_000_000);
  assert.ok(before > -32_768);
  for (let sum = -3_000_000; sum <= 3_000_000; sum += Math.abs(sum) < 40_000 ? 1 : 97) {
    const now = limit(sum);
    if (now < before || now >= 32_767 || now <= -32_767 || now + limit(-sum) !== 0 || !Number.isInteger(now))
      assert.unreachable(`${sum}: ${now} after ${before}`);
    before = now;
  }
  assert.ok(limit(2 ** 31 - 1) > 32_700);
});

test('the curve has no corner at its knee', () => {
  for (let sum = 24_500; sum < 24_700; sum++) {
    const slope = limit(sum + 1) - limit(sum);
    if (slope !== 0 && slope !== 1) assert.unreachable(`${slope} at ${sum}`);
  }
  assert.ok(limit(24_676) >= 24_674);
});

test('each hears all others and not itself', () => {
  const frame = fc.int16Array({ minLength: 0, maxLength: 8, min: -1000, max: 1000 });
  fc.assert(
    fc.property(fc.array(frame, { minLength: 1, maxLength: 12 }), (members) => {
      const mix = new MixBuffer(8);
      mix.clear();
      for (const member of members) mix.add(member);
      const at = (each: Int16Array, index: number) => each[index] ?? 0;
      for (const own of members) {
        const heard = new Int16Array(8);
        mix.others(own, heard);
        const expected = Int16Array.from({ length: 8 }, (_, index) =>
          members.filter((each) => each !== own).reduce((sum, each) => sum + at(each, index), 0),
        );
        assert.equal(heard, expected);
      }
      const all = new Int16Array(8);
      mix.all(all);
      assert.equal(
        all,
        Int16Array.from({ length: 8 }, (_, index) => members.reduce((sum, each) => sum + at(each, index), 0)),
      );
    }),
  );
});

test('a cleared mix is silent, also behind a shorter frame', () => {
  const mix = new MixBuffer(4);
  mix.add(Int16Array.of(1, 2, 3, 4));
  mix.clear();
  mix.add(Int16Array.of(5));
  mix.clear();
  const heard = Int16Array.of(9, 9, 9, 9);
  mix.all(heard);
  assert.equal([...heard], [0, 0, 0, 0]);
});

test('a member may be given its answer in its own frame', () => {
  const mix = new MixBuffer(3);
  const own = Int16Array.of(1, 2, 3);
  mix.add(own);
  mix.add(Int16Array.of(10, 20, 30));
  mix.others(own, own);
  assert.equal([...own], [10, 20, 30]);
});

test('a hundred loud parties are pressed together, but each tone stays what it was for a quiet one', () => {
  const mix = new MixBuffer(8000);
  for (let party = 0; party < 100; party++) mix.add(sine(300 + party * 7, 8000, 8000, 20_000));
  const heard = new Int16Array(8000);
  mix.all(heard);
  let largest = 0;
  for (const sample of heard) largest = Math.max(largest, Math.abs(sample));
  assert.ok(largest > 32_000 && largest < 32_767, `${largest}`);
  mix.clear();
  mix.add(sine(440, 8000, 8000, 12_000));
  mix.add(sine(440, 8000, 8000, 12_000));
  mix.all(heard);
  assert.ok(sineToNoise(heard, 440, 8000).ratio > 80);
});

test('one frame is laid over another in place', () => {
  const target = Int16Array.of(100, 30_000, -30_000, 5);
  addInto(target, Int16Array.of(1, 30_000, -30_000));
  assert.equal([...target], [101, limit(60_000), limit(-60_000), 5]);
});

test.run();
