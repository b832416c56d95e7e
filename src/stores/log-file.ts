import {
  type BigIntStats,
  closeSync,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  type WriteStream,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../lib/clock.ts';

export type LogFileOptions = {
  path: string;
  clock: Clock;
  /** Makes the line that says how many were lost. */
  tellLost(lost: number): string;
  /** Called when its disk fails, once until it recovers. */
  onFailed?(error: Error): void;
  /** Permissions of a file that is made, as for `open(2)`; left out, 0o666 less the umask. */
  mode?: number | undefined;
};

/**
 * A log file. A failing disk costs lines, never the process. The file is opened again after a second, with growing
 * pauses. Its next line has the number of lost lines.
 */
export interface LogFile {
  /** Whether it takes no lines now. */
  readonly failed: boolean;
  /** How often it was opened again after its disk took no more lines. */
  readonly openings: number;
  /** `done` is called once the line is in the file, or is lost. */
  write(line: string, done?: () => void): void;
  /** Whether its path still leads to it; false once another program has renamed or removed it. */
  isAtItsPath(): boolean;
  /** Resolves once the rest is written; then it stays closed. */
  close(): Promise<void>;
}

/** Whether a file ends within a line; one that is not there does not. */
function isTorn(path: string): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  const descriptor = openSync(path, 'r');
  try {
    readSync(descriptor, last, 0, 1, size - 1);
  } finally {
    closeSync(descriptor);
  }
  return last[0] !== 10;
}

const identityOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`;

/** How long to wait before a file is opened again, in ms: the first time, and at most. */
const retryMs = { first: 1_000, most: 60_000 } as const;
/** Lines that may wait for a slow disk, in octets; those beyond are lost. */
const mostWaiting = 1_048_576;

/** Opens the file, or makes it with the directories above it. @throws Error (Node's) when that cannot be. */
export function openLogFile({ path, clock, tellLost, onFailed, mode }: LogFileOptions): LogFile {
  let stream: WriteStream | undefined;
  /** Device and inode of the open file. */
  let identity = '';
  let retry: unknown;
  let waitMs: number = retryMs.first;
  let lost = 0;
  let failing = false;
  let closed = false;
  /** The file ends with half a line: the disk was full, or the process was killed. */
  let torn = false;
  let openings = 0;

  const open = (): void => {
    mkdirSync(dirname(path), { recursive: true });
    // Before it is opened to be written: what fails here leaves nothing open.
    torn = isTorn(path);
    // Opened synchronously, so that a failure is known immediately.
    const descriptor = openSync(path, 'a', mode);
    identity = identityOf(fstatSync(descriptor, { bigint: true }));
    const opened = createWriteStream(path, { fd: descriptor });
    opened.on('error', (error) => failed(opened, error));
    stream = opened;
  };
  const openLater = (): void => {
    if (closed) return;
    retry = clock.setTimeout(openAgain, waitMs);
    waitMs = Math.min(waitMs * 2, retryMs.most);
  };
  const openAgain = (): void => {
    try {
      open();
      openings++;
    } catch {
      openLater();
    }
  };
  const failed = (which: WriteStream, error: Error): void => {
    if (stream !== which) return;
    stream = undefined;
    if (!failing) onFailed?.(error);
    failing = true;
    openLater();
  };
  const put = (to: WriteStream, line: string, told: number, done: (() => void) | undefined): void => {
    to.write(line, (error) => {
      if (error) lost += told + 1;
      else {
        waitMs = retryMs.first;
        failing = false;
      }
      done?.();
    });
  };

  open();
  return {
    get failed() {
      return stream === undefined;
    },
    get openings() {
      return openings;
    },
    write(line, done) {
      if (!stream || stream.writableLength > mostWaiting) {
        lost++;
        done?.();
        return;
      }
      const untold = lost;
      const before = torn ? '\n' : '';
      lost = 0;
      torn = false;
      if (untold === 0) put(stream, before + line, 0, done);
      else put(stream, before + tellLost(untold) + line, untold, done);
    },
    isAtItsPath() {
      try {
        const there = statSync(path, { bigint: true, throwIfNoEntry: false });
        return there !== undefined && identityOf(there) === identity;
      } catch {
        // The path cannot be read: opening it would fail as well.
        return true;
      }
    },
    close() {
      closed = true;
      clock.clearTimeout(retry);
      const last = stream;
      if (!last || last.closed) return Promise.resolve();
      return new Promise((resolve) => {
        last.once('close', resolve);
        last.end();
      });
    },
  };
}
