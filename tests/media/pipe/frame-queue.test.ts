import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameQueue } from '../../../src/media/pipe/frame-queue.ts';
import { sine } from '../signal.ts';

const tone = sine(430, 8000, 160 * 200);
const frame = (number: number) => ({ samples: tone.slice(number * 160, (number + 1) * 160), sampleRate: 8000 });

test('one a tick goes through at once; silence is silence', () => {
  const queue = new FrameQueue();
  assert.is(queue.take(), undefined);
  for (let tick = 0; tick < 100; tick++) {
    const said = tick % 10 === 9 ? undefined : frame(tick);
    queue.put(said);
    assert.is(queue.take(), said);
  }
});

test('what is late is made up, and the wait that comes of it ends', () => {
  const queue = new FrameQueue();
  for (let tick = 0; tick < 10; tick++) {
    queue.put(frame(tick));
    queue.take();
  }
  const made = queue.take();
  assert.ok(
    made?.samples.some((sample) => Math.abs(sample) > 4000) && made.samples.length === 160,
    'it goes on with what it knows',
  );
  queue.put(frame(10));
  let next = 11;
  /** How many ticks what is taken lies behind what was put, after so many ticks more. */
  const behindAfter = (ticks: number): number => {
    let taken: ReturnType<FrameQueue['take']>;
    for (let tick = 0; tick < ticks; tick++) {
      queue.put(frame(next++ % 200));
      taken = queue.take();
    }
    return [0, 1, 2].find((behind) => taken?.samples[5] === frame((next - 1 - behind) % 200).samples[5]) ?? 9;
  };
  assert.is(behindAfter(100), 1, 'one is kept in reserve');
  assert.is(behindAfter(500), 0, 'but not for ever');
});

test('after a gap concealment ends; late frames of those ticks are played, of more only the newest', () => {
  const queue = new FrameQueue();
  queue.put(frame(0));
  assert.equal(
    Array.from({ length: 6 }, () => queue.take() !== undefined),
    [true, true, true, true, false, false],
  );
  for (let number = 1; number < 6; number++) queue.put(frame(number));
  assert.equal(
    Array.from({ length: 5 }, () => queue.take()?.samples[150]),
    [1, 2, 3, 4, 5].map((number) => frame(number).samples[150]),
  );
  for (let number = 0; number < 5; number++) queue.put(frame(number));
  assert.equal(
    queue.flush().map(({ samples }) => samples[1]),
    [frame(4).samples[1]],
  );
});

test('frames for ticks that are owed wait, up to those of a second', () => {
  let now = 1000;
  const queue = new FrameQueue({ monotonic: () => now });
  queue.put(frame(0));
  queue.take(now);
  now += 500;
  for (let number = 1; number <= 25; number++) queue.put(frame(number));
  for (let number = 1; number <= 25; number++)
    assert.is(queue.take(1000 + 20 * number)?.samples[1], frame(number).samples[1]);
  now += 5000;
  for (let number = 0; number < 60; number++) queue.put(frame(number));
  assert.ok(queue.flush().length < 54);
});

/** A queue in which twenty frames wait, after they came twenty ticks late. */
function lateQueue(): FrameQueue {
  const queue = new FrameQueue();
  for (let tick = 0; tick < 20; tick++) queue.take();
  for (let number = 0; number < 20; number++) queue.put(frame(number));
  return queue;
}

test('a long wait ends in a pause, without a loss', () => {
  const queue = lateQueue();
  for (let number = 0; number < 20; number++) {
    queue.put(undefined);
    assert.is(queue.take()?.samples[1], frame(number).samples[1]);
  }
  queue.put(frame(20));
  const next = [queue.take(), queue.take(), queue.take()].find((taken) => taken !== undefined);
  assert.is(next?.samples[1], frame(20).samples[1]);
});

test('a long wait ends within ten seconds where there is no pause', () => {
  const queue = lateQueue();
  for (let tick = 0; tick < 500; tick++) {
    queue.put(frame(tick % 200));
    queue.take();
  }
  const { length } = queue.flush();
  assert.ok(length <= 4, `${length} wait`);
});

test.run();
