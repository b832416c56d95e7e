import { startTestServer } from '../packages/testing/src/index.ts';
import { nodeArguments } from '../scripts/compiled.ts';
import { exampleCalls } from '../tests/support/example-calls.ts';

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * How long the test of a normal call of each example takes, from the first `phone.call` to the last expectation; prints
 * real time and CPU of this process. Server and program run already; the first call, which compiles code, counts on its own.
 */
export async function benchExampleCalls(rounds: number): Promise<void> {
  console.log('| | First call (CPU) | Median | Fastest | CPU, median | Simulated |\n|---|---|---|---|---|---|');
  for (const { name, call } of exampleCalls) {
    const pbx = await startTestServer();
    await pbx.run(process.execPath, nodeArguments(`examples/${name}.ts`));
    const runs: { ms: number; cpu: number; simulated: number }[] = [];
    for (let round = 0; round <= rounds; round++) {
      // `event` also finds events of earlier calls.
      pbx.events.length = 0;
      const [began, cpu, simulated] = [performance.now(), cpuMs(), pbx.clock.now()];
      await call(pbx);
      runs.push({ ms: performance.now() - began, cpu: cpuMs() - cpu, simulated: pbx.clock.now() - simulated });
      await pbx.idle();
    }
    const [first, ...others] = runs;
    const times = others.map(({ ms }) => ms);
    console.log(
      `| ${name} | ${first?.ms.toFixed(0)} ms (${first?.cpu.toFixed(0)} ms) | ${median(times).toFixed(0)} ms | ${Math.min(...times).toFixed(0)} ms | ` +
        `${median(others.map(({ cpu }) => cpu)).toFixed(0)} ms | ${(median(others.map((each) => each.simulated)) / 1000).toFixed(1)} s |`,
    );
    await pbx.close();
  }
}
