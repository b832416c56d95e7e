import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import { validate } from '../../src/dialplan/parse.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import { type RunningServer, startServer } from '../../src/main.ts';
import { type MediaThread, startWorker } from '../../src/media/start-worker.ts';
import type { Usage } from '../../src/models/usage.ts';
import type { Protocol } from '../../src/sip/transport/kind.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { AriClient } from './ari-client.ts';
import { SkippingClock } from './skipping-clock.ts';
import { inTime, patienceMs, untilAsked } from './waiting.ts';

/** Name and password of the user that tests work as. */
export const user = 'tester';
export const password = 'secret';

/** How many media threads servers of tests have; as many as the machine suggests when 0 or not told. */
export const mediaThreads = Number(process.env.HOOKSWITCH_TEST_MEDIA_THREADS ?? 0);

/** Longer than anything of a call that ended may linger (RFC 3261: 64 × T1 = 32 s, and T4). */
const lingerMs = 60_000;

/** What a server waits for that is not what is tested: no machine is so busy that this is too short, in s. */
const patience = patienceMs / 1000;
const patientLimits = {
  header_timeout: patience,
  request_timeout: patience,
  keep_alive: patience,
  answer_timeout: patience,
};

type Steps = string | { label: string; app: string };
type Context = Record<string, Steps[] | Record<string, string>>;

export type TestServerOptions = {
  /** `dialplan` of the configuration. */
  dialplan?: Record<string, Context>;
  /** `sip.endpoints` of the configuration. */
  endpoints?: Record<string, object>;
  /** Address that SIP is spoken at over udp and tcp; 127.0.0.1 when left out. */
  sipBind?: string;
  /** Other sections, as in the configuration file; `general` and `http` are the test server's own. */
  media?: object;
  /** Settings of `sip` besides transports and endpoints. */
  sip?: object;
  general?: object;
  /** Settings of `http` besides its address and users. */
  http?: object;
  /** Users of the interface; `tester` when left out. */
  users?: { name: string; password: string }[];
  applications?: object;
  limits?: object;
  external_media?: object;
  recordings?: object;
  /** Certificates; SIP is then spoken over tls and wss as well. */
  tls?: object;
  metrics?: object;
  recorder?: object;
  cdr?: object;
  /** The section `away_policies`. */
  awayPolicies?: object;
  audit?: object;
  listening?: object;
  stuck?: object;
  /** Of a node of a cluster. */
  cluster?: object;
  features?: object;
  /** Lines of this level and above are shown; errors always fail the test that closes the server. */
  logLevel?: Config['general']['log_level'];
};

/** What is closed with the server, and may explain why a test failed. */
type Closing = { close(): unknown; explain?(): string };

type LogLine = { level: number; msg: string; [name: string]: unknown };

/** A whole server in the test's process, on ports that the system chose. */
export class TestServer {
  readonly running: RunningServer;
  /** What it was started with. */
  readonly config: Config;
  readonly clock: SkippingClock;
  readonly #directory: string;
  readonly #closing: Closing[] = [];
  readonly #lines: LogLine[];
  readonly #atStart: Usage;
  readonly #threads: MediaThread[];
  #endsThreads = false;

  constructor(parts: {
    running: RunningServer;
    config: Config;
    clock: SkippingClock;
    directory: string;
    lines: LogLine[];
    atStart: Usage;
    threads: MediaThread[];
  }) {
    this.running = parts.running;
    this.config = parts.config;
    this.clock = parts.clock;
    this.#directory = parts.directory;
    this.#lines = parts.lines;
    this.#atStart = parts.atStart;
    this.#threads = parts.threads;
  }

  /** Base URL of the interface, ending in `/ari`. */
  get url(): string {
    return this.running.addresses.http;
  }

  /** Ends every media thread that runs, as a fault in it would; what they had goes on in others. */
  async endMediaThreads(): Promise<void> {
    this.#endsThreads = true;
    await Promise.all(this.#threads.splice(0).map((thread) => thread.terminate()));
  }

  /** `address:port` of SIP. */
  sip(protocol: Protocol = 'udp'): string {
    const address = this.running.addresses.sip[protocol]?.[0];
    if (!address) throw new Error(`SIP is not spoken over ${protocol}`);
    return address;
  }

  /** A client that is not registered as an application. */
  client(): AriClient {
    return this.closing(new AriClient(this.url, `${user}:${password}`));
  }

  /** A client registered as an application; closed with the server. */
  app(name: string, options: { subscribeAll?: boolean } = {}): Promise<AriClient> {
    return this.client().connect(name, options);
  }

  /**
   * Waits until no call is left, and looks what is still held then. No calls are taken from here on.
   * @throws AssertionError when a channel stays, when anything of a call is still held, or when an error was logged.
   */
  async settle(): Promise<void> {
    await this.#idle();
    this.clock.skip(lingerMs);
    await this.quiet();
    assert.equal(this.errors(), [], 'errors were logged');
  }

  /** Closes something with the server, whatever becomes of the test. */
  closing<T extends Closing>(thing: T): T {
    this.#closing.push(thing);
    return thing;
  }

  /** What was logged, of the level that was asked for and above. */
  lines(): readonly LogLine[] {
    return this.#lines;
  }

  /** The sentences of the errors that were logged. */
  errors(): string[] {
    const ours = ({ msg }: LogLine) => this.#endsThreads && msg === 'the media thread ended';
    return this.#lines.filter((line) => line.level >= 50 && !ours(line)).map((line) => JSON.stringify(line));
  }

  /**
   * Waits until nothing of a call is held; a port that a call no longer needed is let go of when it has been opened.
   * @throws AssertionError with what is held when that never comes.
   */
  async quiet(): Promise<void> {
    const wanted = heldByCalls(this.#atStart);
    let held = {};
    const isQuiet = async () => {
      held = heldByCalls(await this.running.usage());
      return isDeepStrictEqual(held, wanted);
    };
    await untilAsked(isQuiet, () => {
      assert.equal(held, wanted, 'something of a call is still held');
      return 'what is held changes';
    });
  }

  /** What the parts of a failed test have to say. */
  explain(): string {
    return [
      ...this.#lines.map((line) => JSON.stringify(line)),
      ...this.#closing.map((thing) => thing.explain?.()),
    ].join('\n');
  }

  /** Ends everything at once, without a look at what is left. */
  async close(): Promise<void> {
    await Promise.all(this.#closing.map((thing) => thing.close()));
    await this.running.close();
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }

  /** Resolves when the last channel has ended by itself. */
  async #idle(): Promise<void> {
    await inTime(this.running.drain(), () => 'channels are left').catch(async (error: Error) => {
      const channels = await this.client().ok<object[]>('GET', '/channels');
      assert.unreachable(`${error.message}: ${JSON.stringify(channels, undefined, 1)}`);
    });
  }
}

/** Usage without what outlives calls: contacts, subscriptions and nonces have expiries of their own. */
function heldByCalls({ contacts: _contacts, ...usage }: Usage): object {
  // Registrations at providers are tried again and again, each by a transaction.
  const transactions = usage.registrations > 0 ? 0 : usage.sip.transactions;
  return { ...usage, sip: { ...usage.sip, bindings: 0, nonces: 0, lines: 0, subscriptions: 0, transactions } };
}

/** Starts a server on 127.0.0.1 with every check on; it knows the user `tester` with the password `secret`. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const file = join(directory, 'hookswitch.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(settings(options)));
  const config = loadConfig({ file, env: {}, checkDialplan: validate });
  const clock = new SkippingClock();
  const lines: LogLine[] = [];
  const threads: MediaThread[] = [];
  const startMediaThread: typeof startWorker = (start) => {
    const thread = startWorker(start);
    threads.push(thread);
    return thread;
  };
  const logging = collectingLog(options.logLevel ?? 'error', lines);
  const running = await startServer(config, { clock, logging, startMediaThread });
  return new TestServer({ running, config, clock, directory, lines, atStart: await running.usage(), threads });
}

/** Runs a test on a server of its own; a test that did not fail must leave nothing of its calls behind. */
export async function onServer(options: TestServerOptions, test: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startTestServer(options);
  try {
    await test(server);
    await server.settle();
  } catch (error) {
    process.stderr.write(`${server.explain()}\n`);
    throw error;
  } finally {
    await server.close();
  }
}

function settings({
  dialplan,
  endpoints,
  media,
  sip,
  general,
  applications,
  limits,
  external_media,
  recordings,
  tls,
  metrics,
  recorder,
  cdr,
  audit,
  listening,
  awayPolicies,
  stuck,
  cluster,
  features,
  http,
  users,
  sipBind = '127.0.0.1',
}: TestServerOptions): object {
  const port = { bind: '127.0.0.1', port: 0 };
  const sipPort = { ...port, bind: sipBind };
  return {
    // Calls that do not end by themselves are to be seen, not to be hung up by the drain.
    general: {
      validate: true,
      data_directory: 'data',
      drain_timeout: (10 * patienceMs) / 1000,
      ready_timeout: 60,
      ...general,
    },
    http: { ...port, users: users ?? [{ name: user, password }], limits: patientLimits, ...http },
    sip: {
      transports: [
        { protocol: 'udp', ...sipPort },
        { protocol: 'tcp', ...sipPort },
        ...(tls
          ? [
              { protocol: 'tls', ...port },
              { protocol: 'wss', ...port },
            ]
          : []),
      ],
      endpoints: endpoints ?? { anonymous: { match: ['127.0.0.1'] } },
      ...sip,
    },
    media: {
      rtp_ports: [0, 0],
      warm_up: false,
      thread_timeout: patience,
      ...(mediaThreads && { threads: mediaThreads }),
      ...media,
    },
    ...(applications && { applications }),
    ...(limits && { limits }),
    external_media: { connection_timeout: Math.min(60, patience), ...external_media },
    ...(recordings && { recordings }),
    ...(tls && { tls }),
    ...(metrics && { metrics }),
    ...(recorder && { recorder }),
    ...(cdr && { cdr }),
    ...(awayPolicies && { away_policies: awayPolicies }),
    ...(audit && { audit }),
    ...(listening && { listening }),
    ...(stuck && { stuck }),
    ...(cluster && { cluster }),
    ...(features && { features }),
    ...(dialplan && { dialplan }),
  };
}

function collectingLog(level: Config['general']['log_level'], lines: LogLine[]) {
  const shown = { trace: 100, debug: 20, info: 30, warn: 40 }[level as string] ?? 100;
  const console = {
    write(line: string) {
      const parsed = JSON.parse(line) as LogLine;
      lines.push(parsed);
      if (parsed.level >= shown) process.stderr.write(line);
    },
  };
  const directory = join(tmpdir(), 'hookswitch-no-log');
  const logChannels = createLogChannels({
    directory,
    console,
    consoleLevels: ['WARNING', 'ERROR'],
    clock: systemClock,
  });
  const log = createLogger({ level: level === 'error' ? 'warn' : level, destination: { write: console.write } });
  return { log, logChannels };
}
