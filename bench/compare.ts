import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Compares the call cycle of this tree with an earlier revision: both are built, started, and loaded in turn (A B A B …)
 * by the same client in a process of its own, so that a machine that slows down slows both.
 *
 *   npx tsx bench/compare.ts <revision> [rounds] [calls in flight]
 *
 * With `recorder` in place of a revision it compares this tree without its recorder with this tree as it is.
 *
 *   npx tsx bench/compare.ts recorder 30
 *
 * With `state` it compares this tree without its state store with this tree that has one.
 *
 * With `cluster` it compares this tree on its own with this tree as the only node of a cluster, and with `two-nodes` as one of two.
 * With `server` behind the calls in flight, the server chooses the ids; with `held` each call lasts two seconds.
 *
 *   npx tsx bench/compare.ts cluster 5 16 server
 *
 * With `log` it compares this tree without its log with this tree as it is, by calls that are told in it: to a server outside, over RTP.
 * Where there is /proc, the time of processors that a call took of the server is told as well: it says more on a busy machine.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const [revision = 'HEAD~1', rounds = '5', inFlight = '16', ...kinds] = process.argv.slice(2);
const workspace = mkdtempSync(join(tmpdir(), 'hookswitch-compare-'));
const password = 'bench';

type Side = { name: string; server: ChildProcess; url: string; calls: number[]; p50: number[]; cpu: number[] };

/** The called endpoint, and how the client chooses ids and ends calls. */
const endpoint = [revision === 'log' ? 'UnicastRTP/127.0.0.1:9/c(ulaw)' : 'Local/echo@default', ...kinds];

/** Checks a revision out beside this tree and compiles it; returns where it was compiled to. */
function build(name: string, checkout: string): string {
  // Revisions before the bundle were compiled file by file.
  const bundler = join(checkout, 'scripts', 'build-server.ts');
  const compile = existsSync(bundler)
    ? ['--import', 'tsx', bundler]
    : [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json'];
  execFileSync(process.execPath, compile, { cwd: checkout, stdio: 'inherit' });
  process.stderr.write(`built ${name}\n`);
  return checkout;
}

function checkOut(): string {
  const checkout = join(workspace, 'before');
  execFileSync('git', ['worktree', 'add', '--detach', checkout, revision], { cwd: root, stdio: 'ignore' });
  if (!existsSync(join(checkout, 'node_modules')))
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  return checkout;
}

type Settings = { log?: string; recorder?: object; state_store?: object; cluster?: object };
type Measured = { callsPerSecond: number; callsInAll: number; p50Ms: number };

async function start(name: string, checkout: string, { log = 'error', ...more }: Settings = {}): Promise<Side> {
  const data = join(workspace, `data-${name}`);
  mkdirSync(data);
  const config = join(workspace, `${name}.yaml`);
  const settings = {
    general: { data_directory: data, log_level: log },
    http: { port: 0, users: [{ name: 'bench', password }] },
    sip: { transports: [{ protocol: 'udp', port: 0 }] },
    media: { rtp_ports: [0, 0] },
    ...more,
  };
  writeFileSync(config, JSON.stringify(settings));
  const server = spawn(process.execPath, ['dist/cli.js', 'serve', '--config', config], {
    cwd: checkout,
    // A log under test goes to a file.
    stdio: ['ignore', 'pipe', revision === 'log' ? openSync(join(workspace, `${name}.log`), 'w') : 'inherit'],
  });
  let banner = '';
  const ready = new Promise<string>((resolve, reject) => {
    // Other logs are read to the end, as a journal would.
    server.stdout?.on('data', (chunk) => {
      if (banner.length < 10_000) banner += chunk;
      const url = /http:\/\/\S+\/ari/.exec(banner)?.[0];
      if (url && banner.includes('SIP')) resolve(url);
    });
    server.on('close', () => reject(new Error(`${name} did not start: ${banner}`)));
  });
  return { name, server, url: await ready, calls: [], p50: [], cpu: [] };
}

/** CPU time of a process, in ms; NaN if unknown. */
function cpuMs({ pid }: ChildProcess): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    // utime and stime (proc(5)), in hundredths of a second.
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return Number.NaN;
  }
}

/** One round of load on one side. */
async function load(side: Side): Promise<void> {
  const before = cpuMs(side.server);
  const client = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      join(root, 'bench', 'control-plane-client.ts'),
      side.url,
      `bench:${password}`,
      inFlight,
      '4',
      ...endpoint,
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  client.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  await once(client, 'close');
  const { callsPerSecond, callsInAll, p50Ms } = JSON.parse(output) as Measured;
  side.calls.push(callsPerSecond);
  side.p50.push(p50Ms);
  const cpu = (1000 * (cpuMs(side.server) - before)) / callsInAll;
  side.cpu.push(cpu);
  console.log(
    `${side.name.padEnd(8)}${callsPerSecond.toFixed(0).padStart(6)} calls/s, p50 ${p50Ms.toFixed(2)} ms, ${cpu.toFixed(0)} µs of processors a call`,
  );
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** The 95 % interval of the median for any distribution: by ranks, from the binomial distribution. */
function interval(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const half = 0.98 * Math.sqrt(sorted.length);
  const low = sorted[Math.max(0, Math.floor(sorted.length / 2 - half))] ?? Number.NaN;
  const high = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length / 2 + half))] ?? Number.NaN;
  return `${low.toFixed(3)} to ${high.toFixed(3)}`;
}

const isCluster = revision === 'cluster' || revision === 'two-nodes';
const natsPort = 24_222;
const nodeOf = (name: string): Settings => ({ cluster: { nats: [`nats://127.0.0.1:${natsPort}`], name } });

/** The settings of both sides where this tree is compared with itself. */
const parts: Readonly<Record<string, readonly [Settings, Settings]>> = {
  recorder: [{ recorder: { off: true } }, {}],
  log: [{}, { log: 'info' }],
  state: [{}, { state_store: { on: true } }],
  cluster: [{}, nodeOf('a')],
  'two-nodes': [{}, nodeOf('a')],
};

/** Starts NATS for the node of a cluster. */
async function startNats(): Promise<ChildProcess> {
  const server = spawn('nats-server', ['-js', '-sd', join(workspace, 'nats'), '-a', '127.0.0.1', '-p', `${natsPort}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const text of server.stderr ?? []) if (String(text).includes('Server is ready')) break;
  return server;
}

const sides: Side[] = [];
const beside: ChildProcess[] = [];
try {
  if (isCluster) beside.push(await startNats());
  const part = parts[revision];
  const before = part ? root : build(revision, checkOut());
  build('this tree', root);
  if (revision === 'two-nodes') beside.push((await start('other', root, nodeOf('b'))).server);
  sides.push(
    await start(part ? 'off' : 'before', before, part?.[0]),
    await start(part ? 'on' : 'now', root, part?.[1]),
  );
  for (let round = 0; round < Number(rounds); round++) for (const side of sides) await load(side);
  const [old, now] = sides;
  if (old && now) {
    const ratios = now.calls.map((calls, index) => calls / (old.calls[index] ?? Number.NaN));
    const cpu = now.cpu.map((us, index) => us / (old.cpu[index] ?? Number.NaN));
    console.log(
      `${now.name} / ${old.name}: ${median(cpu).toFixed(3)} × processors a call (95 % interval ${interval(cpu)}; less is better)`,
    );
    console.log(
      `${now.name} / ${old.name}: ${median(ratios).toFixed(3)} × calls/s (pair by pair, median of ${ratios.length}, 95 % interval ${interval(ratios)}; more is better)`,
    );
  }
} finally {
  for (const server of [...sides.map((side) => side.server), ...beside]) server.kill('SIGKILL');
  if (existsSync(join(workspace, 'before')))
    execFileSync('git', ['worktree', 'remove', '--force', join(workspace, 'before')], { cwd: root, stdio: 'ignore' });
  rmSync(workspace, { recursive: true, force: true });
}
