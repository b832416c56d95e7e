/** Where lines can be written to; as Node's streams, whose errors come by the callback, the event, or as an exception. */
export interface LineStream {
  write(line: string, written: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** An output of log lines that outlives its reader. */
export interface LineOutput {
  write(line: string): void;
  /** Lines that could not be written so far. */
  readonly lost: number;
}

/**
 * Writes lines to a stream whose reader may go away, or whose disk may fill up: that costs lines, never the process.
 * When it takes lines again, the first one says how many were lost.
 * @param tellLost makes the line that says so.
 */
export function createLineOutput(stream: LineStream, tellLost: (lost: number) => string): LineOutput {
  let lost = 0;
  let untold = 0;
  const written = (error?: Error | null): void => {
    if (error) {
      lost++;
      untold++;
    } else if (untold > 0) {
      const told = untold;
      untold = 0;
      put(tellLost(told));
    }
  };
  const put = (line: string): void => {
    try {
      stream.write(line, written);
    } catch (error) {
      written(error as Error);
    }
  };
  // What it is about has been told to `written`.
  stream.on('error', () => {});
  return {
    write: put,
    get lost() {
      return lost;
    },
  };
}
