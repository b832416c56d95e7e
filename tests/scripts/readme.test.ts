import { existsSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const place = (path: string) => new URL(`../../${path}`, import.meta.url);
const read = (path: string) => readFileSync(place(path), 'utf8');

test('the readme shows the first example as it is, and it stays short', () => {
  const shown = /```ts\n([\s\S]*?)```/.exec(read('README.md'))?.[1] ?? '';
  assert.is(shown, read('examples/hello.ts'));
  assert.ok(shown.trimEnd().split('\n').length <= 30);
});

test('every file that the readme and the contributing guide point to is there', () => {
  const targets = ['README.md', 'CONTRIBUTING.md'].flatMap((page) =>
    [...read(page).matchAll(/\]\((?!http)([^)#]+)\)/g)].map(([, target = '']) => target),
  );
  assert.ok(targets.length > 10);
  assert.equal(
    targets.filter((target) => !existsSync(place(target))),
    [],
  );
});

test.run();
