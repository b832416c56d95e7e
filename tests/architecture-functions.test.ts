import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exportsOf, type FunctionShape, filesIn, functionsOf } from './support/source-shapes.ts';

/** The most that a function may have. Closures count for its lines, not for its complexity. */
const limits = { lines: 100, complexity: 15, parameters: 4 };
type Measure = keyof typeof limits;

/**
 * Functions that had more when this test was written, with their figures. A list only gets shorter: take an entry out when
 * its function is within the limit, and lower its figure when the function has shrunk.
 */
const known = JSON.parse(readFileSync(new URL('known-functions.json', import.meta.url), 'utf8')) as Record<
  Measure,
  Record<string, number>
>;

const code = ['src', 'packages'];
const functions = code.flatMap((place) => filesIn(place)).flatMap(functionsOf);

/** The largest figure of each function above the limit. Functions of one name in one file count as one. */
function above(measure: Measure): Record<string, number> {
  const found: Record<string, number> = {};
  const figure = (shape: FunctionShape) => shape[measure];
  for (const shape of functions.filter((each) => figure(each) > limits[measure])) {
    const key = `${shape.path} ${shape.name}`;
    found[key] = Math.max(found[key] ?? 0, figure(shape));
  }
  return found;
}

for (const measure of Object.keys(limits) as Measure[])
  test(`no function has more than ${limits[measure]} ${measure === 'complexity' ? 'paths (cyclomatic complexity)' : measure}`, () => {
    const found = above(measure);
    const wrong = Object.entries(found).filter(([name, figure]) => figure > (known[measure][name] ?? 0));
    assert.equal(wrong, [], 'too large: split them by meaning');
    const settled = Object.keys(known[measure]).filter((name) => found[name] === undefined);
    assert.equal(settled, [], 'within the limit now: take them out of known-functions.json');
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
