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

test('nothing that comes for long is made up for ever, and a burst leaves only the last', () => {
  const queue = new FrameQueue();
  queue.put(frame(0));
  assert.equal(
    Array.from({ length: 6 }, () => queue.take() !== undefined),
    [true, true, true, true, false, false],
  );
  for (let number = 0; number < 5; number++) queue.put(frame(number));
  assert.equal(
    queue.flush().map(({ samples }) => samples[1]),
    [frame(4).samples[1]],
  );
});

test.run();
