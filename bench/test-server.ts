import { execFileSync } from 'node:child_process';

/** What each process measures: in ms of real time and of CPU. */
const program = `
  const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const figures = {};
  const measure = async (name, work) => {
    const [cpu, began] = [cpuMs(), performance.now()];
    const made = await work();
    figures[name] = { ms: performance.now() - began, cpuMs: cpuMs() - cpu };
    return made;
  };
  const { startTestServer } = await measure('import', () => import('hookswitch/testing'));
  for (const name of ['first start', 'second start', 'third start', 'fourth start']) {
    const pbx = await measure(name, () => startTestServer());
    await pbx.close();
  }
  process.stdout.write(JSON.stringify(figures));
`;

type Figures = Record<string, { ms: number; cpuMs: number }>;

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * How long `startTestServer()` takes, in new processes of plain Node; prints medians, and the fastest.
 * @param directory a project with the package installed; default: this one.
 */
export function benchTestServer(rounds: number, directory = process.cwd()): void {
  const runs = Array.from({ length: rounds }, (): Figures => {
    const args = ['--input-type=module', '--eval', program];
    return JSON.parse(execFileSync(process.execPath, args, { cwd: directory, encoding: 'utf8' }));
  });
  console.log(`startTestServer() in ${rounds} new processes of Node ${process.version}`);
  console.log('| | Median | Fastest | CPU, median |\n|---|---|---|---|');
  for (const name of Object.keys(runs[0] ?? {})) {
    const all = runs.map((run) => run[name] ?? { ms: 0, cpuMs: 0 });
    const times = all.map(({ ms }) => ms);
    const cpu = median(all.map(({ cpuMs }) => cpuMs));
    console.log(
      `| ${name} | ${median(times).toFixed(0)} ms | ${Math.min(...times).toFixed(0)} ms | ${cpu.toFixed(0)} ms |`,
    );
  }
}
