/** The control plane measured from outside: calls per second, the yardstick, memory of channels. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import type { PingFigures } from './ping-client.ts';
import {
  authorizationOf,
  CpuMeter,
  residentOctets,
  runProgram,
  type Subject,
  startServerProcess,
} from './server-process.ts';

/** Output of control-plane-client.ts. */
type CallFigures = {
  calls: number;
  callsPerSecond: number;
  eventsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  failures: number;
  clientCpu: number;
};

/** A real Asterisk 23.4 under the same load on a machine of this kind; said where no reference runs beside us. */
const asterisk = {
  1: { callsPerSecond: 1190, p50Ms: 0.8 },
  16: { callsPerSecond: 1870, eventsPerSecond: 28_000 },
  kilobytesPerChannel: 43,
};

const rounds = 3;
const ratio = (ours: number, theirs: number, whose: string): string => `${(ours / theirs).toFixed(2)} × ${whose}`;
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/**
 * Runs the whole control-plane benchmark and prints it.
 * @param seconds length of each part.
 * @param reference is measured in turn with ours, so that a machine that slows down slows both.
 */
export async function benchControlPlane(seconds: number, reference?: Subject): Promise<void> {
  const server = await startServerProcess();
  try {
    for (const inFlight of [1, 16] as const) await calls(server, reference, inFlight, seconds);
    await pings(server, seconds);
  } finally {
    await server.stop();
  }
  if (reference) print(await memory(reference), reference);
  const fresh = await startServerProcess();
  try {
    print(await memory(fresh), fresh);
  } finally {
    await fresh.stop();
  }
}

async function calls(server: Subject, reference: Subject | undefined, inFlight: 1 | 16, seconds: number) {
  console.log(`calls, ${inFlight} in flight`);
  if (!reference) {
    const { callsPerSecond, p50Ms, eventsPerSecond } = await load(server, inFlight, seconds);
    const yardstick: { callsPerSecond: number; p50Ms?: number; eventsPerSecond?: number } = asterisk[inFlight];
    const against = (what: string, ours: number, theirs?: number) =>
      theirs === undefined ? [] : [`${what} ${ratio(ours, theirs, 'Asterisk elsewhere')}`];
    const rows = [
      ...against('calls/s', callsPerSecond, yardstick.callsPerSecond),
      ...against('p50', p50Ms, yardstick.p50Ms),
      ...against('events/s', eventsPerSecond, yardstick.eventsPerSecond),
    ];
    console.log(`  ${rows.join(', ')}`);
    return;
  }
  const pairs: { ours: CallFigures; theirs: CallFigures }[] = [];
  for (let round = 0; round < rounds; round++)
    pairs.push({
      ours: await load(server, inFlight, seconds),
      theirs: await load(reference, inFlight, seconds),
    });
  const against = (figure: 'callsPerSecond' | 'eventsPerSecond' | 'p50Ms' | 'p99Ms') =>
    ratio(median(pairs.map(({ ours, theirs }) => ours[figure] / theirs[figure])), 1, reference.name);
  console.log(
    `  calls/s ${against('callsPerSecond')}, events/s ${against('eventsPerSecond')}, p50 ${against('p50Ms')}, p99 ${against('p99Ms')}`,
  );
}

/** One round of load on one server, printed. */
async function load(subject: Subject, inFlight: number, seconds: number): Promise<CallFigures> {
  const meter = new CpuMeter(subject.pid);
  const args = [subject.http, subject.credentials, String(inFlight), String(seconds)];
  const figures = await runProgram<CallFigures>('control-plane-client.ts', args);
  const share = meter.share(seconds * 1000);
  meter.stop();
  const { callsPerSecond, eventsPerSecond, p50Ms, p99Ms, failures, clientCpu } = figures;
  console.log(
    [
      `  ${subject.name.padEnd(10)} ${callsPerSecond.toFixed(0)} calls/s, ${eventsPerSecond.toFixed(0)} events/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`,
      `  ${''.padEnd(10)} CPU ${((share * 1000) / callsPerSecond).toFixed(3)} ms a call (${(100 * share).toFixed(0)} % of a core), client ${(100 * clientCpu).toFixed(0)} %`,
      ...(failures > 0 ? [`  ${failures} requests FAILED`] : []),
    ].join('\n'),
  );
  return figures;
}

/** A ping through the interface beside the same answer from plain node:http. */
async function pings(server: Subject, seconds: number): Promise<void> {
  const plain = fork(fileURLToPath(new URL('plain-server.ts', import.meta.url)));
  const [port] = (await once(plain, 'message')) as [number];
  for (const inFlight of [1, 16]) {
    const measure = async (url: string, pid: number) => {
      const meter = new CpuMeter(pid);
      const figures = await runProgram<PingFigures>('ping-client.ts', [
        url,
        server.credentials,
        String(inFlight),
        String(seconds),
      ]);
      const cpuUs = (meter.share(seconds * 1000) * 1e6) / figures.perSecond;
      meter.stop();
      return { ...figures, cpuUs };
    };
    const yardstick = await measure(`http://127.0.0.1:${port}/`, plain.pid!);
    const ours = await measure(`${server.http}/asterisk/ping`, server.pid);
    const row = (name: string, { perSecond, p50Ms, p99Ms, cpuUs }: typeof ours) =>
      `  ${name} ${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(3)} ms, p99 ${p99Ms.toFixed(3)} ms, CPU ${cpuUs.toFixed(1)} µs`;
    console.log(
      [
        `ping, ${inFlight} in flight`,
        row('node:http ', yardstick),
        row('hookswitch', ours),
        `  time ratio ${(yardstick.perSecond / ours.perSecond).toFixed(2)}, CPU ratio ${(ours.cpuUs / yardstick.cpuUs).toFixed(2)}`,
      ].join('\n'),
    );
  }
  plain.disconnect();
}

const held = 1000;

/** Memory of 1,000 calls through Local channels, 2,000 channels, that stand still in an application. */
async function memory(server: Subject): Promise<{ each: number; all: number }> {
  const authorization = authorizationOf(server);
  const socket = new WebSocket(`${server.http.replace('http', 'ws')}/events?app=bench`, { headers: { authorization } });
  await once(socket, 'open');
  const ended = { StasisStart: 0, ChannelDestroyed: 0 } as Record<string, number>;
  const reached: { type: string; count: number; done: () => void }[] = [];
  socket.on('message', (data) => {
    const { type } = JSON.parse(String(data)) as { type: string };
    if (!(type in ended)) return;
    ended[type]!++;
    for (const wanted of reached) if (ended[wanted.type] === wanted.count) wanted.done();
  });
  const until = (type: string, count: number) =>
    new Promise<void>((done) => (ended[type] === count ? done() : void reached.push({ type, count, done })));
  const ask = async (method: string, path: string) => {
    const response = await fetch(`${server.http}${path}`, { method, headers: { authorization } });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const place = async (prefix: string, count: number) => {
    for (let call = 0; call < count; call++)
      await ask('POST', `/channels/${prefix}-${call}?endpoint=Local/held@default&app=bench`);
  };

  // A process that has handled calls has grown what it needs besides; what is left is the channels'.
  await place('warm', held);
  await until('StasisStart', held);
  for (let call = 0; call < held; call++) await ask('DELETE', `/channels/warm-${call}`);
  await until('ChannelDestroyed', 2 * held);
  const before = residentOctets(server.pid);
  await place('held', held);
  await until('StasisStart', 2 * held);
  const grown = residentOctets(server.pid) - before;
  const all = residentOctets(server.pid);
  for (let call = 0; call < held; call++) await ask('DELETE', `/channels/held-${call}`);
  await until('ChannelDestroyed', 4 * held);
  socket.close();
  return { each: grown / 1024 / (2 * held), all: all / 2 ** 20 };
}

function print({ each, all }: { each: number; all: number }, { name }: Subject): void {
  console.log(
    `memory, ${name}: ${each.toFixed(1)} KB per channel with ${2 * held} live channels ` +
      `(${ratio(each, asterisk.kilobytesPerChannel, 'Asterisk elsewhere')}), ${all.toFixed(0)} MB in all`,
  );
}
