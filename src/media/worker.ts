import { randomFillSync } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { MediaEngine } from './engine.ts';
import { SoundLibrary } from './file/sound-library.ts';
import { ItemLoader } from './item-loader.ts';
import type { MediaCommand, MediaMessage, WorkerStart } from './protocol.ts';
import { udpSockets } from './rtp/sockets.ts';

/**
 * The media thread: hosts the engine, takes batches of commands, sends batches of messages. Started by
 * {@link createMediaPlane}; it ends when the main thread ends it.
 */
function run(start: WorkerStart, port: NonNullable<typeof parentPort>): void {
  let batch: MediaMessage[] = [];
  const tell = (message: MediaMessage): void => {
    if (batch.length === 0) queueMicrotask(flush);
    batch.push(message);
  };
  const flush = (): void => {
    const full = batch;
    batch = [];
    port.postMessage(full);
  };
  const library = new SoundLibrary(start.config);
  const engine = new MediaEngine({
    config: start.config,
    clock: systemClock,
    log: forwardingLogger(tell, {}),
    sockets: udpSockets,
    loader: new ItemLoader(library, start.config.toneZone),
    random32: createRandom32(),
    report: tell,
  });
  port.on('message', (commands: MediaCommand[]) => {
    for (const command of commands) carryOut(engine, command, tell);
  });
}

function carryOut(engine: MediaEngine, command: MediaCommand, tell: (message: MediaMessage) => void): void {
  switch (command.type) {
    case 'openRtp': {
      const { request } = command;
      engine.openRtp(command.session).then(
        (local) => tell({ type: 'opened', request, ...local }),
        (error: unknown) => tell({ type: 'refused', request, reason: error instanceof Error ? error.message : '' }),
      );
      return;
    }
    case 'openLocal':
      engine.openLocal(command.session);
      return;
    case 'statistics':
      tell({ type: 'statistics', request: command.request, statistics: engine.statistics(command.session) });
      return;
    case 'usage':
      tell({ type: 'usage', request: command.request, usage: engine.usage() });
      return;
    case 'ping':
      tell({ type: 'pong' });
      return;
    case 'shutdown':
      engine.close();
      tell({ type: 'ended', request: command.request });
      return;
    default:
      engine.apply(command);
      return;
  }
}

/** Logging is done by the main thread; errors travel as their words and stack. */
function forwardingLogger(tell: (message: MediaMessage) => void, fixed: object): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    tell({ type: 'log', level, fields: { ...fixed, ...fields }, message });
  return {
    trace: () => {},
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => forwardingLogger(tell, { ...fixed, ...fields }),
  };
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
