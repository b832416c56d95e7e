import { randomFillSync } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../lib/clock.ts';
import { watchLoopDelay } from '../lib/loop-delay.ts';
import { hostEngine } from './engine-host.ts';
import { systemWires } from './external/wires.ts';
import type { MediaCommand, WorkerStart } from './protocol.ts';
import { udpSockets } from './rtp/sockets.ts';
import { systemBells } from './tie/bell.ts';

/**
 * The media thread: hosts the engine with the system's clock and sockets. Started by {@link createMediaPlane}; it ends
 * when the main thread ends it.
 */
function run(start: WorkerStart, port: NonNullable<typeof parentPort>): void {
  const world = {
    clock: systemClock,
    sockets: udpSockets,
    wires: systemWires(systemClock),
    random32: createRandom32(),
    bells: systemBells(systemClock),
    loopDelay: watchLoopDelay().read,
  };
  const carryOut = hostEngine(start, world, (messages) => port.postMessage(messages));
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

if (parentPort) run(workerData as WorkerStart, parentPort);
