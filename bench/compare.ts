import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const [revision = 'HEAD~1', rounds = '5', inFlight = '16'] = process.argv.slice(2);
const workspace = mkdtempSync(join(tmpdir(), 'hookswitch-compare-'));
const password = 'bench';

type Side = { name: string; server: ChildProcess; url: string; calls: number[]; p50: number[] };

/** Checks a revision out beside this tree and compiles it; returns where it was compiled to. */
function build(name: string, checkout: string): string {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', join(checkout, 'dist')], {
    cwd: checkout,
    stdio: 'inherit',
  });
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

async function start(name: string, checkout: string, more: object = {}): Promise<Side> {
  const data = join(workspace, `data-${name}`);
  mkdirSync(data);
  const config = join(workspace, `${name}.yaml`);
  const settings = {
    general: { data_directory: data, log_level: 'error' },
    http: { port: 0, users: [{ name: 'bench', password }] },
    sip: { transports: [{ protocol: 'udp', port: 0 }] },
    media: { rtp_ports: [0, 0] },
    ...more,
  };
  writeFileSync(config, JSON.stringify(settings));
  const server = spawn(process.execPath, ['dist/cli.js', 'serve', '--config', config], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let banner = '';
  for await (const chunk of server.stdout ?? []) {
    banner += chunk;
    const url = /http:\/\/\S+\/ari/.exec(banner)?.[0];
    if (url && banner.includes('SIP')) return { name, server, url, calls: [], p50: [] };
  }
  throw new Error(`${name} did not start: ${banner}`);
}

/** One round of load on one side. */
async function load(side: Side): Promise<void> {
  const client = spawn(
    process.execPath,
    ['--import', 'tsx', join(root, 'bench', 'control-plane-client.ts'), side.url, `bench:${password}`, inFlight, '4'],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  client.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  await once(client, 'close');
  const { callsPerSecond, p50Ms } = JSON.parse(output) as { callsPerSecond: number; p50Ms: number };
  side.calls.push(callsPerSecond);
  side.p50.push(p50Ms);
  console.log(`${side.name.padEnd(8)}${callsPerSecond.toFixed(0).padStart(6)} calls/s, p50 ${p50Ms.toFixed(2)} ms`);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Where the median lies with 95 % certainty, whatever the distribution: by ranks, from the binomial one. */
function interval(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const half = 0.98 * Math.sqrt(sorted.length);
  const low = sorted[Math.max(0, Math.floor(sorted.length / 2 - half))] ?? Number.NaN;
  const high = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length / 2 + half))] ?? Number.NaN;
  return `${low.toFixed(3)} to ${high.toFixed(3)}`;
}

const sides: Side[] = [];
try {
  const ofRecorder = revision === 'recorder';
  const before = ofRecorder ? root : build(revision, checkOut());
  build('this tree', root);
  const off = ofRecorder ? { recorder: { off: true } } : {};
  sides.push(await start(ofRecorder ? 'off' : 'before', before, off), await start(ofRecorder ? 'on' : 'now', root));
  for (let round = 0; round < Number(rounds); round++) for (const side of sides) await load(side);
  const [old, now] = sides;
  if (old && now) {
    const ratios = now.calls.map((calls, index) => calls / (old.calls[index] ?? Number.NaN));
    console.log(
      `${now.name} / ${old.name}: ${median(ratios).toFixed(3)} × calls/s (pair by pair, median of ${ratios.length}, 95 % interval ${interval(ratios)}; more is better)`,
    );
  }
} finally {
  for (const { server } of sides) server.kill('SIGKILL');
  if (existsSync(join(workspace, 'before')))
    execFileSync('git', ['worktree', 'remove', '--force', join(workspace, 'before')], { cwd: root, stdio: 'ignore' });
  rmSync(workspace, { recursive: true, force: true });
}
