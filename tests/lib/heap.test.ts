import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compactHeap, compactWhenIdle } from '../../src/lib/heap.ts';
import { ManualClock } from '../support/manual-clock.ts';

const heap = suite('the heap');

const megabyte = 1_000_000;

heap('is compacted when nothing is under way and it has grown, and not before', () => {
  const clock = new ManualClock();
  let octets = 50 * megabyte;
  let idle = true;
  let compacted = 0;
  const compact = (): void => {
    compacted++;
    octets = 60 * megabyte;
  };
  const stop = compactWhenIdle(
    clock,
    () => idle,
    compact,
    () => octets,
  );
  const look = (): number => {
    clock.advance(6_000);
    return compacted;
  };
  assert.is(look(), 0, 'calls may have ended a moment ago');
  assert.is(look(), 1, 'what starting needed goes');
  assert.is(look(), 1, 'it has not grown');
  octets = 100 * megabyte;
  idle = false;
  assert.is(look(), 1, 'calls are live');
  idle = true;
  for (let quiet = 1; quiet < 10; quiet++) assert.is(look(), 1, 'a pause between calls keeps their optimised code');
  assert.is(look(), 2, 'no call for a minute');
  assert.is(look(), 2, 'it has not grown again');
  octets = 77 * megabyte;
  assert.is(look(), 3);
  stop();
  octets = 200 * megabyte;
  assert.is(look(), 3);
});

heap('gives its garbage back', () => {
  let garbage: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  const before = process.memoryUsage().heapUsed;
  assert.is(garbage.length, 1_000_000);
  garbage = undefined;
  compactHeap();
  assert.ok(process.memoryUsage().heapUsed < before - 10 * megabyte);
});

heap.run();
