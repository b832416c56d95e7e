import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Roster, SlotMap } from '../../src/lib/slot-map.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant('set' as const), key, value: fc.option(fc.nat(), { nil: undefined }) }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('clear' as const) }) },
);

test('a slot map is what a map is, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const slots = new SlotMap<string, number | undefined>();
      const map = new Map<string, number | undefined>();
      for (const each of commands) {
        if (each.type === 'set') {
          slots.set(each.key, each.value);
          map.set(each.key, each.value);
        } else if (each.type === 'delete') assert.is(slots.delete(each.key), map.delete(each.key));
        else {
          slots.clear();
          map.clear();
        }
        assert.is(slots.size, map.size);
        assert.equal([...slots], [...map]);
        assert.equal([...slots.keys()], [...map.keys()]);
        assert.equal([...slots.values()], [...map.values()]);
        for (const name of ['a', 'b', 'c', 'd', 'e']) {
          assert.is(slots.has(name), map.has(name));
          assert.is(slots.get(name), map.get(name));
        }
      }
    }),
  );
});

test('what goes while a slot map is walked is not met, what comes is', () => {
  const slots = new SlotMap<string, string>();
  for (const name of 'abc') slots.set(name, name);
  const met: string[] = [];
  for (const value of slots.values()) {
    met.push(value);
    if (value === 'a') {
      slots.delete('b');
      slots.set('d', 'd');
    }
  }
  assert.equal(met, ['a', 'c', 'd']);
});

test('a roster lists what is in it in the order in which it came, the same thing as often as it was added', () => {
  const [one, other] = [{ name: 'one' }, { name: 'other' }];
  const roster = new Roster<{ name: string }>();
  const first = roster.add(one);
  roster.add(other);
  const again = roster.add(one);
  assert.equal([...roster], [one, other, one]);
  assert.ok(roster.remove(first));
  assert.not.ok(roster.remove(first));
  assert.equal([...roster], [other, one]);
  assert.is(roster.size, 2);
  roster.clear();
  assert.is(roster.size, 0);
  assert.not.ok(roster.remove(again));
});

test.run();
