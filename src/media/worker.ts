import { randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { type Clock, systemClock } from '../lib/clock.ts';
import { compactHeap } from '../lib/heap.ts';
import { watchLoopDelay } from '../lib/loop-delay.ts';
import { loadSystemCalls } from '../native/system-calls.ts';
import type { MediaConfig } from './config.ts';
import { hostEngine } from './engine-host.ts';
import { systemWires } from './external/wires.ts';
import { newWakeUp, noWakeUps, systemWakeUps } from './pipe/wake-up.ts';
import type { MediaCommand, MediaMessage } from './protocol.ts';
import { newHeardCounter } from './report-window.ts';
import { Descriptors, newDescriptorTable } from './rtp/descriptors.ts';
import { EpollSockets } from './rtp/epoll-sockets.ts';
import { openSystemSockets } from './rtp/system-sockets.ts';
import { loadPacketCrypto } from './srtp/packet-crypto.ts';
import type { PreparedStart, SystemWorkerStart } from './start-worker.ts';

/**
 * The media thread: hosts the engine with the system's clock and sockets. Started by {@link createMediaPlane}; it ends
 * when the main thread ends it.
 */
async function run(start: SystemWorkerStart, port: NonNullable<typeof parentPort>): Promise<void> {
  const { sockets, openMore, trimMemory, ...used } = await openSystemSockets({
    kind: start.config.sockets,
    clock: systemClock,
    descriptors: start.descriptors,
    relay: start.relay,
    relayedPackets: start.config.relayedPackets,
    reservedFrom: start.config.reservedFrom,
    supervised: start.supervised,
  });
  const srtp = await loadPacketCrypto().then(
    () => 'openssl',
    () => 'node:crypto',
  );
  const world = {
    clock: systemClock,
    sockets,
    ...(openMore && { warmUpSockets: openMore }),
    compact: () => {
      compactHeap();
      trimMemory?.();
    },
    wires: systemWires(systemClock),
    random32: createRandom32(),
    wakeUps: systemWakeUps(systemClock),
    loopDelay: watchLoopDelay().read,
  };
  const post = (messages: MediaMessage[]) => port.postMessage(messages);
  const message = 'sockets of a media thread';
  post([
    {
      type: 'log',
      level: used.reason && start.config.sockets === 'native' ? 'warn' : 'info',
      fields: { ...used, srtp },
      message,
    },
  ]);
  // The main thread counts that batch, and the engine's window does not.
  Atomics.sub(new Int32Array(start.heard), 0, 1);
  const carryOut = hostEngine(start, world, post);
  port.on('message', (commands: MediaCommand[]) => carryOut(commands));
}

/** Cryptographically strong words from a buffer that is refilled now and then. */
function createRandom32(): () => number {
  const words = new Uint32Array(256);
  let next = words.length;
  return () => {
    if (next === words.length) {
      randomFillSync(words);
      next = 0;
    }
    return words[next++]!;
  };
}

/** Runs the code of calls, in an engine that is used for nothing else. */
async function warmUp(config: MediaConfig, done: () => void): Promise<void> {
  const calls = await loadSystemCalls();
  const descriptors = newDescriptorTable();
  const noted = new Descriptors(descriptors);
  const warmUpSockets = (clock: Clock) => new EpollSockets({ calls, clock, descriptors: noted });
  const sockets = { bind: () => Promise.reject(new Error('it only warms up')) };
  const compact = (): void => {
    compactHeap();
    done();
  };
  const world = { clock: systemClock, sockets, warmUpSockets, compact, random32: createRandom32(), wakeUps: noWakeUps };
  hostEngine({ config, thread: 0, wakeUp: newWakeUp(0), heard: newHeardCounter(), descriptors }, world, () => {});
}

/** The modules that a thread loads: at once, or when it is used (`prepareThreads`). */
async function startOf(data: SystemWorkerStart | PreparedStart): Promise<SystemWorkerStart> {
  if (!('awaited' in data)) return data;
  const { awaited, config } = data;
  // Without it the first calls are slower.
  const warm = (): void => awaited.postMessage('warm');
  if (config) warmUp(config, warm).catch(warm);
  const [start] = (await once(awaited, 'message')) as [SystemWorkerStart];
  awaited.close();
  return start;
}

async function begin(port: NonNullable<typeof parentPort>): Promise<void> {
  await run(await startOf(workerData), port);
}

// A rejection ends the thread, and the main thread hears why. The build loads this file in a thread that is no worker.
if (parentPort) void begin(parentPort);
