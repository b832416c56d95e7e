#!/usr/bin/env node
// Runs the tests that try things at random over and over, each round with another seed, for so many minutes (10 when not
// told) or until one fails; then says which seed shows it again. Words choose files as they do for `npm test`:
//   npm run fuzz -- 30 drivers/sip
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [first = '', ...others] = process.argv.slice(2);
const isTime = /^\d+$/.test(first);
const minutes = isTime ? Number(first) : 10;
const words = isTime ? others : [first, ...others].filter(Boolean);

const files = readdirSync(join(root, 'tests'), { recursive: true })
  .filter((file) => file.endsWith('.test.ts') && (words.length === 0 || words.some((word) => file.includes(word))))
  .filter((file) => readFileSync(join(root, 'tests', file), 'utf8').includes("from 'fast-check'"));
if (files.length === 0) {
  process.stderr.write('no test that tries things at random has such a path\n');
  process.exit(1);
}

const start = Date.now();
let rounds = 0;
while (rounds === 0 || Date.now() - start < minutes * 60_000) {
  const seed = (start + rounds++) & 0x7fff_ffff;
  // Of tests that count their attempts themselves.
  const env = { HOOKSWITCH_FUZZ_RUNS: '20000', ...process.env, HOOKSWITCH_TEST_SEED: String(seed) };
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'test.mjs'), ...files], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  if (status === 0) continue;
  process.stdout.write(`HOOKSWITCH_TEST_SEED=${seed} shows it again (round ${rounds})\n`);
  process.exit(1);
}
process.stdout.write(`${files.length} files, ${rounds} rounds, nothing found\n`);
