import { type EngineWorld, hostEngine } from './engine-host.ts';
import { OpenFiles } from './file/open-files.ts';
import { inlineWakeUps } from './pipe/wake-up.ts';
import type { MediaCommand } from './protocol.ts';
import type { MediaThread, StartThread } from './start-worker.ts';

type Listeners = { message: ((value: unknown) => void)[]; exit: ((code: number) => void)[] };

/**
 * A media thread without a thread: the engine runs in this process, with given clock, sockets and random numbers. For
 * simulations; in a real server the thread keeps audio in time.
 * @param opened gets the files of each thread, for tests that end the process without its threads.
 */
export const startInline = (outside: Omit<EngineWorld, 'wakeUps' | 'files'>, opened: OpenFiles[] = []): StartThread => {
  const world = { ...outside, wakeUps: inlineWakeUps() };
  return (start): MediaThread => {
    const files = new OpenFiles();
    opened.push(files);
    const listeners: Listeners = { message: [], exit: [] };
    let ended = false;
    // Messages are copied, as between threads: neither side may change the other's data.
    const carryOut = hostEngine(start, { ...world, files }, (messages) => {
      if (!ended) for (const listener of listeners.message) listener(structuredClone(messages));
    });
    return {
      postMessage(commands: MediaCommand[]) {
        const copy = structuredClone(commands);
        queueMicrotask(() => {
          if (!ended) carryOut(copy);
        });
      },
      async terminate() {
        if (ended) return 0;
        ended = true;
        for (const listener of listeners.exit) listener(0);
        await files.closeAll();
        return 0;
      },
      on(event: 'message' | 'error' | 'exit', listener: (value: never) => void) {
        if (event === 'message') listeners.message.push(listener as (value: unknown) => void);
        if (event === 'exit') listeners.exit.push(listener as (code: number) => void);
      },
    };
  };
};
