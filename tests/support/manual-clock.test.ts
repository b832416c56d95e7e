import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from './manual-clock.ts';

test('timers run in order of time, then of setting, and only when time has come', () => {
  const clock = new ManualClock(0);
  const ran: string[] = [];
  clock.setTimeout(() => ran.push('late'), 20);
  clock.setTimeout(() => ran.push('early, set first'), 10);
  clock.setTimeout(() => ran.push('early, set second'), 10);
  clock.advance(9);
  assert.equal(ran, []);
  clock.advance(11);
  assert.equal(ran, ['early, set first', 'early, set second', 'late']);
  assert.is(clock.now(), 20);
  assert.is(clock.pending, 0);
});

test('a timer set while time moves runs in the same move when it is due, at its own time', () => {
  const clock = new ManualClock(0);
  const ran: number[] = [];
  clock.setTimeout(() => {
    ran.push(clock.now());
    clock.setTimeout(() => ran.push(clock.now()), 5);
  }, 10);
  clock.advance(100);
  assert.equal(ran, [10, 15]);
});

test('a cleared timer does not run, and ids that mean nothing are ignored', () => {
  const clock = new ManualClock(0);
  const id = clock.setTimeout(() => assert.unreachable(), 10);
  clock.clearTimeout(id);
  clock.clearTimeout(id);
  clock.clearTimeout(undefined);
  clock.advance(100);
});

test.run();
