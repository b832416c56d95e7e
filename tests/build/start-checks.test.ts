import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { unreadableDirectories } from '../../src/media/file/index-sounds.ts';
import { reasonUnusable } from '../../src/stores/durable-file.ts';

type World = { directory: string };
const checks = suite<World>('what a start looks at');

checks.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-start-'));
});
checks.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

checks('directories of prompts that are missing, or are none, are named', async ({ directory }) => {
  const at = (name: string) => join(directory, name);
  mkdirSync(at('prompts'));
  writeFileSync(at('file'), '');
  assert.equal(await unreadableDirectories([at('prompts'), at('missing'), at('file')]), [at('missing'), at('file')]);
});

checks('a directory of recordings is tried without being made', ({ directory }) => {
  writeFileSync(join(directory, 'file'), '');
  assert.is(reasonUnusable(join(directory, 'a', 'b')), undefined);
  assert.is(reasonUnusable(directory), undefined);
  const file = join(directory, 'file');
  assert.is(reasonUnusable(join(file, 'a')), `${file} has a file on its way where a directory should be`);
  assert.equal(readdirSync(directory), ['file']);
});

checks.run();
