import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createIds } from '../../src/lib/ids.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('channel ids are the second and a counter that never goes back', () => {
  const clock = new ManualClock(1_700_000_000_900);
  const ids = createIds(clock);
  assert.equal([ids.channel(), ids.channel()], ['1700000000.0', '1700000000.1']);
  clock.advance(100);
  assert.is(ids.channel(), '1700000001.2');
});

test('the name of the system stands in front of channel ids', () => {
  assert.is(createIds(new ManualClock(1_000), 'pbx1').channel(), 'pbx1-1.0');
});

test('other ids have their form and differ', () => {
  const ids = createIds(new ManualClock());
  assert.match(ids.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(ids.hex(8), /^[0-9a-f]{8}$/);
  assert.match(ids.hex(3), /^[0-9a-f]{3}$/);
  assert.match(ids.secret(20), /^[A-Za-z2-9]{20}$/);
  const many = new Set(Array.from({ length: 1_000 }, () => ids.secret(12)));
  assert.is(many.size, 1_000);
});

test.run();
