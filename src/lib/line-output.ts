import type { Clock } from './clock.ts';

/** Where lines can be written to; as Node's streams, whose errors come by the callback, the event, or as an exception. */
export interface LineStream {
  write(lines: string, written: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** An output of log lines that outlives its reader. */
export interface LineOutput {
  /** @param waits it may be written later, with others; else it and all before it are written at once. */
  write(line: string, waits?: boolean): void;
  /** Writes what waits, at once: before the process ends. */
  flush(): void;
  /** Lines that could not be written so far. */
  readonly lost: number;
}

type LineOutputOptions = {
  /** Makes the line that says how many were lost. */
  tellLost(lost: number): string;
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
  /** How long lines may wait, in ms; 0 = not at all. */
  delayMs: number;
};

/** Characters that wait at most: a call of the system for so many costs hardly more for each than for all. */
const mostWaiting = 65_536;

/**
 * Writes lines to a stream whose reader may go away, or whose disk may fill up: that costs lines, never the process.
 * When it takes lines again, the first one says how many were lost. Lines that may wait are written together: a call of the
 * system for each costs more than all that is done to make it.
 */
export function createLineOutput(stream: LineStream, { tellLost, clock, delayMs }: LineOutputOptions): LineOutput {
  let lost = 0;
  let untold = 0;
  let waiting = '';
  let waitingLines = 0;
  let timer: unknown;
  const put = (lines: string, count: number): void => {
    const written = (error?: Error | null): void => {
      if (error) {
        lost += count;
        untold += count;
      } else if (untold > 0) {
        const told = untold;
        untold = 0;
        put(tellLost(told), 1);
      }
    };
    try {
      stream.write(lines, written);
    } catch (error) {
      written(error as Error);
    }
  };
  const flush = (): void => {
    if (timer !== undefined) clock.clearTimeout(timer);
    timer = undefined;
    if (waitingLines === 0) return;
    const [lines, count] = [waiting, waitingLines];
    waiting = '';
    waitingLines = 0;
    put(lines, count);
  };
  // What it is about has been told to `written`.
  stream.on('error', () => {});
  return {
    write(line, waits = false) {
      waiting += line;
      waitingLines++;
      if (!waits || delayMs === 0 || waiting.length >= mostWaiting) flush();
      else timer ??= clock.setTimeout(flush, delayMs);
    },
    flush,
    get lost() {
      return lost;
    },
  };
}
