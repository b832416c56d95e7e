import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exportsOf, filesIn, functionsOf } from './support/source-shapes.ts';

/** The most that a function may have. Closures count for its lines, not for its complexity. */
const limits = { lines: 100, complexity: 15, parameters: 4 };
type Measure = keyof typeof limits;

const code = ['src', 'packages'];
const functions = code.flatMap((place) => filesIn(place)).flatMap(functionsOf);

for (const measure of Object.keys(limits) as Measure[])
  test(`no function has more than ${limits[measure]} ${measure === 'complexity' ? 'paths (cyclomatic complexity)' : measure}`, () => {
    const wrong = functions.filter((each) => each[measure] > limits[measure]);
    assert.equal(
      wrong.map(({ path, name, [measure]: figure }) => `${path} ${name}: ${figure}`),
      [],
      'too large: split them by meaning',
    );
  });

/** Names of chart files that scripts and tests read by pattern, not by import. */
const readByPattern = /^src\/machines\/.*#(?:\w+(?:Ignores|Machine|Operations|Commands)|refuse\w+)$/;

/** What users of the package import. */
const published = /^(?:packages\/types\/\w+\.d\.ts|(?:packages\/(?:browser|client|testing)\/)?src\/index\.ts)#/;

const product = [...code, 'page', 'scripts', 'bench', 'examples'];

test('every export is imported by another file', () => {
  const wrong = exportsOf(code, [...product, 'tests'])
    .map(({ path, name, importedBy }) => ({ id: `${path}#${name}`, importedBy }))
    .filter(({ id, importedBy }) => importedBy.length === 0 && !readByPattern.test(id) && !published.test(id))
    .map(({ id }) => id);
  assert.equal(wrong, []);
});

test.run();
