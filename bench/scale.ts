/**
 * What one machine carries: 10,000 registered phones, 2,000 live calls and 1,000 applications with a socket and 100
 * subscriptions each. Grows the server to 1, 10 and 100 % of that, and prints at each size how long operations take, one
 * at a time; then the memory of each phone, call, application and subscription.
 *
 *   npm run bench -- scale [--size 1]
 *
 * What grows with the size of the others shows as a line that rises. Lists and metrics rise, because they say more.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import { Phones } from './scale-phones.ts';
import { authorizationOf, cpuMs, type ServerProcess, startServerProcess } from './server-process.ts';

const most = { phones: 10_000, calls: 2_000, applications: 1_000, subscriptions: 100 };
const parts = [0.01, 0.1, 1];
/** How often an operation is timed: as often as fits into this time, in ms, but so many times at least and at most. */
const timed = { ms: 1_500, least: 7, most: 200 };

type Counts = { phones: number; calls: number; applications: number };
type World = {
  server: ServerProcess;
  phones: Phones;
  callers: Phones;
  ask: (method: string, path: string, body?: object) => Promise<string>;
  hangups: (() => Promise<void>)[];
  sockets: WebSocket[];
  /** Resolves with the next event that has this text in it. */
  event: (text: string) => Promise<void>;
  sequence: number;
};

const phoneName = (index: number): string => `p${String(index).padStart(5, '0')}`;

/** Runs so many things, some at once. */
async function each(from: number, to: number, run: (index: number) => Promise<unknown>, atOnce = 16): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    while (next < to) await run(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function connection(server: ServerProcess): World['ask'] {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const { hostname, port } = new URL(server.http);
  const headers = { authorization: authorizationOf(server), 'content-type': 'application/json' };
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const asked = request({ agent, hostname, port, method, path, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece) => pieces.push(piece));
        response.on('end', () => {
          const text = String(Buffer.concat(pieces));
          if (response.statusCode! < 300) resolve(text);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
        });
      });
      asked.on('error', reject);
      asked.end(body && JSON.stringify(body));
    });
}

async function addPhones({ phones }: World, from: number, to: number): Promise<void> {
  await each(from, to, (index) => phones.register(phoneName(index), 1));
}

async function addCalls({ callers, hangups }: World, from: number, to: number): Promise<void> {
  await each(from, to, async () => hangups.push(await callers.call('held')));
}

const applicationName = (index: number): string => `app-${index}`;

/** @param heard what an application of this process is told. */
function connect({ server, sockets }: World, name: string, heard = (_text: string): void => {}): Promise<void> {
  const url = `${server.http.replace('http', 'ws')}/events?app=${name}&api_key=${server.credentials}`;
  const socket = new WebSocket(url);
  sockets.push(socket);
  socket.on('message', (data) => heard(String(data)));
  return new Promise((resolve, reject) => {
    socket.on('open', resolve);
    socket.on('error', reject);
  });
}

/** A hundred phones each. */
async function subscribe({ ask }: World, from: number, to: number): Promise<void> {
  await each(from, to, async (index) => {
    const sources = Array.from(
      { length: most.subscriptions },
      (_, n) => `endpoint:PJSIP/${phoneName((index * 97 + n) % most.phones)}`,
    );
    await ask('POST', `/ari/applications/${applicationName(index)}/subscription?eventSource=${sources.join(',')}`);
  });
}

/** Names of the operations that are timed, and what each does once. */
function operations(world: World, { phones }: Counts): [string, () => Promise<unknown>][] {
  const { ask, callers, event } = world;
  const get = (path: string) => () => ask('GET', path);
  const phone = phoneName(phones >> 1);
  const variable = async (channel: string): Promise<void> => {
    const told = event(`"value":"${++world.sequence}"`);
    await ask('POST', `/ari/channels/${channel}/variable?variable=X&value=${world.sequence}`);
    await told;
  };
  return [
    ['ping', get('/ari/asterisk/ping')],
    ['REGISTER again', () => world.phones.register(phone, (world.sequence += 2))],
    ['SIP call, answered and hung up', async () => (await callers.call('held'))()],
    ['GET of a channel', get('/ari/channels/kept')],
    ['variable set, until its event is there', () => variable('kept')],
    ['Local call: POST and DELETE', () => localCall(world)],
    ['user event to one application', () => ask('POST', '/ari/events/user/scale?application=app-0')],
    [
      'device state set',
      () => ask('PUT', `/ari/deviceStates/Stasis:x?deviceState=${++world.sequence % 2 ? 'INUSE' : 'BUSY'}`),
    ],
    ['GET of an endpoint', get(`/ari/endpoints/PJSIP/${phone}`)],
    ['GET of an application', get('/ari/applications/app-0')],
    ['subscribe and unsubscribe', () => resubscribe(world)],
    ['GET of all channels', get('/ari/channels')],
    ['GET of all endpoints', get('/ari/endpoints')],
    ['GET of all applications', get('/ari/applications')],
    ['GET of calls', get('/hookswitch/calls')],
    ['GET of what is stuck', get('/hookswitch/stuck')],
    ['GET of contacts', get('/hookswitch/contacts')],
    ['metrics', get('/metrics')],
  ];
}

async function localCall({ ask, sequence }: World): Promise<void> {
  const id = `local-${sequence}-${performance.now()}`;
  await ask('POST', `/ari/channels/${id}?endpoint=Local/held@default&app=app-0`);
  await ask('DELETE', `/ari/channels/${id}`);
}

async function resubscribe({ ask }: World): Promise<void> {
  const source = 'eventSource=deviceState:Stasis:scale';
  await ask('POST', `/ari/applications/app-0/subscription?${source}`);
  await ask('DELETE', `/ari/applications/app-0/subscription?${source}`);
}

const percentile = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;

/** The median time of an operation in ms, and the longest that a ping beside it waited. */
async function time(world: World, run: () => Promise<unknown>): Promise<{ median: number; stop: number }> {
  await run();
  const times: number[] = [];
  for (const end = performance.now() + timed.ms; times.length < timed.most; ) {
    if (times.length >= timed.least && performance.now() > end) break;
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  const waits: number[] = [];
  let running = true;
  const pings = (async () => {
    while (running) {
      const start = performance.now();
      await world.ask('GET', '/ari/asterisk/ping');
      waits.push(performance.now() - start);
    }
  })();
  for (let n = 0; n < 3; n++) await run();
  running = false;
  await pings;
  return { median: percentile(times, 0.5), stop: Math.max(...waits) };
}

/** Live memory of the server after a collection, in octets: heap of the main thread, and all that is not shared with others. */
async function live({ server }: World, file: string): Promise<{ heap: number; all: number }> {
  rmSync(file, { force: true });
  process.kill(server.pid, 'SIGUSR2');
  let told: { heap: number; external: number } | undefined;
  while (!told) {
    await wait(100);
    try {
      told = JSON.parse(readFileSync(file, 'utf8'));
    } catch {
      // Not there yet.
    }
  }
  const rollup = readFileSync(`/proc/${server.pid}/smaps_rollup`, 'utf8');
  return { heap: told.heap + told.external, all: Number(/Anonymous:\s+(\d+)/.exec(rollup)?.[1]) * 1024 };
}

const kilo = (octets: number, count: number): string => (octets / count / 1000).toFixed(1);

/** Runs the benchmark and prints its tables. @param size of all counts, 1 = as above. */
export async function benchScale(size: number): Promise<void> {
  const full = Object.fromEntries(
    Object.entries(most).map(([name, count]) => [name, Math.ceil(count * size)]),
  ) as typeof most;
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-scale-'));
  const collected = join(directory, 'collected.json');
  const endpoints = Object.fromEntries(
    Array.from({ length: most.phones }, (_, index) => {
      const name = phoneName(index);
      return [name, { auth: { username: name, password: name }, aor: { max_contacts: 1 } }];
    }),
  );
  const server = await startServerProcess(
    endpoints,
    {},
    {
      http: { limits: { connections: 4_000, address_share: 1 } },
      env: {
        NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'collect.mjs')).href}`,
        HOOKSWITCH_BENCH_COLLECTED: collected,
      },
    },
  );
  const port = Number(server.sip.split(':')[1]);
  let heard = (_text: string): void => {};
  const world: World = {
    server,
    phones: await Phones.open('127.0.0.1', port),
    callers: await Phones.open('127.0.0.1', port),
    ask: connection(server),
    hangups: [],
    sockets: [],
    event: (text) => new Promise((resolve) => (heard = (told) => told.includes(text) && resolve())),
    sequence: 10,
  };
  try {
    await connect(world, applicationName(0), (text) => heard(text));
    await world.ask('POST', '/ari/channels/kept?endpoint=Local/held@default&app=app-0');
    let now: Counts = { phones: 0, calls: 0, applications: 1 };
    const rows = new Map<string, string[]>();
    const memory: string[] = [];
    for (const part of parts) {
      const next: Counts = {
        phones: Math.ceil(full.phones * part),
        calls: Math.ceil(full.calls * part),
        applications: Math.max(2, Math.ceil(full.applications * part)),
      };
      const grow = async (what: string, count: number, run: () => Promise<void>): Promise<void> => {
        const before = await live(world, collected);
        const [start, cpu] = [performance.now(), cpuMs(server.pid)];
        await run();
        const [ms, used] = [performance.now() - start, cpuMs(server.pid) - cpu];
        const after = await live(world, collected);
        memory.push(
          `| ${what} | ${count} | ${kilo(after.heap - before.heap, count)} | ${kilo(after.all - before.all, count)} | ${((1000 * ms) / count).toFixed(0)} | ${((1000 * used) / count).toFixed(0)} |`,
        );
      };
      await grow('registered phone', next.phones - now.phones, () => addPhones(world, now.phones, next.phones));
      await grow('application', next.applications - now.applications, () =>
        each(now.applications, next.applications, (index) => connect(world, applicationName(index))),
      );
      await grow('subscription', (next.applications - now.applications) * most.subscriptions, () =>
        subscribe(world, now.applications, next.applications),
      );
      await grow('live call', next.calls - now.calls, () => addCalls(world, now.calls, next.calls));
      now = next;
      for (const [name, run] of operations(world, now)) {
        const { median, stop } = await time(world, run);
        const row = rows.get(name) ?? [];
        row.push(`${median.toFixed(2)} (${stop.toFixed(0)})`);
        rows.set(name, row);
      }
    }
    console.log(
      '\n| Operation: median in ms (longest wait of a ping beside it) | 1 % | 10 % | 100 % |\n| --- | --- | --- | --- |',
    );
    for (const [name, cells] of rows) console.log(`| ${name} | ${cells.join(' | ')} |`);
    console.log(
      '\n| What is added | how many | heap in KB each | memory in KB each | µs each | CPU in µs each |\n| --- | --- | --- | --- | --- | --- |',
    );
    for (const row of memory) console.log(row);
  } finally {
    for (const socket of world.sockets) socket.terminate();
    world.phones.close();
    world.callers.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
