import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClusterNode } from '../../src/models/cluster-node.ts';
import { AriClient } from './ari-client.ts';
import { freePort } from './free-port.ts';
import { untilAsked } from './waiting.ts';

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
/** `dist/cli.js` of another build, which node b runs: shows that versions work beside each other. */
const otherBuild = process.env['HOOKSWITCH_TEST_OTHER_BUILD'];

/** A process that a test starts, stops for a while, and kills. */
class Child {
  #process: ChildProcess | undefined;
  written = '';

  start([command = '', ...args]: readonly string[], cwd: string): void {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOOKSWITCH_'));
    const child = spawn(command, args, { cwd, env: Object.fromEntries(inherited), stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.written += text));
    this.#process = child;
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Ends it by a signal. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Resolves when it has ended by itself, with its exit code. */
  async ended(): Promise<number | null | undefined> {
    const hasEnded = async (): Promise<boolean> =>
      this.#process?.exitCode !== null || this.#process.signalCode !== null;
    await untilAsked(hasEnded, () => `it has not ended: ${this.written}`);
    return this.#process?.exitCode;
  }

  requireAlive(): void {
    if (this.#process?.exitCode !== null) throw new Error(`it has ended: ${this.written}`);
  }
}

/** Where a process runs: its address, and the words before its command. */
export type Host = { address: string; enter: readonly string[] };

const here: Host = { address: '127.0.0.1', enter: [] };

/** A NATS server with JetStream, on one port for its life. */
export class NatsServer {
  readonly child = new Child();
  readonly #directory = mkdtempSync(join(tmpdir(), 'hookswitch-nats-'));
  readonly #command: string;
  readonly #host: Host;
  readonly port: number;

  private constructor(command: string, port: number, host: Host) {
    this.#command = command;
    this.#host = host;
    this.port = port;
  }

  /** @param config more of its configuration */
  static async start(command: string, config = '', host = here): Promise<NatsServer> {
    const server = new NatsServer(command, await freePort(), host);
    writeFileSync(join(server.#directory, 'nats.conf'), config);
    await server.begin();
    return server;
  }

  get url(): string {
    return `nats://${this.#host.address}:${this.port}`;
  }

  /** Starts it, again with what it has kept. */
  async begin(): Promise<void> {
    const { address, enter } = this.#host;
    const args = ['-js', '-a', address, '-p', String(this.port), '-sd', this.#store, '-c', 'nats.conf'];
    this.child.start([...enter, this.#command, ...args], this.#directory);
    const isUp = async (): Promise<boolean> => {
      this.child.requireAlive();
      const socket = connect(this.port, address);
      const up = await Promise.race([
        once(socket, 'connect').then(
          () => true,
          () => false,
        ),
      ]);
      socket.destroy();
      return up;
    };
    await untilAsked(isUp, () => `NATS does not listen: ${this.child.written}`);
  }

  /** It has lost what it kept, while it does not run. */
  empty(): void {
    rmSync(this.#store, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    this.child.signal('SIGCONT');
    await this.child.end('SIGKILL');
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #store(): string {
    return join(this.#directory, 'store');
  }
}

/** A phone that every node knows. */
const alice = { alice: { context: 'default', auth: { username: 'alice', password: 'wonder' } } };

const transportsAt = (bind: string, sip: number, ws: number): object[] => [
  ...['udp', 'tcp'].map((protocol) => ({ protocol, bind, port: sip })),
  { protocol: 'ws', bind, port: ws },
];

const tester = { name: 'tester', password: 'secret' };

/** Other settings of all nodes. */
type NodeConfig = {
  endpoints?: object;
  limits?: object;
  users?: readonly object[];
  /** Where each node runs. */
  hosts?: Readonly<Record<string, Host>>;
};

/** Settings of `cluster`, and those of `media`. */
export type NodeSettings = { replicate?: boolean; media?: object; [setting: string]: unknown };

/** A server that is a node, in a process of its own. */
export class NodeProcess {
  readonly child = new Child();
  readonly name: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'hookswitch-node-'));
  readonly #port: number;
  /** `address:port` of its SIP over UDP and TCP, and over WebSockets. */
  readonly sip: string;
  readonly ws: string;
  readonly #clients: AriClient[] = [];

  readonly #arguments: readonly string[];
  readonly #host: Host;

  private constructor(
    name: string,
    { port, sip, ws, host }: { port: number; sip: number; ws: number; host: Host },
    settings: object,
    more: readonly string[],
  ) {
    this.name = name;
    this.#arguments = more;
    this.#port = port;
    this.#host = host;
    this.sip = `${host.address}:${sip}`;
    this.ws = `${host.address}:${ws}`;
    writeFileSync(join(this.#directory, 'hookswitch.yaml'), JSON.stringify(settings));
  }

  /** @param more arguments of the command. */
  static async start(
    name: string,
    nats: string,
    { media, ...cluster }: NodeSettings = {},
    { endpoints = {}, limits = {}, users = [], hosts = {}, more = [] }: NodeConfig & { more?: readonly string[] } = {},
  ): Promise<NodeProcess> {
    const [port, sip, ws] = [await freePort(), await freePort(), await freePort()];
    const host = hosts[name] ?? here;
    const settings = {
      ...(cluster.replicate && { state_store: { on: true } }),
      general: { data_directory: 'data', log_level: 'info', drain_timeout: 0 },
      http: { bind: host.address, port, users: [tester, ...users] },
      limits,
      sip: { transports: transportsAt(host.address, sip, ws), endpoints: { ...alice, ...endpoints } },
      media: { rtp_ports: [0, 0], warm_up: false, ...media },
      dialplan: {
        default: {
          ...{ 1000: ['Answer()', 'Wait(3600)'], 1001: ['Stasis(shop)'] },
          ...{ 1002: ['Dial(PJSIP/alice)'], 1003: ['Dial(PJSIP/alice&PJSIP/bob)'], 1004: ['Dial(PJSIP/bob)'] },
          hints: { 1002: 'PJSIP/alice' },
        },
      },
      cluster: { nats: [nats], name, heartbeat: 0.2, suspect_after: 1, away_after: 3, retry: 0.2, ...cluster },
    };
    const node = new NodeProcess(name, { port, sip, ws, host }, settings, more);
    await node.begin();
    return node;
  }

  get url(): string {
    return `http://${this.#host.address}:${this.#port}`;
  }

  async begin(): Promise<void> {
    const build = this.name === 'b' ? (otherBuild ?? program) : program;
    const command = [process.execPath, build, 'serve', '--config', 'hookswitch.yaml', ...this.#arguments];
    this.child.start([...this.#host.enter, ...command], this.#directory);
    const isUp = async (): Promise<boolean> => {
      this.child.requireAlive();
      return (await fetch(`${this.url}/ari/asterisk/ping`).catch(() => undefined)) !== undefined;
    };
    await untilAsked(isUp, () => `the node ${this.name} does not answer: ${this.child.written}`);
  }

  client(credentials = 'tester:secret'): AriClient {
    const client = new AriClient(`${this.url}/ari`, credentials);
    this.#clients.push(client);
    return client;
  }

  app(name: string, options: { subscribeAll?: boolean } = {}): Promise<AriClient> {
    return this.client().connect(name, options);
  }

  /** Closes its clients, and ends its channels and bridges. */
  async empty(): Promise<void> {
    for (const client of this.#clients.splice(0)) await client.close();
    const own = new AriClient(`${this.url}/ari`, 'tester:secret');
    const ids = async (kind: string) => (await own.ok<{ id: string }[]>('GET', `/${kind}`)).map(({ id }) => id);
    // Others may end them at the same time.
    for (const kind of ['channels', 'bridges'])
      for (const id of await ids(kind)) await own.request('DELETE', `/${kind}/${id}`);
    await untilAsked(
      async () => (await ids('channels')).length + (await ids('bridges')).length === 0,
      () => `the node ${this.name} is not empty: ${this.child.written}`,
    );
    await own.close();
  }

  /** Asks beyond ARI. */
  ask(method: string, path: string): Promise<Response> {
    const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
    return fetch(`${this.url}${path}`, { method, headers: { authorization } });
  }

  /** The nodes and their states, as this one sees them. */
  async states(): Promise<Record<string, string>> {
    const nodes = (await (await this.ask('GET', '/hookswitch/nodes')).json()) as ClusterNode[];
    return Object.fromEntries(nodes.map(({ name, state }) => [name, state]));
  }

  /** The age of what NATS does not know yet of its state, in s. */
  async #lag(): Promise<number> {
    const text = await (await this.ask('GET', '/metrics')).text();
    return Number(/^hookswitch_cluster_replica_lag_seconds (\S+)$/m.exec(text)?.[1]);
  }

  /** Waits until NATS has its state. */
  untilReplicated(): Promise<void> {
    return untilAsked(
      async () => (await this.#lag()) === 0,
      () => `the state of ${this.name} is not at NATS: ${this.child.written}`,
    );
  }

  /** Waits until it knows so many applications, wherever they are connected. */
  async hasApplications(count: number): Promise<void> {
    const known = async (): Promise<number | undefined> => {
      const nodes = (await (await this.ask('GET', '/hookswitch/nodes')).json()) as ClusterNode[];
      return nodes.find(({ self }) => self)?.figures?.applications;
    };
    await untilAsked(
      async () => (await known()) === count,
      () => `the node ${this.name} does not know the applications`,
    );
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
    this.child.signal('SIGCONT');
    await this.child.end('SIGKILL');
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** NATS and nodes on it, each of which knows all others. */
export class TestCluster {
  readonly nats: NatsServer;
  readonly nodes: Readonly<Record<string, NodeProcess>>;

  private constructor(nats: NatsServer, nodes: readonly NodeProcess[]) {
    this.nats = nats;
    this.nodes = Object.fromEntries(nodes.map((node) => [node.name, node]));
  }

  /** @param command of a NATS server, or one that runs; `settings` those of each node, or what gives them */
  static async start(
    command: string | NatsServer,
    names: readonly string[],
    settings: NodeSettings | ((name: string) => Promise<NodeSettings>) = {},
    config: NodeConfig = {},
  ): Promise<TestCluster> {
    const nats = typeof command === 'string' ? await NatsServer.start(command) : command;
    const nodes: NodeProcess[] = [];
    const start = async (name: string): Promise<void> => {
      const own = typeof settings === 'function' ? await settings(name) : settings;
      nodes.push(await NodeProcess.start(name, nats.url, own, config));
    };
    try {
      const failed = (await Promise.allSettled(names.map(start))).find(({ status }) => status === 'rejected');
      if (failed) throw (failed as PromiseRejectedResult).reason;
      const cluster = new TestCluster(nats, nodes);
      await cluster.whole();
      return cluster;
    } catch (error) {
      for (const node of nodes) await node.close();
      await nats.close();
      throw error;
    }
  }

  node(name: string): NodeProcess {
    return this.nodes[name]!;
  }

  /** Leaves it as it began. */
  async empty(): Promise<void> {
    for (const node of Object.values(this.nodes)) await node.empty();
  }

  /** Writes what its nodes have logged. */
  tell(): void {
    for (const { name, child } of Object.values(this.nodes)) process.stderr.write(`${name}: ${child.written}\n`);
  }

  /** Waits until each node sees all as members. */
  async whole(): Promise<void> {
    const names = Object.keys(this.nodes);
    for (const node of Object.values(this.nodes))
      await this.sees(node, Object.fromEntries(names.map((name) => [name, 'member'])));
  }

  /** Waits until a node sees these states of nodes. */
  async sees(node: NodeProcess, wanted: Record<string, string>): Promise<void> {
    let seen: Record<string, string> = {};
    await untilAsked(
      async () => {
        seen = await node.states();
        return Object.entries(wanted).every(([name, state]) => seen[name] === state);
      },
      () => `node ${node.name} sees ${JSON.stringify(seen)}: ${node.child.written}`,
    );
  }

  async close(): Promise<void> {
    for (const node of Object.values(this.nodes)) await node.close();
    await this.nats.close();
  }
}
