#!/usr/bin/env node
// Runs the tests (uvu) with coverage (c8) and ends with one line that people and programs can read:
//   12 passed, 0 failed, 0 skipped
// Words after `npm test --` choose the test files whose path contains one of them; then no coverage is taken.
// Exit code 0 only when tests ran and none failed; with CI set, a skipped test is a failure too.
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packages = join(root, 'node_modules');
const raw = join(root, 'coverage', 'tmp');
/** A test that says nothing for this long hangs: waiting for what does not come it gives up long before. */
const quietMs = 600_000;
/**
 * A run that does not end this long after its totals is kept alive by something that its tests opened: it only writes down
 * what was covered.
 */
const endMs = 300_000;
const hangs = 'a test hangs: nothing was heard of it for ten minutes';

const filters = process.argv.slice(2);
const words = filters.map((word) => word.replace(/^tests\//, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
const pattern = `^(?=.*(${words.join('|')})).*\\.test\\.ts$`;

/** Runs uvu, showing its output; resolves with its exit code (1 when it had to be killed) and output as plain text. */
function runTests() {
  const env = { ...process.env };
  if (filters.length === 0) env.NODE_V8_COVERAGE = raw;
  const support = (name) => ['--import', pathToFileURL(join(root, 'tests', 'support', name)).href];
  const uvu = join(packages, 'uvu', 'bin.js');
  const preloads = [...support('unhandled.mjs'), ...support('typescript.mjs'), ...support('chance.mjs')];
  const args = [...preloads, uvu, 'tests', pattern, process.stdout.isTTY ? '--color' : '--no-color'];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  // A group of its own, so that what the tests started ends with them.
  const end = (signal) => process.kill(-child.pid, signal);
  process.on('SIGINT', end).on('SIGTERM', end);
  return new Promise((done) => {
    let output = '';
    let stuck = '';
    const kill = (reason) => {
      stuck = reason;
      end('SIGKILL');
    };
    let timer = setTimeout(kill, quietMs, hangs);
    child.stdout.on('data', (chunk) => {
      process.stdout.write(chunk);
      output += chunk;
      clearTimeout(timer);
      timer = output.includes('Duration:')
        ? setTimeout(kill, endMs, 'the tests are over, but something they opened keeps the process alive')
        : setTimeout(kill, quietMs, hangs);
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      if (stuck) process.stdout.write(`\n${stuck}\n`);
      done({ code: stuck ? 1 : (code ?? 1), text: stripVTControlCharacters(output) });
    });
  });
}

/** Files of types alone leave nothing to run, so nothing to cover. */
function typesOnly() {
  const files = readdirSync(join(root, 'src'), { recursive: true }).filter((file) => file.endsWith('.ts'));
  const hasCode = /^(export (default )?)?(async )?(const|let|function|class)\b/m;
  return files.filter((file) => !hasCode.test(readFileSync(join(root, 'src', file), 'utf8')));
}

function reportCoverage() {
  const c8 = join(packages, 'c8', 'bin', 'c8.js');
  const args = ['report', '--temp-directory', raw, '--reports-dir', 'coverage', '--all', '--src', 'src'];
  args.push('--include', 'src/**/*.ts', ...typesOnly().flatMap((file) => ['--exclude', `src/${file}`]));
  args.push('--reporter', 'text-summary', '--reporter', 'lcov');
  spawnSync(process.execPath, [c8, ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  rmSync(raw, { recursive: true, force: true });
}

/** The number that uvu printed last behind `label`; 0 when it never came so far. */
const total = (text, label) => Number([...text.matchAll(new RegExp(`^ *${label}: +(\\d+)`, 'gm'))].at(-1)?.[1] ?? 0);

rmSync(raw, { recursive: true, force: true });
const { code, text } = await runTests();
if (filters.length === 0) reportCoverage();

const passed = total(text, 'Passed');
const skipped = total(text, 'Skipped');
// A run that broke off has no totals; that is one failure even if no test was to blame.
const failed = Math.max(total(text, 'Total') - passed, code === 0 ? 0 : 1);
const problems = [
  !text.includes('Duration:') && 'the run broke off before its end',
  passed + failed === 0 && 'no test ran',
  skipped > 0 && process.env.CI && 'skipped tests are failures where CI is set',
].filter(Boolean);
// Once more at the end, where who reads the end of a long output finds them.
const failures = [...text.matchAll(/^ *FAIL +(.*)$/gm)].map(([, title]) => title);
if (failures.length > 0) process.stdout.write(`\nfailed:\n${failures.map((title) => `  ${title}\n`).join('')}`);
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exitCode = failed > 0 || problems.length > 0 ? 1 : 0;
