import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const directory = new URL('.', import.meta.url);

test('the map of what tests share names every file once, and no other', () => {
  const files = readdirSync(directory, { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => !name.endsWith('.test.ts') && name !== 'README.md');
  const named = readFileSync(new URL('README.md', directory), 'utf8').matchAll(/^- `([^`]+)`: ./gm);
  assert.equal([...named].map(([, name]) => name).sort(), files.sort());
});

test.run();
