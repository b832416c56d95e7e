import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { untilAsked } from '../support/waiting.ts';

const packaged = suite('the package as it is given away');
const systemd = need('systemd-analyze');

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };

/** An empty directory in which the package is installed with what it says it needs, and nothing else. */
function install(directory: string): string {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', directory], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ filename: string }];
  const modules = join(directory, 'node_modules');
  mkdirSync(modules);
  execFileSync('tar', ['-xzf', join(directory, packed.filename), '-C', modules]);
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  return join(modules, 'package', 'dist', 'cli.js');
}

/** Resolves with what was written to standard output once it holds the banner. */
function banner(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    let errors = '';
    child.stderr?.on('data', (chunk) => {
      errors += chunk;
    });
    child.stdout?.on('data', (chunk) => {
      output += chunk;
      if (output.includes('try it')) resolve(output);
    });
    child.once('exit', (code) => reject(new Error(`it ended with code ${code}: ${errors}`)));
  });
}

/** The words of the container's health check, as they stand in the Dockerfile. */
function healthCheck(): string[] {
  const [, words = ''] = /^HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
  return JSON.parse(words) as string[];
}

packaged('it starts in an empty directory, is found healthy, and ends when it is told to', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-package-'));
  const env = { PATH: process.env['PATH'] ?? '', HOOKSWITCH_HTTP_PORT: '0', HOOKSWITCH_SIP_PORT: '0' };
  let child: ChildProcess | undefined;
  try {
    const program = install(directory);
    child = spawn(process.execPath, [program, 'serve'], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [, url = ''] = /(http:\/\/\S+)\/ari/.exec(await banner(child)) ?? [];
    // Its media thread may take its time to begin.
    const ready = async () => {
      const answer = await fetch(`${url}/health/ready`);
      return [answer.status, await answer.text()];
    };
    await untilAsked(
      async () => (await ready())[0] === 200,
      () => 'it takes no calls',
    );
    assert.equal(await ready(), [200, 'ready\n']);
    const page = await fetch(`${url}/`, { headers: { accept: 'text/html' } });
    assert.is(page.status, 200);
    await page.text();
    const words = healthCheck().map((word) => (word.endsWith('/cli.js') ? program : word));
    assert.equal(words, ['node', program, 'ready']);
    const asked = { env: { ...env, HOOKSWITCH_HTTP_PORT: new URL(url).port }, encoding: 'utf8' } as const;
    assert.is(execFileSync(process.execPath, words.slice(1), asked), 'ready\n');
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child.kill('SIGTERM');
    assert.is(await ended, 0);
    assert.throws(() => execFileSync(process.execPath, words.slice(1), { ...asked, stdio: 'ignore' }));
  } finally {
    child?.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  }
});

packaged('what was built can be run as a program, as links that npm made to an earlier build expect', () => {
  const program = join(root, 'dist', 'cli.js');
  accessSync(program, constants.X_OK);
  assert.match(execFileSync(program, ['--help'], { encoding: 'utf8' }), /^Usage: hookswitch <command>/);
});

packaged('what the container takes from the checkout is there, and it does not run as root', () => {
  const dockerfile = read('Dockerfile');
  const copied = [...dockerfile.matchAll(/\/build\/(\S+)/g)].map(([, name = '']) => name);
  assert.equal(
    copied.filter((name) => !['node_modules', 'dist'].includes(name)),
    ['package.json', 'hookswitch.example.yaml', 'LICENSE', 'sounds'],
  );
  for (const name of copied) assert.not.throws(() => execFileSync('test', ['-e', join(root, name)]));
  assert.ok(dockerfile.indexOf('USER node') < dockerfile.indexOf('ENTRYPOINT'));
});

systemd.test(packaged, 'systemd understands the unit, and nothing of the machine is exposed by it', (program) => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-unit-'));
  try {
    // The programs that it names need not be on this machine.
    const unit = read('deploy/systemd/hookswitch.service').replaceAll(/=\/\S+\/(hookswitch|curl)\b/g, '=/bin/true');
    const file = join(directory, 'hookswitch.service');
    writeFileSync(file, unit);
    execFileSync(program, ['verify', '--man=no', file], { stdio: 'pipe' });
    // 0 to 10, the more the worse.
    execFileSync(program, ['security', '--offline=true', '--threshold=25', file], { stdio: 'pipe' });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

packaged('the unit copies files of mode 600 for the service, at the start and at each reload', () => {
  const unit = read('deploy/systemd/hookswitch.service');
  const [, copy = ''] = /^ExecStartPre=\+\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
  assert.match(unit, /^ExecStart=.* --config \/run\/hookswitch\/hookswitch\.yaml$/m);
  assert.ok(unit.includes(`ExecReload=+/bin/sh -c '${copy}'\nExecReload=/bin/kill -HUP`), 'before the signal');
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-unit-'));
  try {
    const inside = (...path: string[]) => join(directory, ...path);
    mkdirSync(inside('etc/hookswitch/tls'), { recursive: true });
    mkdirSync(inside('run/hookswitch'), { recursive: true });
    writeFileSync(inside('etc/hookswitch/hookswitch.yaml'), '{}\n', { mode: 0o600 });
    writeFileSync(inside('key.pem'), 'key\n', { mode: 0o600 });
    symlinkSync(inside('key.pem'), inside('etc/hookswitch/tls/key.pem'));
    execFileSync('/bin/sh', ['-c', copy.replaceAll(/\/(?=(etc|run)\/hookswitch)/g, `${directory}/`)]);
    for (const [file, text] of [
      ['hookswitch.yaml', '{}\n'],
      ['tls/key.pem', 'key\n'],
    ] as const) {
      const copied = inside('run/hookswitch', file);
      assert.is(readFileSync(copied, 'utf8'), text);
      assert.is(lstatSync(copied).mode & 0o777, 0o600);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

packaged.run();
