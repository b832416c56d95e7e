/**
 * CPU of a call as a multiple of a request to plain node:http, measured in turn in one run: the figure hardly depends on the
 * machine, so it can be compared with the one that is recorded in `yardstick.json`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PingFigures } from './ping-client.ts';
import { cpuMs, runProgram, startServerProcess } from './server-process.ts';

const rounds = 7;
const inFlight = '16';
const seconds = '1.5';

/** Rounds that are not counted: the compiler is still at work. */
const warmUps = 3;

type Recorded = { requestsPerCall: number; least: number };

/** Measures, and says how it compares with what is recorded. @returns whether it is within the bound */
export async function benchYardstick(): Promise<boolean> {
  const { requestsPerCall, least }: Recorded = JSON.parse(
    readFileSync(new URL('yardstick.json', import.meta.url), 'utf8'),
  );
  const plain = fork(fileURLToPath(new URL('plain-server.ts', import.meta.url)));
  const [port] = (await once(plain, 'message')) as [number];
  const server = await startServerProcess();
  const ratios: number[] = [];
  try {
    for (let round = -warmUps; round < rounds; round++) {
      const request = await cpuEach(plain.pid as number, async () => {
        const args = [`http://127.0.0.1:${port}/`, server.credentials, inFlight, seconds];
        const { perSecond } = await runProgram<PingFigures>('ping-client.ts', args);
        return perSecond * Number(seconds);
      });
      const call = await cpuEach(server.pid, async () => {
        const args = [server.http, server.credentials, inFlight, seconds];
        return (await runProgram<{ callsInAll: number }>('control-plane-client.ts', args)).callsInAll;
      });
      if (round >= 0) ratios.push(call / request);
    }
  } finally {
    plain.disconnect();
    await server.stop();
  }
  const now = ratios.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] as number;
  const speed = requestsPerCall / now;
  console.log(
    `a call takes the CPU of ${now.toFixed(1)} requests to plain node:http; ${requestsPerCall.toFixed(1)} are recorded: ` +
      `${speed.toFixed(2)} × the recorded speed (at least ${least} ×)`,
  );
  return speed >= least;
}

/** CPU of a process for each item that `work` counts, in ms. */
async function cpuEach(pid: number, work: () => Promise<number>): Promise<number> {
  const before = cpuMs(pid);
  const count = await work();
  return (cpuMs(pid) - before) / count;
}
