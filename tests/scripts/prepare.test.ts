import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What `prepare.mjs --compile` does in a directory that holds no packages. @param path of the directory in a new one. */
function prepare(path: string, env: Record<string, string> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-prepare-'));
  try {
    const place = join(directory, path);
    mkdirSync(join(place, 'scripts'), { recursive: true });
    for (const file of ['package.json', 'package-lock.json', 'scripts/prepare.mjs'])
      cpSync(join(root, file), join(place, file));
    const { status, stderr } = spawnSync(process.execPath, ['scripts/prepare.mjs', '--compile'], {
      cwd: place,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      encoding: 'utf8',
    });
    return { status, stderr, installs: existsSync(join(place, 'node_modules')) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test('npm install --global of a repository is refused with a hint: npm would leave a dangling link', () => {
  const clone = join('_cacache', 'tmp', 'git-cloneAbc123');
  const { status, stderr } = prepare(clone, { npm_config_global: 'true' });
  assert.is(status, 1);
  assert.match(stderr, /npm install --global "\.\/\$\(npm pack --silent <the same address>\)"/);
  assert.is(prepare(clone).status, 0, 'in a directory npm does it');
});

test('an image is built with the packages that it has installed, once', () => {
  assert.equal(prepare('build'), { status: 0, stderr: '', installs: false });
  const image = readFileSync(join(root, 'Dockerfile'), 'utf8');
  assert.is(image.match(/npm ci/g)?.length, 1);
  assert.match(image, /RUN node scripts\/prepare\.mjs --compile /);
  assert.not.match(image, /npm (run|start|install)/);
});

test.run();
