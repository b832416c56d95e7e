import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { type LogFile, type LogFileOptions, openLogFile } from './log-file.ts';

/** Limits of a file and its rotated ones. */
export type RotationBounds = {
  /** Octets after which it is put aside and a new one begun. */
  maximumOctets: number;
  /** How many that were put aside are kept; the oldest go. */
  keep: number;
};

export type RotatedFileOptions = LogFileOptions &
  RotationBounds & {
    /** It could not be put aside: it goes on growing. */
    onStuck(error: unknown): void;
    /** Lines that each new file begins with; a file grows to twice their size at least. */
    head?(): string;
  };

/** A file that can be given other bounds while it is written. */
export interface RotatedFile extends Omit<LogFile, 'isAtItsPath' | 'openings'> {
  /**
   * Applies other limits: rotated files beyond them are deleted now; a file that is too large rotates with its next
   * line.
   */
  limit(bounds: RotationBounds): void;
  /** Opens the path again if another program has renamed or removed the file. A failure is reported to `onStuck`. */
  reopen(): void;
}

/**
 * A {@link LogFile} of bounded size: a full one becomes `<path>.1`, what was `.1` before `.2`, and so on. Lines are never
 * torn in two. @throws Error (Node's) when it cannot be opened at first.
 */
export function openRotatedFile(options: RotatedFileOptions): RotatedFile {
  const { path, onStuck, head } = options;
  let { maximumOctets, keep } = options;
  let octets = sizeOf(path);
  let headOctets = 0;
  let openings = 0;
  let file = openLogFile(options);
  const closing = new Set<Promise<void>>();

  /** Writes to the file that has the name now. @throws Error (Node's) when it cannot be opened; the old one goes on. */
  const begin = (): void => {
    const next = openLogFile(options);
    // The old file's last lines go to its open descriptor.
    const closed = file.close();
    closing.add(closed);
    void closed.then(() => closing.delete(closed));
    file = next;
    openings = 0;
    octets = sizeOf(path);
    const first = head?.() ?? '';
    headOctets = Buffer.byteLength(first);
    if (first === '') return;
    octets += headOctets;
    file.write(first);
  };
  const rotate = (): void => {
    octets = 0;
    try {
      rmSync(`${path}.${keep}`, { force: true });
      for (let number = keep - 1; number >= 1; number--)
        if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
      if (keep > 0) renameSync(path, `${path}.1`);
      else rmSync(path);
      begin();
    } catch (error) {
      onStuck(error);
    }
  };

  return {
    get failed() {
      return file.failed;
    },
    write(line, done) {
      const size = Buffer.byteLength(line);
      // Lost lines are not in the file: rotating it would drop an older file for an empty one.
      if (file.failed || file.openings !== openings) octets = sizeOf(path);
      openings = file.openings;
      const limit = Math.max(maximumOctets, 2 * headOctets);
      if (octets > 0 && octets + size > limit && !file.failed) rotate();
      octets += size;
      file.write(line, done);
    },
    limit(bounds) {
      try {
        for (let number = keep; number > bounds.keep; number--) rmSync(`${path}.${number}`, { force: true });
      } catch (error) {
        onStuck(error);
      }
      ({ maximumOctets, keep } = bounds);
    },
    reopen() {
      if (file.isAtItsPath()) return;
      try {
        begin();
      } catch (error) {
        onStuck(error);
      }
    },
    async close() {
      await Promise.all([...closing, file.close()]);
    },
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
