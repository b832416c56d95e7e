import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createVirtualPhone } from '../../packages/testing/src/sip-phone.ts';
import { loadConfig } from '../../src/config/load.ts';
import { validate } from '../../src/dialplan/parse.ts';
import { createLogger } from '../../src/lib/log.ts';
import { logLevelsOf } from '../../src/logging.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { VirtualNetwork } from '../../src/virtual/network.ts';
import { startVirtualServer } from '../../src/virtual/server.ts';

const serverAddress = '10.0.0.1';
const settings = {
  general: { validate: true, data_directory: 'data' },
  http: { users: [{ name: 'tester', password: 'secret' }] },
  sip: {
    transports: [{ protocol: 'udp', bind: serverAddress, port: 5060 }],
    endpoints: {
      alice: { match: ['10.0.0.2'], caller_id: '"Alice" <100>' },
      bob: { match: ['10.0.0.3'], aor: { contacts: ['sip:bob@10.0.0.3:5060'] } },
    },
  },
  media: { rtp_address: serverAddress },
  dialplan: {
    default: {
      echo: ['Answer', 'Echo'],
      desk: ['Stasis(desk)'],
      answered: ['Answer', 'Stasis(desk)'],
      either: ['Stasis(desk)', 'Stasis(backup)'],
      201: ['Dial(PJSIP/bob,30)'],
    },
  },
};

const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;

type PhonePerson = NonNullable<NonNullable<Parameters<typeof createVirtualPhone>[3]>['person']>;

export type Line = { level: number; time: number; msg: string } & Record<string, unknown>;
export type World = Awaited<ReturnType<typeof createWorld>>;

/** A server on simulated time with two phones: alice (10.0.0.2) calls, bob (10.0.0.3) answers at once. */
export async function createWorld(
  changes: { general?: object; watch?: object; alice?: object; bob?: PhonePerson } = {},
) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const file = join(directory, 'hookswitch.yaml');
  const general = { ...settings.general, ...changes.general };
  const { endpoints } = settings.sip;
  const sip = { ...settings.sip, endpoints: { ...endpoints, alice: { ...endpoints.alice, ...changes.alice } } };
  writeFileSync(file, JSON.stringify({ ...settings, ...changes.watch, general, sip }));
  const config = loadConfig({ file, env: {}, checkDialplan: validate });
  const clock = new ManualClock();
  const network = new VirtualNetwork({ clock, seed: 1, quality: {} });
  const lines: Line[] = [];
  const console = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const logChannels = createLogChannels({ directory, console, consoleLevels: ['WARNING', 'ERROR'], clock });
  const log = createLogger({ ...logLevelsOf(config), destination: logChannels.destination });
  const host = network.host(serverAddress);
  let server = await startVirtualServer({ config, clock, host, logging: { log, logChannels }, seed: 1 });
  const alice = await createVirtualPhone('alice', network.host('10.0.0.2'), { clock, seed: 2 });
  const bob = await createVirtualPhone(
    'bob',
    network.host('10.0.0.3'),
    { clock, seed: 3 },
    changes.bob && { person: changes.bob },
  );

  const request = (method: string, path: string, body?: object, headers: object = {}): Promise<Response> =>
    server.ask(
      new Request(`http://${serverAddress}${path}`, {
        method,
        headers: { ...headers, authorization, ...(body && { 'Content-Type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await request(method, path, body);
    const text = await response.text();
    assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const call = (extension: string) => alice.dial(`sip:${extension}@${serverAddress}:5060`);
  const close = async () => {
    await Promise.all([alice.close(), bob.close(), server.close()]);
    rmSync(directory, { recursive: true, force: true });
  };
  /** The server loses its power, and another process goes on with what it had saved just before. */
  const restoreSnapshot = async () => {
    const from = JSON.parse(JSON.stringify(server.dump())) as unknown;
    server.powerOff();
    server = await startVirtualServer({ config, clock, host, logging: { log, logChannels }, seed: 2, from });
  };
  /** The server dies, and another process starts where nothing was saved. */
  const crash = async () => {
    server.powerOff();
    server = await startVirtualServer({ config, clock, host, logging: { log, logChannels }, seed: 2 });
  };
  return {
    ...{ clock, network, alice, bob, lines, config, directory, request, ask, call, close, restoreSnapshot, crash },
    get server() {
      return server;
    },
  };
}

/** Runs a test in a world of its own. */
export async function inWorld(
  test: (world: World) => Promise<void>,
  changes?: Parameters<typeof createWorld>[0],
): Promise<void> {
  const world = await createWorld(changes);
  try {
    await test(world);
  } finally {
    await world.close();
  }
}

/**
 * Lines without their time, their ids (of channels, bridges, SIP calls) named by the order in which they appear: `#1`,
 * `#2`, and the tails of channel names left out.
 */
export function readable(lines: readonly Line[]): object[] {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `#${names.size + 1}`;
    names.set(id, name);
    return name;
  };
  const ids = new Set(['call', 'channel', 'was', 'protocol_id']);
  const shown = (key: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    if (ids.has(key)) return nameOf(value);
    return key === 'name' ? value.replace(/-[0-9a-f]+(;\d)?$/, '-x') : value;
  };
  return lines.map(({ time: _when, ...fields }) =>
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, shown(key, value)])),
  );
}
