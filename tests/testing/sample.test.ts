import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';

const sample = suite('the sample application, with the package as it is packed');

const root = fileURLToPath(new URL('../..', import.meta.url));

const place = mkdtempSync(join(tmpdir(), 'hookswitch-sample-'));
const options = { cwd: place, encoding: 'utf8' } as const;

/** A copy of the sample, with the package as npm would install it. */
sample.before(() => {
  cpSync(join(root, 'examples/testing-your-app'), place, { recursive: true });
  const modules = join(place, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const pack = ['pack', root, '--ignore-scripts', '--pack-destination', place, '--silent'];
  const packed = spawnSync('npm', pack, options);
  assert.is(packed.status, 0, packed.stderr);
  const unpacked = spawnSync('tar', ['-xzf', packed.stdout.trim(), '-C', modules], options);
  assert.is(unpacked.status, 0, unpacked.stderr);
  renameSync(join(modules, 'package'), join(modules, 'hookswitch'));
  // What npm would install is here already.
  for (const name of ['tsx', 'typescript', '@types', '.bin/tsc'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  symlinkSync(join(root, 'node_modules'), join(modules, 'hookswitch/node_modules'));
  symlinkSync('../hookswitch/dist/cli.js', join(modules, '.bin/hookswitch'));
});
sample.after(() => rmSync(place, { recursive: true }));

/** Runs one of its scripts. @returns what it printed. */
function run(script: string): string {
  const { status, stdout, stderr } = spawnSync('npm', ['run', script], options);
  assert.is(status, 0, stdout + stderr);
  return stdout;
}

sample('its types are right under `strict`', () => void run('test:types'));

sample('its tests in TypeScript pass', () => assert.match(run('test:node'), /^# pass 2$/m));

need('pytest-3').test(sample, 'its tests in Python pass', () => assert.match(run('test:python'), /^=+ 2 passed in /m));

sample.run();
