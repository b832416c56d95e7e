import { type EngineWorld, hostEngine } from './engine-host.ts';
import { OpenFiles } from './file/open-files.ts';
import { inlineWakeUps } from './pipe/wake-up.ts';
import type { MediaCommand } from './protocol.ts';
import type { MediaThread, StartThread } from './start-worker.ts';

type Listeners = { message: ((value: unknown) => void)[]; exit: ((code: number) => void)[] };

/**
 * A media thread that is none: the engine runs in this process, behind the same port, with a clock, sockets and chance
 * that are handed in. For simulations; in a server that works for others the thread keeps audio in time.
 * @param opened gets the files of each thread, for tests that end the process without ending its threads.
 */
export const startInline = (outside: Omit<EngineWorld, 'wakeUps' | 'files'>, opened: OpenFiles[] = []): StartThread => {
  const world = { ...outside, wakeUps: inlineWakeUps() };
  return (start): MediaThread => {
    const files = new OpenFiles();
    opened.push(files);
    const listeners: Listeners = { message: [], exit: [] };
    let ended = false;
    // What crosses is copied, as between threads: neither side may change what the other holds.
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
