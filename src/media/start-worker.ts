import { once } from 'node:events';
import { MessageChannel, type MessagePort, Worker, type WorkerOptions } from 'node:worker_threads';
import { systemClock } from '../lib/clock.ts';
import type { MediaConfig } from './config.ts';
import type { WorkerStart } from './protocol.ts';
import { dgramSockets } from './rtp/dgram-sockets.ts';
import { hostSockets } from './rtp/relayed-sockets.ts';

/** A started media thread, as far as the main thread uses it. */
export type MediaThread = Pick<Worker, 'postMessage' | 'terminate'> & {
  on(event: 'message', listener: (value: unknown) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
};

/** Initial data of the worker, and the port to Node sockets in this thread. */
export type SystemWorkerStart = WorkerStart & { relay: MessagePort };

export type StartThread = (start: WorkerStart) => MediaThread;

/**
 * Packet data lives for a tick or two. Frequent collections keep the written memory in the processor's caches, which
 * saves a third of a leg's CPU: docs/decisions/0026-native-sockets.md.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 3 };

/**
 * Starts the media thread from the file beside this one: `worker.js` of a build, or `worker.ts` when the sources
 * themselves run. Sockets of Node stay in this thread: Node may abort when one is read in a thread that is being
 * terminated. Node 20 does not hand the loader of the main thread to a worker, so that one loads it first.
 */
export function startWorker(start: WorkerStart, options: WorkerOptions = {}): MediaThread {
  const { port1: held, port2: relay } = new MessageChannel();
  const worker = openWorker({ workerData: { ...start, relay }, transferList: [relay], ...options });
  return hosting(worker, start, held);
}

/** Starts as a thread that waits: with settings it warms up meanwhile. */
export type PreparedStart = { awaited: MessagePort; config: MediaConfig | undefined };

/**
 * Starts threads that load their code, warm up and wait. @returns what gives these to who starts a thread, and then further
 * ones; and when all are warm, or have ended.
 */
export function prepareThreads(count: number, config: MediaConfig): { start: StartThread; warm: Promise<unknown> } {
  const warmsUp = config.warmsUp && config.sockets !== 'dgram';
  const prepared = Array.from({ length: count }, () => {
    const { port1: starter, port2: awaited } = new MessageChannel();
    const workerData: PreparedStart = { awaited, config: warmsUp ? config : undefined };
    const worker = openWorker({ workerData, transferList: [awaited] });
    const warm = warmsUp ? Promise.race([once(starter, 'message'), once(worker, 'exit')]) : undefined;
    starter.unref();
    return { starter, worker, warm };
  });
  const start: StartThread = (start) => {
    const next = prepared.shift();
    if (!next) return startWorker(start);
    const { port1: held, port2: relay } = new MessageChannel();
    const settings = { ...start.config, warmsUp: start.config.warmsUp && !warmsUp };
    next.starter.postMessage({ ...start, config: settings, relay }, [relay]);
    return hosting(next.worker, start, held);
  };
  return { start, warm: Promise.all(prepared.map(({ warm }) => warm)) };
}

function openWorker(options: WorkerOptions): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const file = new URL(`./worker.${extension}`, import.meta.url);
  const started = { resourceLimits, ...options };
  return extension === 'js' ? new Worker(file, started) : new Worker(loaderFirst(file), { ...started, eval: true });
}

/** Lets this thread hold its sockets of Node. */
function hosting(worker: Worker, { config }: WorkerStart, held: MessagePort): Worker {
  // Heard before anybody binds the same ports again.
  worker.once('exit', hostSockets(dgramSockets, { port: held, clock: systemClock, most: config.relayedPackets }));
  return worker;
}

function loaderFirst(file: URL): string {
  const loader = import.meta.resolve('tsx/esm/api');
  return `import(${JSON.stringify(loader)}).then((tsx) => { tsx.register(); return import(${JSON.stringify(file.href)}); })`;
}
