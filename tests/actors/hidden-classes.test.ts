import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyMachineSnapshot } from 'xstate';
import { withDeadlines } from '../../src/actors/deadlines.ts';
import { createMerge } from '../../src/actors/merge.ts';
import { withEntry } from '../../src/machines/channel-setup.ts';

const test = suite('hidden classes of what a call makes');

setFlagsFromString('--allow-natives-syntax');
const haveSameClass = new Function('one', 'other', 'return %HaveSameMap(one, other);') as (
  one: object,
  other: object,
) => boolean;
// Compiled by its first call. V8's options are those of all files that this process runs, and of the code that it takes.
haveSameClass({}, {});
setFlagsFromString('--no-allow-natives-syntax');

/** As contexts of one chart are: made at one place. */
const contextOf = (id: string): object => ({ id, state: 'Down', cause: 0 });

/** Makes something often enough for V8 to have learned the place. @returns the last two */
function lastTwo(make: (id: string) => object): [object, object] {
  for (let count = 0; count < 100; count++) make(`${count}`);
  return [make('one'), make('other')];
}

test('a merge gives the members of a spread, in their order', () => {
  const merge = createMerge();
  for (const change of [{}, { cause: 16 }, { cause: undefined }, { added: 1, state: 'Up' }]) {
    const merged = merge(contextOf('a'), change);
    assert.equal(merged, { ...contextOf('a'), ...change });
    assert.equal(Object.keys(merged), Object.keys({ ...contextOf('a'), ...change }));
  }
});

test('a merge gives the members of a spread, whatever the change before had', () => {
  const hostile: object = JSON.parse('{"__proto__":1,"cause":2}');
  const base = { ...contextOf('a'), ...hostile };
  for (const first of [{ cause: 1 }, { state: 'Up', cause: 1 }, hostile]) {
    const merge = createMerge();
    for (const change of [
      first,
      { cause: 3 },
      { state: 'Up', cause: 4 },
      { cause: 5, state: 'Ring' },
      hostile,
      first,
    ]) {
      const merged = merge(base, change);
      assert.equal(Object.entries(merged), Object.entries({ ...base, ...change }));
      assert.is(Object.getPrototypeOf(merged), Object.prototype);
    }
  }
});

test('contexts that get the same new member have one hidden class', () => {
  const merge = createMerge();
  assert.ok(haveSameClass(...lastTwo((id) => merge(contextOf(id), { endedBy: id }))));
  assert.ok(haveSameClass(...lastTwo((id) => merge(merge(contextOf(id), { endedBy: id }), { cause: 16 }))));
});

test('so have contexts that get their first deadline, and the next ones', () => {
  const snapshotOf = (id: string) => ({ value: 'up', context: contextOf(id) }) as unknown as AnyMachineSnapshot;
  const deadlines = new Map([['dialTimeout', { at: 1, event: { type: 'dial.timeout' } }]]);
  const contextWith = (id: string): object => withDeadlines(snapshotOf(id), deadlines).context as object;
  assert.equal(contextWith('a'), { ...contextOf('a'), deadlines: Object.fromEntries(deadlines) });
  assert.ok(haveSameClass(...lastTwo(contextWith)));
});

test('so have variables, whatever their names', () => {
  // A realm of its own: V8 gives up classes of names behind the first 1,500 of a realm, and other tests have such names.
  const withEntryAlone = runInNewContext(`(${withEntry})`) as typeof withEntry;
  const variablesOf = (value: string): object =>
    withEntryAlone(withEntryAlone<string>({}, 'FIRST', value), 'SECOND', value);
  assert.ok(haveSameClass(...lastTwo(variablesOf)));
  const hostile = withEntry(withEntry<string>({ A: '1' }, '__proto__', 'x'), 'B', '2');
  assert.equal(Object.entries(hostile), [
    ['A', '1'],
    ['__proto__', 'x'],
    ['B', '2'],
  ]);
});

test.run();
