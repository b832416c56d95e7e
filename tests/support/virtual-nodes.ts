import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createVirtualPhone } from '../../packages/testing/src/sip-phone.ts';
import { loadConfig } from '../../src/config/load.ts';
import { validate } from '../../src/dialplan/parse.ts';
import { createLogger } from '../../src/lib/log.ts';
import type { ClusterNode } from '../../src/models/cluster-node.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { type VirtualLink, VirtualNats } from '../../src/virtual/nats.ts';
import { VirtualNetwork } from '../../src/virtual/network.ts';
import { startVirtualServer, type VirtualServer } from '../../src/virtual/server.ts';

/** Whole servers on simulated time, network and NATS. */

const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;

export type VirtualPhone = Awaited<ReturnType<typeof createVirtualPhone>>;
export type Answer<T> = { status: number; headers: Headers; body: T };

/** One server. */
export class VirtualNode {
  readonly name: string;
  readonly address: string;
  readonly directory: string;
  readonly server: VirtualServer;
  /** Events of its application `app`. */
  readonly events: AriEvent[] = [];
  readonly lines: string[];
  isKilled = false;
  readonly #clock: ManualClock;
  readonly #link: VirtualLink;

  constructor(
    at: Pick<VirtualNode, 'name' | 'address' | 'directory' | 'server' | 'lines'>,
    { clock, link }: { clock: ManualClock; link: VirtualLink },
  ) {
    this.name = at.name;
    this.address = at.address;
    this.directory = at.directory;
    this.server = at.server;
    this.lines = at.lines;
    this.#clock = clock;
    this.#link = link;
  }

  /** Ends it as `kill -9` does. */
  kill(): void {
    this.isKilled = true;
    this.server.powerOff();
    this.#link.crash();
  }

  /** Connects `app` here. */
  connect() {
    return this.server.connect({
      ...{ names: ['app'], describe: 'test' },
      send: (json) => void this.events.push(JSON.parse(json) as AriEvent),
    });
  }

  /** Asks the interface, while time goes on. */
  async request<T = unknown>(method: string, path: string, json?: object): Promise<Answer<T>> {
    const request = new Request(`http://${this.address}${path.startsWith('/hookswitch') ? '' : '/ari'}${path}`, {
      method,
      headers: { authorization, ...(json && { 'content-type': 'application/json' }) },
      ...(json && { body: JSON.stringify(json) }),
    });
    let answer: Answer<T> | undefined;
    const read = async (): Promise<void> => {
      const { status, headers, ...given } = await this.server.ask(request).then(async (response) => ({
        ...{ status: response.status, headers: response.headers, text: await response.text() },
      }));
      answer = { status, headers, body: (given.text === '' ? undefined : JSON.parse(given.text)) as T };
    };
    const reading = read();
    const settle = (): Promise<void> => settleDisk(this.directory);
    await until(this.#clock, () => answer !== undefined, `an answer to ${method} ${path}`, settle);
    await reading;
    return answer!;
  }

  /** As {@link request}, and requires success. */
  async ok<T = unknown>(method: string, path: string, json?: object): Promise<T> {
    const { status, body } = await this.request<T>(method, path, json);
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}

/** Longest that something may take, in ms of simulated time. */
const patienceMs = 30_000;

/** Resolves when the disk has taken a write: the servers' own, which were asked for before, are as far. */
async function settleDisk(directory: string): Promise<void> {
  const file = await open(join(directory, 'settled'), 'w');
  try {
    await file.write('x');
    await file.sync();
  } finally {
    await file.close();
  }
}

/** @param settle gives files, which take real time, some of it in each step of simulated time */
async function until(
  clock: ManualClock,
  holds: () => boolean,
  what: string,
  settle: () => Promise<unknown> = () => stat(tmpdir()),
): Promise<void> {
  const end = clock.now() + patienceMs;
  while (!holds()) {
    assert.ok(clock.now() < end, `${what} does not come`);
    await clock.run(10);
    // Files take real time: what the servers asked for before has begun when this is answered.
    await settle();
  }
}

/**
 * Starts a node for each name, at 10.0.0.1 and so on, which know each other.
 * @param settings more settings of all nodes
 */
export async function startVirtualNodes(names: readonly string[], settings: Record<string, object> = {}) {
  const clock = new ManualClock();
  const network = new VirtualNetwork({ clock, seed: 1, quality: {} });
  const nats = new VirtualNats({ clock, seed: 1, jitterMs: 2, breaksAfterMs: 4_000, reconnectMs: 50 });
  const nodes = new Map<string, VirtualNode>();
  for (const [at, name] of names.entries()) {
    const address = `10.0.0.${at + 1}`;
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
    const file = join(directory, 'hookswitch.yaml');
    const { sip, cluster, ...others } = settings;
    writeFileSync(
      file,
      JSON.stringify({
        general: { data_directory: 'data', validate: true },
        http: { users: [{ name: 'tester', password: 'secret' }] },
        media: { rtp_address: address },
        ...others,
        sip: { transports: [{ protocol: 'udp', bind: address, port: 5060 }], ...sip },
        cluster: { nats: 'nats://virtual', name, ...cluster },
      }),
    );
    const config = loadConfig({ file, env: {}, checkDialplan: validate });
    const lines: string[] = [];
    const console = { write: (line: string) => void lines.push(line) };
    const logChannels = createLogChannels({ directory, console, consoleLevels: ['WARNING', 'ERROR'], clock });
    const log = createLogger({ level: 'info', destination: logChannels.destination });
    const link = nats.link();
    const server = await startVirtualServer({
      ...{ config, clock, host: network.host(address), logging: { log, logChannels }, seed: at + 1 },
      clusterLink: link,
    });
    nodes.set(name, new VirtualNode({ name, address, directory, server, lines }, { clock, link }));
  }
  const phones: VirtualPhone[] = [];
  const all = [...nodes.values()];
  const node = (name: string): VirtualNode => nodes.get(name)!;
  await clock.run(3_000);
  for (const each of all) {
    const states = (await each.ok<ClusterNode[]>('GET', '/hookswitch/nodes')).map(({ state }) => state);
    assert.equal(
      states,
      names.map(() => 'member'),
      each.name,
    );
  }
  return {
    ...{ clock, nats, network, node },
    /** Time goes on until something holds. */
    until: (holds: () => boolean, what: string) => until(clock, holds, what),
    /** Time goes on until a promise has settled. */
    async within<T>(promise: Promise<T>): Promise<T> {
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
      };
      promise.then(settle, settle);
      await until(clock, () => isSettled, 'an answer');
      return promise;
    },
    /** A phone at an address of its own. */
    async phone(name: string, options: Parameters<typeof createVirtualPhone>[3] = {}): Promise<VirtualPhone> {
      const host = network.host(`10.0.1.${phones.length + 1}`);
      const phone = await createVirtualPhone(name, host, { clock, seed: 100 + phones.length }, options);
      phones.push(phone);
      return phone;
    },
    async close(): Promise<void> {
      for (const phone of phones) await phone.close();
      const closing = Promise.all(all.map(async ({ server, isKilled }) => isKilled || server.close()));
      let isClosed = false;
      void closing.finally(() => (isClosed = true));
      while (!isClosed) await clock.run(10);
      await closing;
      for (const { directory } of all) rmSync(directory, { recursive: true, force: true });
    },
  };
}
