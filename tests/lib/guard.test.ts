import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { guarded, guardedClock } from '../../src/lib/guard.ts';
import { ManualClock } from '../support/manual-clock.ts';

function createLog() {
  const lines: string[] = [];
  const error = ({ error: thrown }: { error?: unknown }, text: string) => void lines.push(`${text}: ${thrown}`);
  return { lines, error: error as (fields: object, text: string) => void };
}

const fail = (text: string) => () => {
  throw new Error(text);
};

test('what a callback throws is logged and ends there; its arguments reach it', () => {
  const log = createLog();
  const heard: number[] = [];
  const add = guarded(log, 'adding', (one: number, other: number) => {
    heard.push(one + other);
    if (other === 0) throw new Error('zero');
  });
  add(1, 2);
  add(3, 0);
  assert.equal(heard, [3, 3]);
  assert.equal(log.lines, ['adding failed: Error: zero']);
});

test('its owner hears that it threw, and may throw in its turn', () => {
  const log = createLog();
  let told = 0;
  guarded(log, 'a', fail('one'), () => void told++)();
  guarded(log, 'b', fail('two'), fail('three'))();
  guarded(
    log,
    'c',
    () => {},
    () => void told++,
  )();
  assert.is(told, 1);
  assert.equal(log.lines, ['a failed: Error: one', 'b failed: Error: two', 'giving up after b failed: Error: three']);
});

test('a timer that throws keeps no other from its time', () => {
  const log = createLog();
  const manual = new ManualClock();
  const clock = guardedClock(manual, log, 'a timer');
  const fired: number[] = [];
  clock.setTimeout(fail('late'), 10);
  clock.setTimeout(() => void fired.push(clock.monotonic() - began), 10);
  clock.clearTimeout(clock.setTimeout(fail('never'), 5));
  const began = clock.monotonic();
  manual.advance(20);
  assert.equal(fired, [10]);
  assert.equal(log.lines, ['a timer failed: Error: late']);
});

test.run();
