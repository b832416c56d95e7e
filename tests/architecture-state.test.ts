import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { filesIn, mutablesOf } from './support/source-shapes.ts';

/** What changes outside charts, by the reason why it may. What decides is a state of a chart, or in its context. */
const known = JSON.parse(readFileSync(new URL('known-mutables.json', import.meta.url), 'utf8')) as Record<
  string,
  Record<string, string[]>
>;

const listed = Object.values(known).flatMap((files) =>
  Object.entries(files).flatMap(([path, names]) => names.map((name) => `${path} ${name}`)),
);

test('every mutable field and reassigned variable of call control and drivers has its reason', () => {
  const found = ['src/actors', 'src/calls', 'src/drivers']
    .flatMap((directory) => filesIn(directory))
    .flatMap(mutablesOf)
    .map(({ path, name }) => `${path} ${name}`);
  const unlisted = found.filter((each) => !listed.includes(each));
  assert.equal(unlisted, [], 'make it a state or the context of a chart, or give its reason in known-mutables.json');
  assert.equal(
    listed.filter((each) => !found.includes(each)),
    [],
    'not there any more: take them out of known-mutables.json',
  );
  assert.is(new Set(listed).size, listed.length, 'listed twice');
});

test('a field, a captured variable and a member of another object are found, local variables are not', () => {
  const names = mutablesOf('tests/support/mutables.ts').map(({ name }) => name);
  assert.equal(names, ['#count', 'other.seen', 'outer', 'total']);
});

test.run();
