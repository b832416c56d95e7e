/**
 * `npm run mutate` changes the charts of `src/machines`, one place at a time, and runs the tests of the changed chart against each
 * change. A change that no test notices is a survivor: it is printed, and the exit code is 1. Words after `npm run mutate --`
 * choose charts by name: `npm run mutate -- transfer watcher`.
 *
 * Changed are guards, targets, delays, numbers and causes. `chart-mutants.ts` makes the changes; `equalMutants` below lists those
 * that change nothing that anybody can observe.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { chartsWithTests, describeMutant, loadChart, type Mutant, mutantsOf, runMutant } from './chart-mutants.ts';

/** A mutant that loops is stopped after this time, in ms. That counts as noticed. */
const patienceMs = 20_000;
const processes = Math.min(2, availableParallelism());

/** Mutants that behave as the chart does, each by its description and with the reason. */
const equalMutants: Readonly<Record<string, string>> = {
  'registration: keepAccepted > failoverMs: 0 becomes 1':
    'The time for repetitions is longer than 1 ms: registrations last for whole seconds.',
};

type Task = { chart: string; index: number };
type Verdict = { noticed: string | undefined };

/** A process that runs mutants, one at a time. */
class Runner {
  #child: ChildProcess | undefined;

  /** @returns what noticed the mutant, or undefined if nothing did. */
  run(task: Task): Promise<string | undefined> {
    this.#child ??= fork(fileURLToPath(import.meta.url), ['--run']);
    const child = this.#child;
    return new Promise((resolve) => {
      const done = (noticed: string | undefined): void => {
        clearTimeout(timer);
        child.removeAllListeners();
        resolve(noticed);
      };
      const timer = setTimeout(() => {
        this.close();
        done('no end');
      }, patienceMs);
      child.once('message', ({ noticed }: Verdict) => done(noticed));
      child.once('exit', () => {
        this.#child = undefined;
        done('the process ended');
      });
      child.send(task);
    });
  }

  close(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

/** Runs every mutant of a chart. @returns the survivors, and the entries of `equalMutants` that are not needed. */
async function mutate(chart: string, runners: readonly Runner[]): Promise<{ survivors: Mutant[]; needless: string[] }> {
  const mutants = await mutantsOf(chart);
  const survivors: Mutant[] = [];
  let next = 0;
  const work = async (runner: Runner): Promise<void> => {
    for (let index = next++; index < mutants.length; index = next++)
      if ((await runner.run({ chart, index })) === undefined) survivors.push(mutants[index]!);
  };
  await Promise.all(runners.map(work));
  const names = survivors.map(describeMutant);
  const known = Object.keys(equalMutants).filter((name) => name.startsWith(`${chart}: `));
  const left = survivors.filter((mutant) => !Object.hasOwn(equalMutants, describeMutant(mutant)));
  process.stdout.write(`${chart}: ${mutants.length} mutants, ${left.length} survivors\n`);
  for (const mutant of left) process.stdout.write(`  ${describeMutant(mutant)}\n    ${mutant.place}\n`);
  return { survivors: left, needless: known.filter((name) => !names.includes(name)) };
}

async function runAll(words: readonly string[]): Promise<void> {
  const charts = chartsWithTests().filter((chart) => words.length === 0 || words.includes(chart));
  if (charts.length === 0) throw new Error(`no chart has that name; there are ${chartsWithTests().join(', ')}`);
  const runners = Array.from({ length: processes }, () => new Runner());
  let failed = false;
  for (const chart of charts) {
    const { survivors, needless } = await mutate(chart, runners);
    for (const name of needless) process.stdout.write(`  not needed in equalMutants: ${name}\n`);
    failed ||= survivors.length > 0 || needless.length > 0;
  }
  for (const runner of runners) runner.close();
  process.exitCode = failed ? 1 : 0;
}

if (process.argv.includes('--run'))
  process.on('message', async ({ chart, index }: Task) => {
    await loadChart(chart);
    process.send?.({ noticed: await runMutant(chart, index) });
  });
else await runAll(process.argv.slice(2));
