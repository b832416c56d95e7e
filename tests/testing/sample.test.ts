import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the sample application passes its tests in Node and Python with the package as it is packed', () => {
  const place = mkdtempSync(join(tmpdir(), 'hookswitch-sample-'));
  try {
    cpSync(join(root, 'examples/testing-your-app'), place, { recursive: true });
    const modules = join(place, 'node_modules');
    mkdirSync(join(modules, '.bin'), { recursive: true });
    const options = { cwd: place, encoding: 'utf8' } as const;
    const packed = spawnSync(
      'npm',
      ['pack', root, '--ignore-scripts', '--pack-destination', place, '--silent'],
      options,
    );
    assert.is(packed.status, 0, packed.stderr);
    const unpacked = spawnSync('tar', ['-xzf', packed.stdout.trim(), '-C', modules], options);
    assert.is(unpacked.status, 0, unpacked.stderr);
    cpSync(join(modules, 'package'), join(modules, 'hookswitch'), { recursive: true });
    // What npm would install for the package is here already.
    symlinkSync(join(root, 'node_modules'), join(modules, 'hookswitch/node_modules'));
    symlinkSync('../hookswitch/dist/cli.js', join(modules, '.bin/hookswitch'));
    const { status, stdout, stderr } = spawnSync('npm', ['test'], options);
    assert.is(status, 0, stdout + stderr);
    assert.match(stdout, /^# pass 2$/m);
    assert.match(stderr, /^Ran 1 test in .*\n\nOK$/m);
  } finally {
    rmSync(place, { recursive: true });
  }
});

test.run();
