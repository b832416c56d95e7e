import type { Clock } from './clock.ts';

/** An output for lines, like Node's streams, whose errors come by callback, event, or exception. */
export interface LineStream {
  write(lines: string, written: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** An output of log lines that outlives its reader. */
export interface LineOutput {
  /** @param waits it may be written later, with others; otherwise it and earlier ones are written now. */
  write(line: string, waits?: boolean): void;
  /** Writes waiting lines now: before the process ends. */
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

/** Most waiting characters: a larger write saves little. */
const mostWaiting = 65_536;

/**
 * Writes lines to a stream whose reader may go away, or whose disk may fill up. That costs lines, never the process;
 * the next written line has the number of lost ones. Lines that may wait are batched, because a system call per line
 * costs more than making it.
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
  // `written` has already had its error.
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
