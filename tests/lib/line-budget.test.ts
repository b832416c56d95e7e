import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createLineBudget } from '../../src/lib/line-budget.ts';

test('so many lines are written in a period; the first after it says how many were not', () => {
  let now = 0;
  const budget = createLineBudget({ monotonic: () => now }, 2, 1_000);
  const written: number[] = [];
  const write = () => budget.write((untold) => written.push(untold));
  for (let times = 0; times < 5; times++) write();
  assert.equal(written, [0, 0]);
  now = 1_000;
  write();
  write();
  assert.equal(written, [0, 0, 3, 0]);
});

test.run();
