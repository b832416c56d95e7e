import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compile, compiledPath, loadCompiled, run } from '../../src/compiled-code.ts';
import { limitGrowth } from '../../src/lib/heap.ts';

const compiled = suite<{ directory: string; file: string }>('compiled code of the build');
const root = fileURLToPath(new URL('../../', import.meta.url));
const server = fileURLToPath(new URL('../../dist/server.cjs', import.meta.url));

// As `serve` does: V8 takes compiled code with the same options alone.
compiled.before(limitGrowth);
compiled.after(() => setFlagsFromString('--heap-growing-percent=0'));

compiled.before.each((context) => {
  context.directory = mkdtempSync(join(tmpdir(), 'hookswitch-test-'));
  context.file = join(context.directory, 'program.cjs');
  writeFileSync(context.file, "exports.name = require('node:path').basename(__filename);");
});

/** Of the same source under another name: V8 remembers what it has compiled itself. */
function codeOf(file: string): Buffer {
  const other = file.replace('program', 'other');
  copyFileSync(file, other);
  return compile(other).createCachedData();
}

compiled.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

for (const name of ['server', 'worker'])
  compiled(`the code of ${name}.cjs fits this version of Node`, () => {
    // In a process of its own: earlier tests of this one may have set other options of V8.
    const file = fileURLToPath(new URL(`../../dist/${name}.cjs`, import.meta.url));
    const program = [
      `import { compile } from '${new URL('../../src/compiled-code.ts', import.meta.url)}';`,
      `import { limitGrowth } from '${new URL('../../src/lib/heap.ts', import.meta.url)}';`,
      `limitGrowth(); console.log(compile(${JSON.stringify(file)}).cachedDataRejected);`,
    ].join('\n');
    const args = ['--import', 'tsx', '--input-type=module', '-e', program];
    assert.is(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).trim(), 'false');
  });

compiled('a file without compiled code runs', ({ file }) => {
  const script = compile(file);
  assert.is(script.cachedDataRejected, undefined);
  assert.equal(run(script, file), { name: 'program.cjs' });
});

compiled('a file with its compiled code runs', ({ file }) => {
  writeFileSync(compiledPath(file), codeOf(file));
  const script = compile(file);
  assert.is(script.cachedDataRejected, false);
  assert.equal(run(script, file), { name: 'program.cjs' });
});

compiled('with source maps, which tests have, Node loads the file itself', ({ file }) => {
  assert.ok(process.sourceMapsEnabled);
  writeFileSync(compiledPath(file), 'no code');
  assert.equal(loadCompiled(file), { name: 'program.cjs' });
});

compiled('compiled code of another source of the same length is not used', ({ file }) => {
  writeFileSync(compiledPath(file), codeOf(file));
  writeFileSync(file, "exports.name = require('node:path').dirname(__filename); ");
  const script = compile(file);
  assert.is(script.cachedDataRejected, undefined);
  assert.equal(run(script, file), { name: dirname(file) });
});

for (const [title, spoil] of [
  ['of another file', (path: string) => copyFileSync(compiledPath(server), path)],
  ['that is empty', (path: string) => writeFileSync(path, '')],
  ['that is no code', (path: string) => writeFileSync(path, Buffer.alloc(10_000, 7))],
] as const)
  compiled(`compiled code ${title} is left out`, ({ file }) => {
    spoil(compiledPath(file));
    const script = compile(file);
    assert.is(script.cachedDataRejected, true);
    assert.equal(run(script, file), { name: 'program.cjs' });
  });

compiled('compiled code that was cut off is left out', ({ file }) => {
  const code = codeOf(file);
  writeFileSync(compiledPath(file), code.subarray(0, code.length - 20));
  const script = compile(file);
  assert.is(script.cachedDataRejected, true);
  assert.equal(run(script, file), { name: 'program.cjs' });
});

compiled.run();
