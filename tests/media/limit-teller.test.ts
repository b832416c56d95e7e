import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { limitTeller } from '../../src/media/engine-host.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('bounds that a thread meets are told once a second, all together, and nothing while none is met', () => {
  const clock = new ManualClock();
  const told: unknown[] = [];
  const hit = limitTeller(clock, (counts) => told.push(counts));
  for (let count = 0; count < 3; count++) hit('one');
  hit('other', 4);
  clock.advance(999);
  assert.equal(told, []);
  clock.advance(1);
  assert.equal(told, [{ one: 3, other: 4 }]);
  assert.is(clock.pending, 0);
  hit('one');
  clock.advance(1000);
  assert.equal(told.slice(1), [{ one: 1 }]);
});

test.run();
