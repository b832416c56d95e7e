import { Worker } from 'node:worker_threads';
import type { WorkerStart } from './protocol.ts';

/** A started media thread, as far as the main thread uses it. */
export type MediaThread = Pick<Worker, 'postMessage' | 'terminate'> & {
  on(event: 'message', listener: (value: unknown) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
};

export type StartThread = (start: WorkerStart) => MediaThread;

/**
 * Of a packet nothing is left after a tick or two. Where that is collected often the memory that is written to stays in the
 * processor's caches, and a third of what a leg takes is saved: docs/decisions/0026-native-sockets.md.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 3 };

/**
 * Starts the media thread from the file beside this one: `worker.js` of a build, or `worker.ts` when the sources
 * themselves run. Node 20 does not hand the loader of the main thread to a worker, so that one loads it first.
 */
export const startWorker: StartThread = (start) => {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const file = new URL(`./worker.${extension}`, import.meta.url);
  if (extension === 'js') return new Worker(file, { workerData: start, resourceLimits });
  const loader = import.meta.resolve('tsx/esm/api');
  const boot = `import(${JSON.stringify(loader)}).then((tsx) => { tsx.register(); return import(${JSON.stringify(file.href)}); })`;
  return new Worker(boot, { eval: true, workerData: start, resourceLimits });
};
