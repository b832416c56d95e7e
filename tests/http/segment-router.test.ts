import { UnsupportedPathError } from 'hono/router';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SegmentRouter } from '../../src/http/segment-router.ts';

const router = suite('segment router');

const routes = new SegmentRouter<string>();
for (const path of [
  '/a',
  '/a/',
  '/a/lit',
  '/a/:x',
  '/a/:x/b',
  '/a/:x/b/:y',
  '/a/lit/c',
  '/e/:n',
  '/e/:n.svg',
  '/e/a.svg',
])
  routes.add('ALL', path, path);

const rows: [path: string, route: string | undefined, params?: Record<string, string>][] = [
  ['/a', '/a', {}],
  ['/a/', '/a/', {}],
  ['/a/lit', '/a/lit', {}],
  ['/a/lit/c', '/a/lit/c', {}],
  ['/a/1', '/a/:x', { x: '1' }],
  ['/a/1/b', '/a/:x/b', { x: '1' }],
  ['/a/1/b/2', '/a/:x/b/:y', { x: '1', y: '2' }],
  ['/a/__proto__', '/a/:x', { x: '__proto__' }],
  ['/e/x', '/e/:n', { n: 'x' }],
  ['/e/x.svg', '/e/:n.svg', { n: 'x' }],
  ['/e/x.y.svg', '/e/:n.svg', { n: 'x.y' }],
  ['/e/a.svg', '/e/a.svg', {}],
  ['/e/x.pdf', '/e/:n', { n: 'x.pdf' }],
  ['/e/.svg', '/e/:n', { n: '.svg' }],
  ['/a/lit/b', undefined],
  ['/a/1/', undefined],
  ['/a//b', undefined],
  ['/', undefined],
  ['', undefined],
  ['/b', undefined],
  ['/a/1/b/2/3', undefined],
];
for (const [path, route, params] of rows) {
  router(`'${path}' is ${route ?? 'nothing'}`, () => {
    assert.equal(routes.match('GET', path), [route === undefined ? [] : [[route, params]]]);
  });
}

router('two handlers of one path are both found, in order', () => {
  const both = new SegmentRouter<number>();
  both.add('ALL', '/x', 1);
  both.add('ALL', '/x', 2);
  assert.equal(both.match('POST', '/x'), [
    [
      [1, {}],
      [2, {}],
    ],
  ]);
});

router('wildcards, patterns and single methods are refused', () => {
  for (const path of ['*', '/a/*', '/:id{[0-9]+}', '/:id?']) {
    assert.throws(
      () => new SegmentRouter().add('ALL', path, 1),
      (error: unknown) => error instanceof UnsupportedPathError,
    );
  }
  assert.throws(
    () => new SegmentRouter().add('GET', '/a', 1),
    (error: unknown) => error instanceof UnsupportedPathError,
  );
});

router.run();
