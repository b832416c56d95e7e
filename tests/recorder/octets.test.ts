import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Octets } from '../../src/recorder/octets.ts';

const octets = suite('values as octets');

const values = fc.anything({ withNullPrototype: false, withSparseArray: false, maxDepth: 5 });

octets('any value comes back as it was, whatever it stands beside', () => {
  const memory = Octets.of(1_000_000);
  fc.assert(
    fc.property(fc.array(values, { maxLength: 20 }), (written) => {
      memory.clear();
      for (const value of written) memory.write(value);
      const reader = memory.from(0);
      assert.equal(
        written.map(() => reader.read()),
        written,
      );
      assert.is(reader.at, memory.at);
    }),
    { numRuns: 500 },
  );
});

octets('undefined, NaN, -0, a member called __proto__ and units beyond ASCII are kept', () => {
  const memory = Octets.of(10_000);
  const strange = JSON.parse('{"__proto__": {"a": 1}}');
  const all = [
    { a: undefined, b: Number.NaN, c: -0 },
    strange,
    'ü',
    '\u{1f4de}'.repeat(100),
    2 ** 40,
    -1,
    1.5,
    [[], {}],
  ];
  for (const value of all) memory.write(value);
  const reader = memory.from(0);
  const read = all.map(() => reader.read());
  assert.equal(read, all);
  assert.ok(Object.hasOwn(read[0] as object, 'a'));
  assert.ok(Object.is((read[0] as { c: number }).c, -0));
  assert.ok(Object.hasOwn(read[1] as object, '__proto__'));
  assert.is(({} as { a?: number }).a, undefined);
});

octets('what is no plain value, lies too deep or takes too much is kept as it is', () => {
  const memory = Octets.of(10_000);
  const call = (): void => {};
  const table = new Map([[1, 2]]);
  let deep: unknown = 'bottom';
  for (let level = 0; level < 100; level++) deep = [deep];
  const large = { text: 'x'.repeat(2_000) };
  memory.write({ call, table });
  memory.write(deep);
  memory.writeWithin(large, 100);
  memory.writeWithin({ small: true }, 100);
  const reader = memory.from(0);
  const first = reader.read() as { call: unknown; table: unknown };
  assert.is(first.call, call);
  assert.is(first.table, table);
  assert.equal(reader.read(), deep);
  assert.is(reader.read(), large);
  assert.equal(reader.read(), { small: true });
});

octets.run();
