/** The servers under test: the built one as a process of its own, and another to compare with. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Ticks of the kernel's CPU accounting, in ms. */
const tickMs = 10;
const sampleMs = 50;
const credentials = 'bench:bench';

/** CPU time that a process and its threads have used, in ms. */
export function cpuMs(pid: number): number {
  // Behind the name, which may hold anything: fields 14 and 15 of proc(5), utime and stime.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Resident memory of a process, in octets. */
export function residentOctets(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** The most memory that a process ever had, in octets. */
export function peakOctets(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** Remembers what a process uses, so that any span of the past can be asked for. */
export class CpuMeter {
  readonly #pid: number;
  readonly #samples: { at: number; cpu: number }[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  /** CPU used in the last `spanMs`, in ms per ms: 1 is a whole core. */
  share(spanMs: number): number {
    this.#sample();
    const end = this.#samples.at(-1)!;
    const begin = this.#samples.findLast(({ at }) => at <= end.at - spanMs) ?? this.#samples[0]!;
    return (end.cpu - begin.cpu) / (end.at - begin.at);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#samples.push({ at: performance.now(), cpu: cpuMs(this.#pid) });
  }
}

/** A server that is measured. */
export type Subject = {
  name: string;
  pid: number;
  /** Base URL ending in `/ari`. */
  http: string;
  /** `user:password`. */
  credentials: string;
  /** `address:port` of SIP over UDP. */
  sip: string;
};

export type ServerProcess = Subject & { stop(): Promise<void> };

/** For the header of a request. */
export const authorizationOf = ({ credentials }: Subject): string =>
  `Basic ${Buffer.from(credentials).toString('base64')}`;

/**
 * A server of the same interface that runs already, on this machine, named by HOOKSWITCH_BENCH_AGAINST (base URL),
 * _CREDENTIALS (`user:password`), _PID and _SIP (`address:port`). Its dialplan needs `echo`, `held` and `_m.` as below, in
 * the context `default`. Undefined when none is named.
 */
export function referenceServer(): Subject | undefined {
  const { HOOKSWITCH_BENCH_AGAINST: http, HOOKSWITCH_BENCH_CREDENTIALS: login } = process.env;
  const { HOOKSWITCH_BENCH_PID: pid, HOOKSWITCH_BENCH_SIP: sip = '' } = process.env;
  if (http === undefined) return undefined;
  if (!login || !pid)
    throw new Error('HOOKSWITCH_BENCH_AGAINST needs HOOKSWITCH_BENCH_CREDENTIALS and HOOKSWITCH_BENCH_PID');
  return { name: 'reference', http: http.replace(/\/$/, ''), credentials: login, pid: Number(pid), sip };
}

/**
 * Starts `dist/cli.js serve` on ports that the system chooses.
 * @param endpoints further ones of `sip.endpoints`. @param media further settings of `media`.
 * @param http further settings of `http`, and variables of its environment.
 */
export function startServerProcess(
  endpoints: object = {},
  media: object = {},
  { http = {}, env = {} }: { http?: object; env?: NodeJS.ProcessEnv } = {},
): Promise<ServerProcess> {
  const sip = { ...settings.sip, endpoints: { ...settings.sip.endpoints, ...endpoints } };
  const all = { ...settings, sip, media: { ...settings.media, ...media }, http: { ...settings.http, ...http } };
  return start(root, 'hookswitch', all, env);
}

/** Starts the server that is built in a checkout, of any revision, with settings that all of them know. */
export function startFrom(checkout: string, name: string): Promise<ServerProcess> {
  const { http, sip, media } = settings;
  const { transports } = sip;
  return start(checkout, name, {
    ...{ general: { log_level: 'error' }, http, media },
    sip: { transports, endpoints: { bench: { match: ['127.0.0.1'], context: 'default' } } },
    dialplan: { default: { echo: ['Answer', 'Echo'] } },
  });
}

const root = fileURLToPath(new URL('..', import.meta.url));

async function start(
  checkout: string,
  name: string,
  config: { general: object } & Readonly<Record<string, object>>,
  env: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const cli = join(checkout, 'dist', 'cli.js');
  if (!existsSync(cli)) throw new Error(`there is no ${cli}: run \`npm run build\` first`);
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-bench-'));
  const file = join(directory, 'hookswitch.yaml');
  writeFileSync(file, JSON.stringify({ ...config, general: { ...config.general, data_directory: directory } }));
  const child = spawn(process.execPath, [cli, 'serve', '--config', file], {
    cwd: checkout,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const banner = await readBanner(child);
  return {
    name,
    credentials,
    pid: child.pid!,
    http: /HTTP +(\S+)/.exec(banner)![1]!,
    sip: /SIP +(\S+) \(udp\)/.exec(banner)![1]!,
    async stop() {
      const closed = once(child, 'close');
      child.kill('SIGTERM');
      await closed;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const [user = '', password = ''] = credentials.split(':');
const settings = {
  general: { log_level: 'error', drain_timeout: 0 },
  http: { port: 0, users: [{ name: user, password }] },
  sip: {
    transports: [{ protocol: 'udp', port: 0 }],
    endpoints: { anonymous: { match: ['127.0.0.1'] } },
  },
  media: { rtp_ports: [0, 0] },
  bridges: { most: 100_000 },
  recordings: { live: 100_000 },
  dialplan: {
    default: { echo: ['Answer', 'Echo'], held: ['Answer', 'Wait(600)'], '_m.': ['Answer', 'Stasis(bench,${EXTEN})'] },
  },
};

async function readBanner(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout!) {
    text += String(chunk);
    if (/SIP +\S+ \(udp\)[^\n]*\n/.test(text)) return text;
  }
  throw new Error(`the server did not start: ${text}`);
}

/** Runs a program of the benchmark in a process of its own; the last line it writes is JSON. */
export async function runProgram<T>(program: string, args: string[]): Promise<T> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of child.stdout!) text += String(chunk);
  const last = text.trimEnd().split('\n').at(-1) ?? '';
  if (last === '') throw new Error(`${program} ended without a result`);
  return JSON.parse(last) as T;
}
