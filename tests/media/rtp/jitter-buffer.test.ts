import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { JitterBuffer } from '../../../src/media/rtp/jitter-buffer.ts';

/** Everything due at `now`. */
function takeAll(buffer: JitterBuffer<number>, now: number): number[] {
  const taken: number[] = [];
  for (let item = buffer.take(now); item !== undefined; item = buffer.take(now)) taken.push(item);
  return taken;
}

const put = (buffer: JitterBuffer<number>, sequence: number, now: number) => buffer.put(sequence, sequence, now);

test('packets in order pass without any delay', () => {
  const buffer = new JitterBuffer<number>();
  for (let sequence = 65_530; sequence < 65_540; sequence++) {
    put(buffer, sequence & 0xffff, 0);
    assert.equal(takeAll(buffer, 0), [sequence & 0xffff]);
  }
});

test('a gap holds what is behind it until the missing packet comes', () => {
  const buffer = new JitterBuffer<number>();
  put(buffer, 1, 0);
  assert.equal(takeAll(buffer, 0), [1]);
  put(buffer, 4, 20);
  put(buffer, 3, 21);
  assert.equal(takeAll(buffer, 25), []);
  put(buffer, 2, 30);
  assert.equal(takeAll(buffer, 30), [2, 3, 4]);
  assert.equal([buffer.lost, buffer.late, buffer.size], [0, 0, 0]);
});

test('a gap is given up after the hold, and a packet that comes later is dropped and lengthens the hold', () => {
  const buffer = new JitterBuffer<number>();
  put(buffer, 1, 0);
  takeAll(buffer, 0);
  put(buffer, 3, 20);
  assert.is(buffer.holdMs, 40);
  assert.equal(takeAll(buffer, 59), []);
  assert.equal(takeAll(buffer, 60), [3]);
  assert.is(put(buffer, 2, 70), false);
  assert.equal([buffer.lost, buffer.late, buffer.holdMs], [1, 1, 60]);
});

test('the hold never exceeds its bound, and shrinks again when nothing is late', () => {
  const buffer = new JitterBuffer<number>();
  put(buffer, 1000, 0);
  takeAll(buffer, 0);
  for (let late = 0; late < 50; late++) put(buffer, 990, 0);
  assert.is(buffer.holdMs, 200);
  for (let sequence = 1001; sequence < 1001 + 5000; sequence++) {
    put(buffer, sequence, 0);
    takeAll(buffer, 0);
  }
  assert.is(buffer.holdMs, 20);
});

test('duplicates are dropped and counted', () => {
  const buffer = new JitterBuffer<number>();
  put(buffer, 1, 0);
  takeAll(buffer, 0);
  put(buffer, 3, 0);
  assert.is(put(buffer, 3, 1), false);
  assert.is(buffer.duplicates, 1);
});

test('a jump of the source, forwards or backwards, does not stop the flow', () => {
  const buffer = new JitterBuffer<number>();
  put(buffer, 1, 0);
  assert.equal(takeAll(buffer, 0), [1]);
  put(buffer, 5000, 10);
  assert.equal(takeAll(buffer, 10), [5000]);
  put(buffer, 3, 20);
  assert.equal(takeAll(buffer, 20), [3]);
});

test('whatever arrives, what is given out is in order and nothing is given out twice', () => {
  const arrival = fc.record({ sequence: fc.integer({ min: 100, max: 140 }), wait: fc.integer({ min: 0, max: 60 }) });
  fc.assert(
    fc.property(fc.array(arrival, { maxLength: 80 }), (arrivals) => {
      const buffer = new JitterBuffer<number>();
      const given: number[] = [];
      let now = 0;
      for (const { sequence, wait } of arrivals) {
        now += wait;
        put(buffer, sequence, now);
        given.push(...takeAll(buffer, now));
      }
      given.push(...takeAll(buffer, now + 10_000));
      assert.is(buffer.size, 0);
      assert.equal(
        given,
        [...new Set(given)].sort((a, b) => a - b),
      );
    }),
  );
});

test('any numbers at any time never throw and never fill more than the window', () => {
  const arrival = fc.tuple(fc.integer({ min: 0, max: 65_535 }), fc.nat(100_000));
  fc.assert(
    fc.property(fc.array(arrival), (arrivals) => {
      const buffer = new JitterBuffer<number>();
      for (const [sequence, now] of arrivals) {
        buffer.put(sequence, sequence, now);
        buffer.take(now);
        assert.ok(buffer.size <= 64);
      }
    }),
  );
});

test.run();
