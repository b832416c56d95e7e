import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { apis } from '../../src/http/routes/index.ts';
import { anyCodePoint } from '../support/any-text.ts';
import { authorization, createFakes, createTestApp } from './fakes.ts';

/** Whatever a client sends at any operation: an answer, never one that blames the server. */

const fuzz = suite('any input');
const fakes = createFakes();
const app = createTestApp(fakes.owners);
const operations = apis
  .flatMap(({ base, resources }) =>
    resources.flatMap((resource) => resource.operations.map((each) => ({ base, ...each }))),
  )
  .filter(({ upgrade }) => !upgrade);

const text = fc.oneof(
  fc.string({ unit: anyCodePoint, maxLength: 40 }),
  fc.constantFrom(
    '',
    '%',
    '%00',
    '..',
    '/',
    '//',
    '\u0000',
    '😀',
    ',',
    '"',
    '('.repeat(50),
    '-1',
    '1e99',
    'true',
    'x'.repeat(5000),
  ),
);
const segment = text.map((value) => encodeURIComponent(value.replaceAll(/\p{Surrogate}/gu, '')) || 'x');
const body = fc.oneof(
  fc.json({ maxDepth: 3 }),
  text,
  fc
    .dictionary(
      fc.constantFrom('endpoint', 'variables', 'media', 'timeout', 'app', 'fields', '__proto__'),
      fc.jsonValue(),
    )
    .map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '{',
    '[]',
    'null',
    '"x"',
    `[${'['.repeat(3000)}`,
    JSON.stringify({ media: Array(200).fill('x') }),
    'x'.repeat(50_000),
  ),
);
const type = fc.constantFrom(
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'application/json; charset=x',
  '',
);

type Input = { at: number; ids: string[]; query: [string, string][]; body: string; type: string; method: string };
const input: fc.Arbitrary<Input> = fc.record({
  at: fc.nat(operations.length - 1),
  ids: fc.array(segment, { minLength: 3, maxLength: 3 }),
  query: fc.array(fc.tuple(text, text), { maxLength: 5 }),
  body,
  type,
  method: fc.constantFrom('', '', '', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'),
});

function requestOf({ at, ids, query, body: sent, type: contentType, method }: Input): Request {
  const operation = operations[at] as (typeof operations)[number];
  const left = [...ids];
  const path = (operation.paths[0] ?? '').replaceAll(/\{\w+\}/g, () => left.pop() ?? 'x');
  const names = Object.keys(operation.params);
  const pairs = query.map(([name, value], index) => {
    const known = names[index % Math.max(1, names.length)];
    return [index % 2 === 0 && known ? known : name, value]
      .map((part) => encodeURIComponent(part.replaceAll(/\p{Surrogate}/gu, '')))
      .join('=');
  });
  const asked = method || operation.method;
  const withBody = asked !== 'GET' && asked !== 'HEAD';
  return new Request(`http://localhost${operation.base}${path}?${pairs.join('&')}`, {
    method: asked,
    headers: { authorization, ...(contentType && { 'content-type': contentType }) },
    ...(withBody && { body: sent }),
  });
}

fuzz('is answered, with no 5xx and nothing unforeseen', async () => {
  await fc.assert(
    fc.asyncProperty(input, async (given) => {
      const response = await app.app.request(requestOf(given), undefined, {});
      assert.ok(response.status < 500, `${response.status}`);
      const answer = await response.text();
      // Charts, diagrams, captures and recordings are files.
      const isFile = response.ok && response.headers.get('content-type') !== 'application/json';
      if (answer !== '' && !isFile) JSON.parse(answer);
    }),
    { numRuns: 3000 },
  );
  assert.equal(app.logged, []);
});

fuzz('the owner is given each parameter in its declared type', async () => {
  const types: Record<string, (value: unknown) => boolean> = {
    string: (value) => typeof value === 'string',
    int: (value) => Number.isInteger(value) && Math.abs(value as number) <= 2 ** 31,
    long: (value) => Number.isSafeInteger(value),
    boolean: (value) => typeof value === 'boolean',
    list: (value) => Array.isArray(value) && value.length < 128 && value.every((item) => typeof item === 'string'),
    object: (value) => value !== undefined,
  };
  const all = Object.fromEntries(operations.flatMap(({ params }) => Object.entries(params)));
  await fc.assert(
    fc.asyncProperty(input, async (given) => {
      fakes.calls.length = 0;
      await app.app.request(requestOf({ ...given, method: '' }), undefined, {});
      for (const [method, ...args] of fakes.calls) {
        // Some are told who asks, too.
        const told = args.filter(
          (arg) => !(typeof arg === 'object' && arg !== null && 'user' in arg && 'token' in arg),
        );
        const params = told.findLast((arg) => typeof arg === 'object' && arg !== null && !Array.isArray(arg));
        if (method === 'applications.filter' || method === 'dynamicConfig.update' || !params) continue;
        for (const [name, value] of Object.entries(params)) {
          const param = all[name];
          // `variables` is a list where it is read and an object where it is set.
          if (name !== 'variables') assert.ok(param && types[param.type]?.(value), `${method} ${name}`);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

fuzz.run();
