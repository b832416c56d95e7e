// Runs test files (uvu), one at a time, as scripts/test.mjs names them: a path on each line of standard input. Ends with
// its input. Behind the output of each file stands a line that begins with a NUL: {"file", "total", "passed", "skipped", "ms"}.
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

globalThis.UVU_DEFER = 1;
globalThis.UVU_INDEX = 0;
globalThis.UVU_QUEUE = [[]];
const uvu = await import('uvu');

/** Runs one file. uvu counts what it runs and says so in its output alone, so each suite is counted here. */
async function run(file) {
  const begun = performance.now();
  const counts = { total: 0, passed: 0, skipped: 0 };
  globalThis.UVU_QUEUE.splice(0, Number.POSITIVE_INFINITY, [file]);
  await import(pathToFileURL(file).href);
  const [group] = globalThis.UVU_QUEUE;
  for (const [index, suite] of group.entries())
    if (typeof suite === 'function')
      group[index] = async () => {
        const result = await suite();
        const [, passed, skipped, total] = result;
        counts.total += total;
        counts.passed += passed;
        counts.skipped += skipped;
        return result;
      };
  await uvu.exec();
  return { file, ...counts, ms: Math.round(performance.now() - begun) };
}

let failed = false;
for await (const file of createInterface({ input: process.stdin })) {
  const result = await run(file);
  failed ||= process.exitCode === 1 || result.passed < result.total;
  process.stdout.write(`\0${JSON.stringify(result)}\n`);
}
// uvu sets the exit code anew for each file.
if (failed) process.exitCode = 1;
