import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { createHealth } from '../../src/watch/health.ts';

test('a media thread that does not answer makes the server not ready; it is asked at most twice a second', async () => {
  const clock = new ManualClock();
  let asked = 0;
  let answer: (() => Promise<unknown>) | undefined = async () => 'here';
  const hangs = new Promise<unknown>(() => {});
  const health = createHealth({
    clock,
    isDraining: () => false,
    answerMs: 1_000,
    askMedia: () => {
      asked++;
      return answer?.() ?? hangs;
    },
  });
  assert.equal([await health.ready(), await health.ready(), asked], [true, true, 1]);
  answer = undefined;
  await clock.run(500);
  const waiting = health.ready();
  await clock.run(1_000);
  assert.equal([await waiting, asked], [false, 2]);
  answer = () => Promise.reject(new Error('the thread has ended'));
  await clock.run(500);
  assert.equal([await health.ready(), asked], [false, 3]);
});

test.run();
