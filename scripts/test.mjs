#!/usr/bin/env node
// Runs the tests (uvu) and ends with one line that people and programs can read:
//   12 passed, 0 failed, 0 skipped
// `--quick` runs only tests without processes and sockets (`npm run test:quick`).
// `--coverage` takes and reports coverage, too (c8; `npm run coverage`). This takes a third more time.
// Words after `npm test --` choose the test files whose path contains one of them.
// Files run side by side, one more than there are processors (HOOKSWITCH_TEST_WORKERS says otherwise), the slowest first.
// `--record` writes anew which those are. `coverage/times.json` has the time of each file, in ms.
// Exit code 0 only when tests ran and none failed; with CI set, a skipped test is a failure too.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledPath, compileTests, root } from './compile-tests.mjs';
import { reportCoverage } from './coverage.mjs';
import { quickFiles } from './quick-tests.mjs';

const raw = join(root, 'coverage', 'tmp');
/** A test that prints nothing for this long hangs: tests themselves give up waiting long before. */
const quietMs = 600_000;
/** A worker that does not end this long after its last file is kept alive by something its tests opened. */
const endMs = 300_000;
/** Files that one worker runs before another takes its place: loaded modules stay in memory. */
const filesOfWorker = 40;
/** Files that take longest, and the longest of them first: no long file is left for the end. `--record` writes it. */
const slowFiles = join(root, 'scripts', 'slow-tests.json');
/** From this share of all CPU on a file is one of them. */
const slowShare = 0.002;

const isQuick = process.argv.includes('--quick');
const records = process.argv.includes('--record');
const filters = process.argv
  .slice(2)
  .filter((word) => !word.startsWith('--'))
  .map((word) => word.replace(/^tests\//, ''));
const takesCoverage = process.argv.includes('--coverage');
/** Phones and servers of tests often wait for each other: one file more than there are processors makes use of that. */
const workers = Number(process.env.HOOKSWITCH_TEST_WORKERS ?? availableParallelism() + (isQuick ? 0 : 1));
if (!Number.isInteger(workers) || workers < 1) throw new Error('HOOKSWITCH_TEST_WORKERS: an integer from 1 is allowed');

/** Paths of the test files to run, from the root. */
function chosenFiles() {
  const files = readdirSync(join(root, 'tests'), { recursive: true }).filter((file) => file.endsWith('.test.ts'));
  const chosen = files.filter((file) => filters.length === 0 || filters.some((word) => file.includes(word)));
  const slow = JSON.parse(readFileSync(slowFiles, 'utf8'));
  const rank = (file) => slow.indexOf(file) + 1 || slow.length + 1;
  const paths = chosen.map((file) => join('tests', file));
  return (isQuick ? quickFiles(paths, root) : paths).sort(
    (one, other) => rank(one) - rank(other) || one.localeCompare(other),
  );
}

const running = new Set();
/** Ends what is running, and what it has started. */
const endAll = (signal) => {
  for (const child of running) process.kill(-child.pid, signal);
};
process.on('SIGINT', endAll).on('SIGTERM', endAll);

/** Starts a worker in a process group of its own, so that what its tests started ends with it. */
function startWorker() {
  const env = { ...process.env };
  if (takesCoverage) env.NODE_V8_COVERAGE = raw;
  const preload = (name) => ['--import', pathToFileURL(join(root, 'tests', 'support', name)).href];
  const preloads = [...preload('unhandled.mjs'), ...preload('chance.mjs')];
  if (isQuick) preloads.push(...preload('no-sockets.mjs'));
  if (process.stdout.isTTY) env.FORCE_COLOR = '1';
  else env.NO_COLOR = '1';
  const program = join(root, 'scripts', 'test-worker.mjs');
  const child = spawn(process.execPath, ['--enable-source-maps', ...preloads, program], {
    cwd: root,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  child.stdin.on('error', () => {});
  running.add(child);
  return child;
}

/** Lets one worker run files until there are no more, or it has had its share. @returns why it broke off, or undefined. */
function work(files, told) {
  const child = startWorker();
  let output = '';
  let problem;
  let share = filesOfWorker;
  let file;
  let timer;
  const expect = (ms, reason) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      problem = reason;
      process.kill(-child.pid, 'SIGKILL');
    }, ms);
  };
  const next = () => {
    file = share-- > 0 ? files.shift() : undefined;
    if (file === undefined) {
      child.stdin.end();
      expect(endMs, 'the tests are over, but something they opened keeps the process alive');
    } else {
      child.stdin.write(`${file} ${compiledPath(file)}\n`);
      expect(quietMs, `a test of ${file} hangs: nothing was heard of it for ten minutes`);
    }
  };
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    output += chunk;
    if (file !== undefined) expect(quietMs, `a test of ${file} hangs: nothing was heard of it for ten minutes`);
    for (let end = output.indexOf('\0'); end >= 0 && output.indexOf('\n', end) >= 0; end = output.indexOf('\0')) {
      const line = output.indexOf('\n', end);
      told(output.slice(0, end), JSON.parse(output.slice(end + 1, line)));
      output = output.slice(line + 1);
      next();
    }
  });
  next();
  return new Promise((done) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      if (output !== '') process.stdout.write(output);
      if (file !== undefined) problem ??= `the process that ran ${file} ended with code ${code}`;
      done({ problem, code: code ?? 1 });
    });
  });
}

/** What a file printed, without uvu's totals: there is one total, at the end. */
const withoutTotals = (text) => text.replace(/\n {2}Total: [\s\S]*$/, '\n');

async function runTests() {
  const files = chosenFiles();
  const results = [];
  const failures = [];
  const problems = [];
  const told = (text, result) => {
    results.push(result);
    process.stdout.write(withoutTotals(text));
    const failed = [...text.matchAll(/^ *FAIL +(.*)$/gm)].map(([, title]) => `${result.file}: ${title}`);
    // uvu says nothing where a hook fails: the rest of its suite does not run.
    const untold = result.total - result.passed - failed.length;
    if (untold > 0) failed.push(`${result.file}: ${untold} tests did not run: a hook failed`);
    failures.push(...failed);
  };
  const lane = async () => {
    while (files.length > 0) {
      const { problem, code } = await work(files, told);
      if (problem) problems.push(problem);
      else if (code !== 0 && failures.length === 0) problems.push(`a process that ran tests ended with code ${code}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, files.length) }, lane));
  return { results, failures, problems };
}

const sum = (results, name) => results.reduce((all, result) => all + result[name], 0);

rmSync(raw, { recursive: true, force: true });
await compileTests();
const begun = performance.now();
const { results, failures, problems } = await runTests();
const took = performance.now() - begun;
mkdirSync(dirname(raw), { recursive: true });
writeFileSync(join(dirname(raw), 'times.json'), JSON.stringify(results.toSorted((one, other) => other.cpu - one.cpu)));
if (takesCoverage) reportCoverage(raw);

if (records) {
  const slow = results
    .filter(({ cpu }) => cpu > slowShare * sum(results, 'cpu'))
    .sort((one, other) => other.ms - one.ms);
  writeFileSync(
    slowFiles,
    `${JSON.stringify(
      slow.map(({ file }) => file),
      undefined,
      2,
    )}\n`,
  );
}
const passed = sum(results, 'passed');
const skipped = sum(results, 'skipped');
const failed = Math.max(sum(results, 'total') - passed, failures.length, problems.length > 0 ? 1 : 0);
if (passed + failed === 0) problems.push('no test ran');
if (skipped > 0 && process.env.CI) problems.push('skipped tests are failures where CI is set');
const slowest = results.toSorted((one, other) => other.ms - one.ms).slice(0, 10);
const seconds = (ms) => `${(ms / 1000).toFixed(1).padStart(6)} s`;
process.stdout.write(
  `\nslowest files of ${Math.round(took / 1000)} s (CPU of all: ${Math.round(sum(results, 'cpu') / 1000)} s):\n`,
);
for (const { file, ms, cpu } of slowest) process.stdout.write(`${seconds(ms)}  CPU ${seconds(cpu)}  ${file}\n`);
// Once more at the end, for readers of the end of a long output.
if (failures.length > 0) process.stdout.write(`\nfailed:\n${failures.map((title) => `  ${title}\n`).join('')}`);
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exitCode = failed > 0 || problems.length > 0 ? 1 : 0;
