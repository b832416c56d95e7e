import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const preload = fileURLToPath(new URL('unhandled.mjs', import.meta.url));

/** Runs a program as the tests are run, also where Node was told not to mind. */
function run(program: string, ...options: string[]) {
  const args = [...options, '--import', preload, '--input-type=module', '--eval', program];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, failures: stdout.split('\n').filter((line) => line.includes('FAIL')) };
}

test('a rejection that nobody handles fails the run, and the rest still runs', () => {
  const program =
    "Promise.reject(new Error('one')); setTimeout(() => { Promise.reject(new Error('two')); process.exitCode = 0 })";
  for (const options of [[], ['--unhandled-rejections=warn'], ['--unhandled-rejections=none']])
    assert.equal(run(program, ...options), {
      status: 1,
      failures: ['   FAIL  nobody handled a rejection: Error: one', '   FAIL  nobody handled a rejection: Error: two'],
    });
});

test('an exception that nobody catches fails the run', () => {
  assert.equal(run("setTimeout(() => { throw new Error('three') })"), {
    status: 1,
    failures: ['   FAIL  nobody handled an exception: Error: three'],
  });
});

test('a run in which everything is handled is none the worse', () => {
  assert.equal(run("Promise.reject(new Error('one')).catch(() => {})"), { status: 0, failures: [] });
});

test.run();
