#!/usr/bin/env node
// Makes a checkout ready to run: installs what package-lock.json names when it has changed since the last time, and
// with --build compiles src to dist when a source is newer than the last build. Says nothing when nothing is to do.
// With --compile it only compiles: npm asks for it whenever it has installed the packages of a checkout, also of one that
// it packs for somebody else (npm pack, npm install <git>).
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const inRoot = (...parts) => join(root, ...parts);

/** Set for what this program runs. */
const preparing = 'HOOKSWITCH_PREPARING';

/** Runs a command quietly; when it fails, shows what it wrote and ends this process with its exit code. */
function run(what, command, args) {
  process.stderr.write(`${what} ...\n`);
  // npm asks us to compile when it has installed; that is done here. What we install is never installed globally.
  const { npm_config_global: _global, npm_config_location: _location, ...inherited } = process.env;
  const env = { ...inherited, [preparing]: '1' };
  const result = spawnSync(command, args, { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  process.stderr.write(`${what} failed${result.error ? `: ${result.error.message}` : ''}\n`);
  process.exit(result.status ?? 1);
}

const isGlobal = process.env.npm_config_global === 'true' || process.env.npm_config_location === 'global';

/**
 * Refuses `npm install --global <git>`. To prepare a package of a repository npm runs `npm install` in a clone of it, and
 * passes --global on to that: npm links the clone to the place of the package, deletes the clone, and reports success.
 */
function refuseGlobalClone() {
  if (!isGlobal || !/[\\/]_cacache[\\/]tmp[\\/]/.test(root)) return;
  process.stderr.write(
    'npm cannot install Hookswitch globally from a repository: it would leave a link to nothing. Pack it first:\n' +
      '  npm install --global "./$(npm pack --silent <the same address>)"\n',
  );
  process.exit(1);
}

function requireNode() {
  const wanted = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')).engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  process.stderr.write(
    `Hookswitch needs Node.js ${wanted} or newer; this is ${process.versions.node} (${process.execPath}).\n`,
  );
  process.exit(1);
}

/** The fingerprint of what should be installed: another lock file or another Node means another installation. */
function wantedInstallation() {
  const hash = createHash('sha256').update(readFileSync(inRoot('package-lock.json')));
  return hash.update(`${process.platform} ${process.arch} ${process.versions.modules}`).digest('hex');
}

function install() {
  const stamp = inRoot('node_modules', '.prepared');
  const wanted = wantedInstallation();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  // Development packages are needed even where NODE_ENV=production is set: the compiler is one of them.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('.js')) run('Installing packages', process.execPath, [npm, ...args]);
  else run('Installing packages', process.platform === 'win32' ? 'npm.cmd' : 'npm', args);
  writeFileSync(stamp, wanted);
}

/** Names and times of all sources: a file that was changed, added, renamed or removed makes another one. */
function sourceFingerprint() {
  const hash = createHash('sha256');
  const files = ['src', 'page', 'packages'].flatMap((directory) =>
    readdirSync(inRoot(directory), { recursive: true })
      .filter((file) => /\.(ts|tsx|css|html|svg)$/.test(file))
      .map((file) => join(directory, file)),
  );
  const makers = [
    'charts',
    'chart-documents',
    'chart-formats',
    'state-diagrams',
    'build-page',
    'build-server',
    'compile-code',
  ].map((name) => `scripts/${name}.ts`);
  for (const file of [...files, ...makers, 'tsconfig.json'].sort())
    hash.update(`${file} ${statSync(inRoot(file)).mtimeMs}\n`);
  return hash.digest('hex');
}

function build(force) {
  const stamp = inRoot('dist', '.prepared');
  const wanted = sourceFingerprint();
  if (!force && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  run('Compiling', process.execPath, ['--import', 'tsx', inRoot('scripts', 'build-server.ts')]);
  // npm makes a program of it when it links it, and goes on with that link when it is another file.
  chmodSync(inRoot('dist', 'cli.js'), 0o755);
  run('Building the page', process.execPath, ['--import', 'tsx', inRoot('scripts', 'build-page.ts')]);
  writeFileSync(stamp, wanted);
}

requireNode();
refuseGlobalClone();
const compiles = process.argv.includes('--compile');
// npm install --global of a checkout installs nothing that compiles it.
const isLinked = compiles && isGlobal && process.env[preparing] === undefined;
if (!compiles || isLinked) install();
// Without the compiler (npm ci --omit=dev) what was built before has to do.
const canCompile = existsSync(inRoot('node_modules', 'esbuild')) && process.env[preparing] === undefined;
if (process.argv.includes('--build') || (compiles && canCompile)) build(process.argv.includes('--force'));
