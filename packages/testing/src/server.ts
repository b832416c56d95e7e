import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LiveActor } from '../../../src/actors/spawn.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { validate } from '../../../src/dialplan/parse.ts';
import { createLogging } from '../../../src/logging.ts';
import type { AriEventBody } from '../../../src/models/events.ts';
import { formatTimestamp } from '../../../src/models/timestamp.ts';
import { soundDirectories } from '../../../src/settings.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { type NetworkQuality, VirtualNetwork } from '../../../src/virtual/network.ts';
import { startVirtualServer, type VirtualServer } from '../../../src/virtual/server.ts';
import type { AnyEvent, Events } from '../../client/src/index.ts';
import { type ObjectState, requireState, stateOf } from './charts.ts';
import { type Duration, toMs } from './duration.ts';
import { HttpWatch } from './http-watch.ts';
import { Phone, type Wait } from './phone.ts';
import { Prompts } from './sounds.ts';
import { ExpectationError, World, within } from './world.ts';

/** Options of {@link startTestServer}. */
export interface TestServerOptions {
  /** The application that gets all calls; a `dialplan` replaces that. Default: `hello`. */
  app?: string;
  /** The dialplan, as in the configuration file: context, extension, steps. */
  dialplan?: Record<string, Record<string, unknown>>;
  /** Names of the phones. Default: alice, bob, carol, dave. */
  phones?: readonly string[];
  /** More settings of endpoints by the names of their phones, such as `{ alice: { context: 'inside' } }`. */
  endpoints?: Readonly<Record<string, Record<string, unknown>>>;
  /** More settings, as in the configuration file. `http`, transports and endpoints are the test server's own. */
  config?: Record<string, unknown>;
  /** Decides what chance decides: the same seed, the same run. Default: 1. */
  seed?: number;
  /** How long programs must be silent to count as quiet, in ms of real time. Default: 3. */
  quietMs?: number;
  /** Makes speech of a text, for `phone.says('…')`: 16 bits at 8 kHz. */
  say?: (text: string) => Promise<Int16Array> | Int16Array;
}

const address = '10.0.0.1';
const sipPort = 5060;
/** Known from the start: the server need not make one and write it to the disk. */
const entityId = '02:00:00:00:00:01';
/** The user of programs under test. */
export const username = 'hookswitch';
const password = 'test';
/** How long a program may take to connect, in ms of real time. */
const startMs = 60_000;
const lookMs = 5;
/** Events that are kept; the oldest go first. */
const mostEvents = 100_000;

/** An event as a test sees it: for no application in particular, so without name and number. */
export type TestEvent = Omit<AnyEvent, 'application' | 'asterisk_id' | 'seq'> & { type: AnyEvent['type'] };

/** Faults that a test can make. They follow from the seed. */
export interface Faults {
  /** Loses packets from and to a phone, from 0 (none) to 1 (all). */
  loss(phone: Phone, share: number): void;
  /** Delays packets from and to a phone; `jitter` is the largest random addition. */
  latency(phone: Phone, delay: Duration, jitter?: Duration): void;
  /** Cuts a phone off the network, or lets it back. */
  partition(phone: Phone, on?: boolean): void;
  /**
   * Ends the media threads, as a fault in them would. Calls go on in new threads. If it happens `times` = 4 times within a
   * minute, the server gives up: calls end with cause 41.
   */
  killMediaThread(times?: number): Promise<void>;
  /** Fills the disk for recordings, or makes room: they fail as on a full disk. */
  diskFull(on?: boolean): void;
  /** Cuts the WebSockets of an application. @throws ExpectationError if it has none. */
  dropWebSocket(app: string): Promise<void>;
  /** Stops the server and starts it again with its calls; programs find it at the same address. */
  restart(): Promise<void>;
  /** Ends the server without a goodbye and starts it again; its calls are lost. */
  kill(): Promise<void>;
}

/** @internal */
export type Inside = {
  world: World;
  phones: ReadonlyMap<string, Phone>;
  /** The actors that run now. */
  actors(): LiveActor[];
  /** What a program wrote that has ended by itself; undefined while all run. */
  ended(): string | undefined;
};

/** A whole server for a test: simulated telephones, network and time; a real interface on 127.0.0.1. */
export class TestServer {
  readonly username = username;
  readonly password = password;
  /** Every event so far, in order, also those that no application gets. */
  readonly events: TestEvent[] = [];
  readonly faults: Faults;
  readonly clock: { now(): number; advance(duration: Duration): Promise<void> };
  readonly #world: World;
  readonly #network: VirtualNetwork;
  readonly #options: TestServerOptions;
  readonly #directory: string;
  readonly #config: ReturnType<typeof loadConfig>;
  readonly #phones = new Map<string, Phone>();
  readonly #programs: { child: ChildProcess; ended: Promise<void>; output(): string }[] = [];
  readonly #prompts: Prompts;
  readonly #lines: string[] = [];
  #server: VirtualServer | undefined;

  /** @internal Use {@link startTestServer}. */
  constructor(options: TestServerOptions) {
    this.#options = options;
    this.#directory = mkdtempSync(join(tmpdir(), 'hookswitch-test-'));
    const values = JSON.parse(JSON.stringify(settings(options)));
    this.#config = loadConfig({
      settings: { values, directory: this.#directory },
      env: {},
      checkDialplan: validate,
    });
    const clock = new ManualClock();
    this.#world = new World(clock, new HttpWatch(options.quietMs ?? 3));
    this.#world.talking = () => (this.#server?.channels() ?? 0) > 0;
    this.#network = new VirtualNetwork({ clock, seed: options.seed ?? 1 });
    this.#prompts = new Prompts({
      soundsDirectories: soundDirectories(this.#config),
      recordingsDirectory: this.#config.recordings.directory,
      defaultLanguage: this.#config.sounds.default_language,
      cacheBytes: 10_000_000,
    });
    this.clock = { now: () => clock.now(), advance: (duration) => this.#world.advance(duration) };
    this.faults = this.#faults();
  }

  /** URL of the interface, without `/ari`. */
  get url(): string {
    return new URL(this.#running().addresses.http).origin;
  }

  /** What programs read to find the server. */
  get env(): Record<string, string> {
    return { HOOKSWITCH_URL: this.url, HOOKSWITCH_USERNAME: username, HOOKSWITCH_PASSWORD: password };
  }

  /** What the server logged, as JSON lines. */
  get log(): readonly string[] {
    return this.#lines;
  }

  /** A phone by its name. Before it is first asked for, it is not plugged in. @throws TypeError for an unknown name. */
  phone(name: string): Phone {
    const known = this.#phones.get(name);
    if (known) return known;
    const names = namesOf(this.#options);
    const place = names.indexOf(name);
    if (place < 0) throw new TypeError(`there is no phone '${name}'; startTestServer knows ${names.join(', ')}`);
    const phone = new Phone({
      name,
      host: this.#network.host(addressOf(place)),
      world: this.#world,
      prompts: this.#prompts,
      seed: (this.#options.seed ?? 1) + 1 + place,
      server: `${address}:${sipPort}`,
      say: this.#options.say,
    });
    this.#phones.set(name, phone);
    return phone;
  }

  /** Runs a program with {@link env}, and waits until an application of it is connected. It ends with the server. */
  async run(command: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<void> {
    let output = '';
    const child = spawn(command, args, {
      env: { ...process.env, ...this.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<void>((resolve) => {
      child.once('close', () => resolve());
      child.once('error', (error) => {
        output += error.message;
        resolve();
      });
    });
    this.#programs.push({ child, ended, output: () => output });
    const { programs } = this.#world.http;
    if (child.pid !== undefined) programs.add(child.pid);
    void ended.then(() => programs.remove(child.pid ?? 0));
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    let over = false;
    void ended.then(() => (over = true));
    if (!(await this.#isConnected(() => over)))
      throw new ExpectationError(`${command} ${args.join(' ')} has not connected:\n${output}`);
    await this.#world.settle();
  }

  /** Waits until an application has connected that the test has not started with {@link run}; up to a minute of real time. */
  async connected(): Promise<void> {
    if (!(await this.#isConnected(() => false))) throw new ExpectationError('no application has connected');
    await this.#world.settle();
  }

  async #isConnected(isOver: () => boolean): Promise<boolean> {
    const opensSockets = Object.keys(this.#config.applications).length > 0;
    for (let waited = 0; !this.#world.http.isConnected(); waited += lookMs) {
      if (isOver() || waited > startMs) return false;
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      // The pause between two attempts to connect is simulated time.
      if (opensSockets) await this.#world.clock.run(lookMs);
    }
    return true;
  }

  /** Waits until the programs under test have nothing more to do. Time stands still. */
  settle(): Promise<void> {
    return this.#world.settle();
  }

  /**
   * Waits for an event, also one that has come already.
   * @throws ExpectationError with the types of those that came instead.
   */
  async event<T extends keyof Events>(
    type: T,
    accepts: (event: Events[T]) => boolean = () => true,
    { within: most = '10s' }: Wait = {},
  ): Promise<Events[T]> {
    const find = () => this.events.find((event) => event.type === type && accepts(event as unknown as Events[T]));
    const late = () => {
      const types = this.events.map((event) => event.type).join(', ');
      return `expected the event ${type} ${within(most)}, but these came: ${types || 'none'}`;
    };
    await this.#world.until(() => find() !== undefined, most, late);
    return find() as unknown as Events[T];
  }

  /** The ids and states of channels that there are now. */
  channels(): Promise<{ id: string; name: string; state: string }[]> {
    return this.ask('/ari/channels');
  }

  /** The objects that there are, such as channels, playbacks and contacts, with the states of their charts. */
  objects(): ObjectState[] {
    return this.inside.actors().map(stateOf);
  }

  /**
   * Waits until an object is in a state of its chart, such as `inState('playback', 'paused')`.
   * @throws ExpectationError with the states that objects of the chart were in instead; TypeError for a name that no
   * chart has.
   */
  async inState(
    chart: string,
    state: string,
    { object, within: most = '10s' }: Wait & { object?: string } = {},
  ): Promise<void> {
    await requireState((path) => this.ask(path), { chart, state });
    let seen: ObjectState[] = [];
    const holds = () => {
      seen = this.objects().filter((each) => each.chart === chart && (object ?? each.object) === each.object);
      return seen.some(({ states }) => states.includes(state));
    };
    const late = () => {
      const instead = seen.map((each) => `${each.object} was in ${each.states.join(', ')}`).join('; ');
      return `expected a ${chart} in the state ${state} ${within(most)}, but ${instead || 'there was none'}`;
    };
    await this.#world.until(holds, most, late);
  }

  /** Waits until no call is left. @throws ExpectationError with the channels that stay. */
  async idle({ within: most = '60s' }: Wait = {}): Promise<void> {
    try {
      await this.#world.until(
        () => this.#running().channels() === 0,
        most,
        () => '',
      );
    } catch (error) {
      if (!(error instanceof ExpectationError)) throw error;
      const left = (await this.channels()).map(({ name, state }) => `${name} (${state})`);
      throw new ExpectationError(`expected no calls ${within(most)}, but these are left: ${left.join(', ')}`);
    }
  }

  /** Ends programs, phones and server. */
  async close(): Promise<void> {
    for (const { child } of this.#programs) child.kill();
    await Promise.all(this.#programs.map(({ ended }) => ended));
    await Promise.all([...this.#phones.values()].map((phone) => phone.close()));
    // A goodbye waits for simulated time, too.
    const closed = this.#server?.close();
    let over = false;
    void closed?.finally(() => (over = true));
    while (closed && !over) await this.#world.clock.run(1_000);
    await closed;
    // A recording that began a moment ago may still be opened: its file appears while the directory is removed.
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }

  /** @internal What `paths` looks at, and disturbs. */
  get inside(): Inside {
    return {
      world: this.#world,
      phones: this.#phones,
      actors: () => [...this.#running().actors()],
      ended: () => this.#programs.find(({ child }) => child.exitCode !== null || child.signalCode !== null)?.output(),
    };
  }

  /** @internal */
  async start(from?: unknown): Promise<void> {
    const logging = createLogging(this.#config, { write: (line) => this.#lines.push(line) }, this.#world.clock);
    this.#server = await startVirtualServer({
      config: this.#config,
      clock: this.#world.clock,
      host: this.#network.host(address),
      logging,
      seed: this.#options.seed ?? 1,
      serveHttp: this.#world.http.serve,
      hearOutbound: this.#world.http.hearOutbound,
      hear: (event) => this.#hear(event),
      ...(from !== undefined && { from }),
    });
  }

  #hear(event: AriEventBody): void {
    this.events.push({ timestamp: formatTimestamp(this.#world.clock.now()), ...structuredClone(event) } as TestEvent);
    if (this.events.length > mostEvents) this.events.shift();
  }

  /** @internal Asks the interface without a socket, in no time. */
  async ask<T>(path: string, method = 'GET'): Promise<T> {
    const login = Buffer.from(`${username}:${password}`).toString('base64');
    const request = new Request(`${this.url}${path}`, { method, headers: { authorization: `Basic ${login}` } });
    const text = await (await this.#running().ask(request)).text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  #running(): VirtualServer {
    if (!this.#server) throw new Error('the server does not run');
    return this.#server;
  }

  #faults(): Faults {
    const shape = (phone: Phone, quality: Partial<NetworkQuality>) => {
      const at = addressOf(namesOf(this.#options).indexOf(phone.name));
      this.#network.qualities.set(at, { ...this.#network.qualities.get(at), ...quality });
    };
    return {
      loss: (phone, loss) => shape(phone, { loss }),
      latency: (phone, delay, jitter = 0) => shape(phone, { delayMs: toMs(delay), jitterMs: toMs(jitter) }),
      partition: (phone, on = true) => shape(phone, { loss: on ? 1 : 0 }),
      killMediaThread: async (times = 1) => {
        for (let time = 0; time < times; time++) {
          await this.#running().endMediaThreads();
          await this.#world.settle();
        }
      },
      diskFull: (on = true) => this.#running().fillDisk(on),
      dropWebSocket: async (app) => {
        if (this.#world.http.drop(app) === 0) throw new ExpectationError(`the application '${app}' has no WebSocket`);
        await this.#world.settle();
      },
      restart: async () => {
        const server = this.#running();
        const saved = JSON.parse(JSON.stringify(server.dump()));
        server.powerOff();
        this.#world.http.cut();
        await server.abandon();
        await this.start(saved);
      },
      kill: async () => {
        const server = this.#running();
        server.powerOff();
        this.#world.http.cut();
        await server.abandon();
        await this.start();
      },
    };
  }
}

const namesOf = ({ phones = ['alice', 'bob', 'carol', 'dave'] }: TestServerOptions): readonly string[] => phones;
const addressOf = (place: number): string => `10.0.${1 + Math.floor(place / 250)}.${1 + (place % 250)}`;

/** Every extension that can be dialled; not `h`, which runs when a call has ended, nor other extensions of the dialplan's own. */
const anyExtension = (steps: string[]): Record<string, string[]> =>
  Object.fromEntries(['_[0-9*#+].', '_[0-9*#+]', '_[a-zA-Z].'].map((pattern) => [pattern, steps]));

const dialplanOf = ({ app = 'hello', dialplan }: TestServerOptions): NonNullable<TestServerOptions['dialplan']> =>
  dialplan ?? { default: anyExtension([`Stasis(${app})`, 'Hangup']) };

/** The options with one more phone, which each context reaches by its name. */
export function withPhone(options: TestServerOptions, name: string): TestServerOptions {
  const contexts = Object.entries(dialplanOf(options)).map(([context, extensions]) => [
    context,
    { ...extensions, [name]: [`Dial(PJSIP/${name},30)`, 'Hangup'] },
  ]);
  return { ...options, phones: [...namesOf(options), name], dialplan: Object.fromEntries(contexts) };
}

function settings(options: TestServerOptions): object {
  const { config = {} } = options;
  const { general, sip, media, http, recorder } = config as Record<string, object | undefined>;
  const endpoints = Object.fromEntries(
    namesOf(options).map((name, place) => {
      const at = addressOf(place);
      return [name, { ...options.endpoints?.[name], match: [at], aor: { contacts: [`sip:${name}@${at}:${sipPort}`] } }];
    }),
  );
  return {
    dialplan: dialplanOf(options),
    ...config,
    general: {
      log_level: 'warn',
      validate: true,
      data_directory: 'data',
      drain_timeout: 1,
      entity_id: entityId,
      ...general,
    },
    http: { ...http, bind: '127.0.0.1', port: 0, users: [{ name: username, password }] },
    // A caller can hang up as soon as the server has said anything, also before an application has.
    sip: { trying_at_once: true, ...sip, transports: [{ protocol: 'udp', bind: address, port: sipPort }], endpoints },
    media: { warm_up: false, ...media, rtp_address: address },
    // A test reads its calls from memory; time may be simulated, and the disk is not.
    recorder: { disk: { days: 0 }, ...recorder },
  };
}

/** Starts a server for a test. Close it at the end. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = new TestServer(options);
  await server.start();
  return server;
}
