import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openRotatedFile, type RotatedFileOptions } from '../../src/stores/rotated-file.ts';
import { ManualClock } from '../support/manual-clock.ts';

type World = { directory: string; stuck: unknown[]; failed: string[] };
const rotated = suite<World>('a rotated file');

rotated.before.each((world) => {
  Object.assign(world, { directory: mkdtempSync(join(tmpdir(), 'hookswitch-rotated-')), stuck: [], failed: [] });
});
rotated.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

const open = ({ directory, stuck, failed }: World, changes: Partial<RotatedFileOptions> = {}) =>
  openRotatedFile({
    path: join(directory, 'calls'),
    clock: new ManualClock(),
    tellLost: (lost) => `lost ${lost}\n`,
    maximumOctets: 12,
    keep: 2,
    onStuck: (error) => void stuck.push(error),
    onFailed: (error) => void failed.push((error as NodeJS.ErrnoException).code ?? ''),
    ...changes,
  });
const filesIn = ({ directory }: World) =>
  readdirSync(directory)
    .toSorted()
    .map((name) => [name, readFileSync(join(directory, name), 'utf8')]);

rotated('a full file is put aside, whole lines in it, and the oldest goes', async (world) => {
  const file = open(world);
  for (let number = 1; number <= 7; number++) file.write(`line${number}\n`);
  await file.close();
  assert.equal(filesIn(world), [
    ['calls', 'line7\n'],
    ['calls.1', 'line5\nline6\n'],
    ['calls.2', 'line3\nline4\n'],
  ]);
});

rotated('other bounds hold from then on, and what was put aside beyond them goes', async (world) => {
  const file = open(world);
  for (let number = 1; number <= 7; number++) file.write(`line${number}\n`);
  file.limit({ maximumOctets: 6, keep: 1 });
  file.write('line8\n');
  file.limit({ maximumOctets: 18, keep: 3 });
  file.write('line9\n');
  await file.close();
  assert.equal(filesIn(world), [
    ['calls', 'line8\nline9\n'],
    ['calls.1', 'line7\n'],
  ]);
});

rotated('goes on in what another process left, and its size counts', async (world) => {
  const before = open(world);
  before.write('line1\n');
  before.write('line2\n');
  await before.close();
  const file = open(world);
  file.write('a line that is longer than a file may be\n');
  file.write('line4\n');
  await file.close();
  assert.equal(filesIn(world), [
    ['calls', 'line4\n'],
    ['calls.1', 'a line that is longer than a file may be\n'],
    ['calls.2', 'line1\nline2\n'],
  ]);
});

rotated(
  'a file that another program has renamed or removed is begun anew when asked to, and only then',
  async (world) => {
    const path = join(world.directory, 'calls');
    const file = open(world, { head: () => 'head\n', maximumOctets: 100 });
    file.write('line1\n');
    file.reopen();
    renameSync(path, `${path}.old`);
    file.write('line2\n');
    file.reopen();
    file.write('line3\n');
    await file.close();
    assert.equal(filesIn(world), [
      ['calls', 'head\nline3\n'],
      ['calls.old', 'line1\nline2\n'],
    ]);
  },
);

rotated('what each new file begins with never fills it', async (world) => {
  const file = open(world, { head: () => 'a long head\n', keep: 1 });
  for (let number = 1; number <= 5; number++) file.write(`line${number}\n`);
  await file.close();
  assert.equal(filesIn(world), [
    ['calls', 'a long head\nline5\n'],
    ['calls.1', 'a long head\nline3\nline4\n'],
  ]);
});

rotated('one that cannot be put aside is told, and goes on', async (world) => {
  mkdirSync(join(world.directory, 'calls.1'));
  const file = open(world, { keep: 1 });
  for (let number = 1; number <= 3; number++) file.write(`line${number}\n`);
  await file.close();
  assert.is(world.stuck.length, 1);
  assert.is(readFileSync(join(world.directory, 'calls'), 'utf8'), 'line1\nline2\nline3\n');
});

rotated('a file whose end cannot be looked at is not left open', (world) => {
  writeFileSync(join(world.directory, 'calls'), 'torn');
  const { openSync, closeSync } = fs;
  const left = new Set<number>();
  // As when there is one descriptor left.
  fs.openSync = (path, flags, mode) => {
    if (flags === 'r') throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    const descriptor = openSync(path, flags, mode);
    left.add(descriptor);
    return descriptor;
  };
  fs.closeSync = (descriptor) => {
    closeSync(descriptor);
    left.delete(descriptor);
  };
  syncBuiltinESMExports();
  try {
    assert.throws(() => open(world), 'too many open files');
    assert.equal([...left], []);
  } finally {
    Object.assign(fs, { openSync, closeSync });
    syncBuiltinESMExports();
  }
});

rotated('a full disk is told once, and costs nothing but the lines', async (world) => {
  const file = open(world, { path: '/dev/full', maximumOctets: 1_000_000 });
  file.write('line1\n');
  file.write('line2\n');
  await file.close();
  assert.equal([world.failed, world.stuck], [['ENOSPC'], []]);
});

rotated.run();
