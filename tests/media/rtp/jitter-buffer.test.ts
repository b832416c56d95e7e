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

const put = (buffer: JitterBuffer<number>, sequence: number, now: number) =>
  buffer.put(sequence, sequence * 160, sequence, now);

test('immediate: packets in order pass without any delay', () => {
  const buffer = new JitterBuffer<number>({ pacing: 'immediate' });
  for (let sequence = 65_530; sequence < 65_540; sequence++) {
    put(buffer, sequence & 0xffff, 0);
    assert.equal(takeAll(buffer, 0), [sequence & 0xffff]);
  }
});

test('immediate: a gap holds what is behind it until the missing packet comes', () => {
  const buffer = new JitterBuffer<number>({ pacing: 'immediate' });
  put(buffer, 1, 0);
  assert.equal(takeAll(buffer, 0), [1]);
  put(buffer, 4, 20);
  put(buffer, 3, 21);
  assert.equal(takeAll(buffer, 25), []);
  put(buffer, 2, 30);
  assert.equal(takeAll(buffer, 30), [2, 3, 4]);
  assert.equal([buffer.lost, buffer.late, buffer.size], [0, 0, 0]);
});

test('immediate: a gap is given up after the hold, and a packet that comes later is dropped and lengthens the hold', () => {
  const buffer = new JitterBuffer<number>({ pacing: 'immediate' });
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
  const buffer = new JitterBuffer<number>({ pacing: 'immediate' });
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
  const buffer = new JitterBuffer<number>({ pacing: 'immediate' });
  put(buffer, 1, 0);
  takeAll(buffer, 0);
  put(buffer, 3, 0);
  assert.is(put(buffer, 3, 1), false);
  assert.is(buffer.duplicates, 1);
});

test('a jump of the source, forwards or backwards, does not stop the flow', () => {
  const buffer = new JitterBuffer<number>({ pacing: 'immediate' });
  put(buffer, 1, 0);
  assert.equal(takeAll(buffer, 0), [1]);
  put(buffer, 5000, 10);
  assert.equal(takeAll(buffer, 10), [5000]);
  put(buffer, 3, 20);
  assert.equal(takeAll(buffer, 20), [3]);
});

test('paced: packets that came in a burst are given out at the pace of their timestamps', () => {
  const buffer = new JitterBuffer<number>({ pacing: 'paced' });
  for (const sequence of [1, 3, 2]) put(buffer, sequence, 0);
  const given = [0, 19, 20, 39, 40, 60].map((now) => takeAll(buffer, now));
  assert.equal(given, [[], [], [1], [], [2], [3]]);
});

test('paced: the delay grows with the jitter and stays within its bound', () => {
  const buffer = new JitterBuffer<number>({ pacing: 'paced', maximumMs: 100 });
  assert.is(buffer.holdMs, 20);
  for (let sequence = 1; sequence <= 200; sequence++) {
    put(buffer, sequence, sequence * 20 + (sequence % 2) * 60);
    takeAll(buffer, sequence * 20 + 60);
  }
  assert.is(buffer.holdMs, 100);
});

test('paced: a missing packet is skipped when the one behind it is due', () => {
  const buffer = new JitterBuffer<number>({ pacing: 'paced' });
  put(buffer, 1, 0);
  put(buffer, 3, 0);
  assert.equal([takeAll(buffer, 20), takeAll(buffer, 40), takeAll(buffer, 60)], [[1], [], [3]]);
  assert.is(buffer.lost, 1);
});

test('whatever arrives, what is given out is in order and nothing is given out twice', () => {
  const arrival = fc.record({ sequence: fc.integer({ min: 100, max: 140 }), wait: fc.integer({ min: 0, max: 60 }) });
  fc.assert(
    fc.property(
      fc.array(arrival, { maxLength: 80 }),
      fc.constantFrom('immediate' as const, 'paced' as const),
      (arrivals, pacing) => {
        const buffer = new JitterBuffer<number>({ pacing });
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
      },
    ),
  );
});

test('any numbers at any time never throw and never fill more than the window', () => {
  const arrival = fc.tuple(
    fc.integer({ min: 0, max: 65_535 }),
    fc.integer({ min: 0, max: 0xffff_ffff }),
    fc.nat(100_000),
  );
  fc.assert(
    fc.property(fc.array(arrival), (arrivals) => {
      const buffer = new JitterBuffer<number>({ pacing: 'immediate' });
      for (const [sequence, timestamp, now] of arrivals) {
        buffer.put(sequence, timestamp, sequence, now);
        buffer.take(now);
        assert.ok(buffer.size <= 64);
      }
    }),
  );
});

test.run();
