import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AriClient } from './ari-client.ts';
import { freePort } from './free-port.ts';
import { untilAsked } from './waiting.ts';

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** Sends a request over HTTP. */
export type Ask = (
  url: string,
  options?: { method: string; headers: Record<string, string> },
) => Promise<Pick<Response, 'status'>>;

type SupervisedOptions = {
  /** `dialplan` of the configuration. */
  dialplan?: object;
  /** `sip.endpoints` of the configuration; anybody on this machine when left out. */
  endpoints?: object;
  /** Certificates; SIP is then spoken over tls and wss as well. */
  tls?: object;
  /** Whether browsers speak SIP over a WebSocket without TLS. */
  ws?: boolean;
  /** Other sections. */
  more?: Record<string, object>;
  /** Arguments of Node for the supervisor and the server, and what stands above this process's environment. */
  node?: readonly string[];
  /** Its data directory is a disk of its own that has so many octets, such as `4m`. Needs `unshare`. */
  disk?: string;
  env?: Record<string, string>;
  /** Asks a server that speaks HTTPS alone (`http.tls`). */
  ask?: Ask;
};

/** A server that a supervisor runs, in processes of its own. */
export type SupervisedServer = Awaited<ReturnType<typeof startSupervised>>;

/** Starts `serve --supervised` on 127.0.0.1 with a state store; it knows the user `tester` with the password `secret`. */
export async function startSupervised({
  dialplan,
  endpoints,
  tls,
  ws = false,
  more,
  node = [],
  env = {},
  disk,
  ask,
}: SupervisedOptions = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-supervised-'));
  const [http, sip, tlsPort, wssPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const wsPort = await freePort();
  const file = join(directory, 'hookswitch.yaml');
  const at = { bind: '127.0.0.1' };
  const settings = {
    ...more,
    general: { data_directory: join(directory, 'data'), log_level: 'error', ...more?.['general'] },
    // An upgrade is answered when the next server is prepared, which takes a busy machine long.
    http: {
      port: http,
      users: [{ name: 'tester', password: 'secret' }],
      limits: { answer_timeout: 120 },
      ...more?.['http'],
    },
    sip: {
      transports: [
        { protocol: 'udp', ...at, port: sip },
        { protocol: 'tcp', ...at, port: sip },
        ...(tls
          ? [
              { protocol: 'tls', ...at, port: tlsPort },
              { protocol: 'wss', ...at, port: wssPort },
            ]
          : []),
        ...(ws ? [{ protocol: 'ws', ...at, port: wsPort }] : []),
      ],
      ...(ws && { allowed_origins: ['*'] }),
      endpoints: endpoints ?? { anonymous: { match: ['127.0.0.1'] } },
    },
    // To warm up costs more CPU than most tests.
    media: { rtp_ports: [0, 0], warm_up: false, ...more?.['media'] },
    state_store: { on: true, ...more?.['state_store'] },
    ...(tls && { tls }),
    ...(dialplan && { dialplan }),
  };
  writeFileSync(file, JSON.stringify(settings));
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOOKSWITCH_'));
  const data = join(directory, 'data');
  const command = [process.execPath, ...node, program, 'serve', '--supervised', '--config', file];
  // In a name space of its own, where anybody may mount. The process is the same one all the time.
  const mounted = `mkdir "$0" && mount -t tmpfs -o size=${disk} tmpfs "$0" && exec "$@"`;
  const inSpace = ['unshare', '--mount', '--map-root-user', 'sh', '-c', mounted, data];
  const [name = '', ...given] = disk === undefined ? command : [...inSpace, ...command];
  const parent: ChildProcess = spawn(name, given, {
    ...{ cwd: directory, env: { ...Object.fromEntries(inherited), ...env }, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  let errors = '';
  parent.stderr!.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const origin = `http${ask ? 's' : ''}://127.0.0.1:${http}`;
  const send: Ask = ask ?? fetch;
  const base = `${origin}/ari`;
  const isUp = async (): Promise<boolean> => {
    if (parent.exitCode !== null) throw new Error(`the supervisor has ended: ${errors}`);
    return (await send(`${base}/asterisk/ping`).catch(() => undefined)) !== undefined;
  };
  await untilAsked(isUp, () => `the server does not answer: ${errors}`);
  const children = (): number[] =>
    readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim().split(' ').map(Number);
  /** The process of the server; 0 while there is none. */
  const server = (): number => children()[0] ?? 0;
  /** The process that stands by; undefined while there is none. */
  const standby = (): number | undefined => children()[1];
  const upgrade = () =>
    send(`${origin}/hookswitch/server/upgrade`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('tester:secret')}` },
    });
  /** Resolves when another process than that one answers: connections to the one before are closed by then. */
  const untilReplaced = async (before: number): Promise<void> => {
    await untilAsked(
      async () => server() > 0 && server() !== before,
      () => `no other server runs: ${errors}`,
    );
    await untilAsked(isUp, () => `the next server does not answer: ${errors}`);
  };
  return {
    ...{
      sip: `127.0.0.1:${sip}`,
      sipPort: sip,
      httpPort: http,
      tlsPort,
      wssPort,
      wsPort,
      server,
      standby,
      parent,
      directory,
    },
    client: () => new AriClient(base, 'tester:secret'),
    /** Its data directory, as it sees it. */
    data: disk === undefined ? data : `/proc/${parent.pid}/root${data}`,
    /** What the server and its supervisor have logged. */
    logged: () => errors,
    /** Kills the server as a crash would; resolves when another one answers. */
    async kill(): Promise<void> {
      const before = server();
      process.kill(before, 'SIGKILL');
      await untilReplaced(before);
    },
    upgrade,
    /** Upgrades the server; resolves when the next process answers. */
    async replace(): Promise<void> {
      const before = server();
      const { status } = await upgrade();
      if (status !== 204) throw new Error(`the upgrade was answered with ${status}: ${errors}`);
      await untilReplaced(before);
    },
    /** Resolves when it has no channel left. */
    async emptied(): Promise<void> {
      const client = new AriClient(base, 'tester:secret');
      await untilAsked(
        async () => (await client.ok<unknown[]>('GET', '/channels')).length === 0,
        () => `a channel stays: ${errors}`,
      );
    },
    /** Ends it as an init system does. @returns the exit code. @throws (rejects) Error if it has had an internal error. */
    async close(): Promise<number | null> {
      const isOver = parent.exitCode !== null || parent.signalCode !== null;
      const ended = isOver ? Promise.resolve([parent.exitCode]) : once(parent, 'exit');
      parent.kill('SIGTERM');
      const [code] = await ended;
      rmSync(directory, { recursive: true, force: true });
      // The next process goes on with the calls: nothing else would show it.
      if (errors.includes('an unexpected error ends the server')) throw new Error(errors);
      return code;
    },
  };
}
