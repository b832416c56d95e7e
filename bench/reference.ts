/**
 * Compares this tree with the fixed reference revision, and with another server of the interface where one is named
 * (`referenceServer`): calls a second, latency and CPU of the server a call at 1 and 16 calls in flight, CPU of a SIP call with
 * SIPp, and memory. Code that V8 has not optimised yet takes two to three times as long, so the first calls have figures of their
 * own and the rounds begin behind a warm-up. All sides run at once and are loaded in turn, so that a machine that slows down slows all of them. Ratios
 * count: they are taken round by round.
 *
 *   npm run bench -- reference [--rounds 3] [--seconds 4]
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuMs, residentOctets, runProgram, type ServerProcess, type Subject, startFrom } from './server-process.ts';

/** The fixed reference: small losses of single changes would go unnoticed against the last revision. */
export const referenceRevision = '0bbf539';

const root = fileURLToPath(new URL('..', import.meta.url));
/** SIP set-ups a second, and how many in a round. */
const sipRate = 300;
const sipCalls = 1_200;
/** The warm-up: seconds of calls with 16 in flight, and SIP set-ups at twice the rate. */
const warmUpSeconds = 8;
const warmUpSipCalls = 4_000;

type Side = { subject: Subject; figures: Map<string, number[]> };
type CallFigures = { callsPerSecond: number; callsInAll: number; p50Ms: number; p99Ms: number };

/** Checks the reference revision out beside this tree and compiles it. @returns what removes it again */
function checkOut(checkout: string): () => void {
  execFileSync('git', ['worktree', 'add', '--detach', checkout, referenceRevision], { cwd: root, stdio: 'ignore' });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: checkout, stdio: 'inherit' });
  return () => execFileSync('git', ['worktree', 'remove', '--force', checkout], { cwd: root, stdio: 'ignore' });
}

/** What is measured now: the whole takes minutes. */
const progress = (text: string): void => void process.stderr.write(`${text}\n`);

const note = ({ figures }: Side, name: string, value: number): void => {
  const values = figures.get(name) ?? [];
  values.push(value);
  figures.set(name, values);
};

/** Calls of the control plane, and the server's CPU of one in µs. */
async function makeCalls(
  { subject }: Side,
  inFlight: number,
  seconds: number,
): Promise<CallFigures & { cpuUs: number }> {
  const { pid, http, credentials } = subject;
  const before = cpuMs(pid);
  const args = [http, credentials, String(inFlight), String(seconds)];
  const figures = await runProgram<CallFigures>('control-plane-client.ts', args);
  return { ...figures, cpuUs: ((cpuMs(pid) - before) * 1000) / figures.callsInAll };
}

async function callCycle(side: Side, inFlight: number, seconds: number): Promise<void> {
  const { callsPerSecond, p50Ms, p99Ms, cpuUs } = await makeCalls(side, inFlight, seconds);
  note(side, `calls/s, ${inFlight} in flight`, callsPerSecond);
  note(side, `p50 in ms, ${inFlight} in flight`, p50Ms);
  note(side, `p99 in ms, ${inFlight} in flight`, p99Ms);
  note(side, `CPU in µs a call, ${inFlight} in flight`, cpuUs);
}

/** SIP calls that are answered with echo and last 200 ms. @returns the server's CPU of one in ms, and how many failed */
async function makeSipCalls({ subject }: Side, calls: number, rate: number, directory: string) {
  const { pid, sip } = subject;
  const statistics = join(directory, 'sipp.csv');
  rmSync(statistics, { force: true });
  const before = cpuMs(pid);
  const sipp = spawn(
    'sipp',
    [
      ...[sip, '-sn', 'uac', '-s', 'echo', '-i', '127.0.0.1', '-r', `${rate}`, '-m', `${calls}`, '-d', '200'],
      ...['-l', '3000', '-nostdin', '-trace_stat', '-stf', statistics, '-fd', '1', '-timeout', '60s', '-mp', '20000'],
    ],
    { stdio: 'ignore', timeout: 90_000 },
  );
  await once(sipp, 'close');
  const [head = '', ...rows] = readFileSync(statistics, 'utf8').trim().split('\n');
  const failed = rows.at(-1)?.split(';')[head.split(';').indexOf('FailedCall(C)')];
  return { cpuMs: (cpuMs(pid) - before) / calls, failed: Number(failed) };
}

async function sipCycle(side: Side, directory: string): Promise<void> {
  const made = await makeSipCalls(side, sipCalls, sipRate, directory);
  note(side, `CPU in ms a SIP call, ${sipRate}/s`, made.cpuMs);
  note(side, 'SIP calls that failed', made.failed);
}

/** Load until the code is optimised; the first of it has figures of its own. */
async function warmUp(side: Side, directory: string | undefined): Promise<void> {
  const first = await makeCalls(side, 16, 2);
  note(side, 'CPU in µs a call, first 3 s', first.cpuUs);
  await makeCalls(side, 16, warmUpSeconds);
  if (directory === undefined || side.subject.sip === '') return;
  const firstSip = await makeSipCalls(side, sipCalls, sipRate, directory);
  note(side, `CPU in ms a SIP call, first ${sipCalls}`, firstSip.cpuMs);
  await makeSipCalls(side, warmUpSipCalls, 2 * sipRate, directory);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const digits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

/** The table, one line per figure: this tree, then each other side with median and range of the ratios. */
function table(ours: Side, others: readonly Side[]): string {
  const names = ['', 'this tree', ...others.map(({ subject }) => subject.name)];
  const rows = [...ours.figures].map(([name, values]) => {
    const compared = others.map(({ figures }) => {
      const theirs = figures.get(name) ?? [];
      // Of two figures that are 0 there is no ratio.
      if (![...values, ...theirs].some((value) => value !== 0)) return digits(0);
      const ratios = values.map((value, round) => value / (theirs[round] ?? Number.NaN)).sort((a, b) => a - b);
      const range = `${ratios[0]?.toFixed(2)}–${ratios.at(-1)?.toFixed(2)}`;
      return `${digits(median(theirs))} (ours ${median(ratios).toFixed(2)} ×, ${range})`;
    });
    return [name, digits(median(values)), ...compared];
  });
  return [names, names.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Runs the comparison and prints its table. */
export async function benchReference(rounds: number, seconds: number, named: Subject | undefined): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-reference-'));
  const checkout = join(directory, 'checkout');
  const hasSipp = ['/usr/bin/sipp', '/usr/local/bin/sipp'].some(existsSync);
  if (!hasSipp) console.log('skipped: SIP calls need sipp');
  const remove = checkOut(checkout);
  const started: ServerProcess[] = [];
  try {
    for (const [name, from] of [
      ['this tree', root],
      [referenceRevision, checkout],
    ] as const)
      started.push(await startFrom(from, name));
    const subjects: Subject[] = named ? [...started, named] : started;
    const [ours, ...others] = subjects.map((subject): Side => ({ subject, figures: new Map() })) as [Side, ...Side[]];
    const sides = [ours, ...others];
    // The server's start-up work is over.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    for (const side of sides) note(side, 'memory idle in MB', residentOctets(side.subject.pid) / 1e6);
    for (const side of sides) {
      progress(`warm-up: ${side.subject.name}`);
      await warmUp(side, hasSipp ? directory : undefined);
    }
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1} of ${rounds}`);
      for (const side of sides) await callCycle(side, 1, seconds);
      for (const side of sides) await callCycle(side, 16, seconds);
      if (hasSipp) for (const side of sides) if (side.subject.sip !== '') await sipCycle(side, directory);
    }
    for (const side of sides) note(side, 'memory after load in MB', residentOctets(side.subject.pid) / 1e6);
    console.log(table(ours, others));
  } finally {
    for (const server of started) await server.stop();
    remove();
    rmSync(directory, { recursive: true, force: true });
  }
}
