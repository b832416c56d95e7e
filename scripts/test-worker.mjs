// Runs test files (uvu), one at a time, as scripts/test.mjs names them: a path and that of its compiled form on each
// line of standard input. Ends with its input. Behind the output of each file stands a line that begins with a NUL:
// {"file", "total", "passed", "skipped", "ms", "cpu"}.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

globalThis.UVU_DEFER = 1;
globalThis.UVU_INDEX = 0;
globalThis.UVU_QUEUE = [[]];
const uvu = await import('uvu');

/** CPU in ms of this process, its threads and the programs that it has started and seen end (Linux). */
function cpuMs() {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1000;
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
    return own + (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return own;
  }
}

/** Runs one file. uvu counts what it runs and says so in its output alone, so each suite is counted here. */
async function run(file, compiled) {
  const begun = performance.now();
  const cpu = cpuMs();
  const counts = { total: 0, passed: 0, skipped: 0 };
  globalThis.UVU_QUEUE.splice(0, Number.POSITIVE_INFINITY, [file]);
  await import(pathToFileURL(compiled).href);
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
  return { file, ...counts, ms: Math.round(performance.now() - begun), cpu: Math.round(cpuMs() - cpu) };
}

let failed = false;
for await (const line of createInterface({ input: process.stdin })) {
  const [file, compiled] = line.split(' ');
  const result = await run(file, compiled).catch((error) => {
    process.stdout.write(`\n   FAIL  ${file} cannot be run: ${error?.stack ?? error}\n`);
    return { file, total: 1, passed: 0, skipped: 0, ms: 0, cpu: 0 };
  });
  failed ||= process.exitCode === 1 || result.passed < result.total;
  process.stdout.write(`\0${JSON.stringify(result)}\n`);
}
// uvu sets the exit code anew for each file.
if (failed) process.exitCode = 1;
