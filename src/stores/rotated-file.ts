import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { type LogFile, type LogFileOptions, openLogFile } from './log-file.ts';

/** What bounds a file and those that were put aside. */
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
  };

/** A file that can be given other bounds while it is written. */
export interface RotatedFile extends LogFile {
  /** Takes up other bounds: what was put aside beyond them goes now, a file that is too large with its next line. */
  limit(bounds: RotationBounds): void;
}

/**
 * A {@link LogFile} of bounded size: a full one becomes `<path>.1`, what was `.1` before `.2`, and so on. Lines are never
 * torn in two. @throws Error (Node's) when it cannot be opened at first.
 */
export function openRotatedFile(options: RotatedFileOptions): RotatedFile {
  const { path, onStuck } = options;
  let { maximumOctets, keep } = options;
  let octets = sizeOf(path);
  let file = openLogFile(options);
  const closing = new Set<Promise<void>>();

  const rotate = (): void => {
    octets = 0;
    try {
      rmSync(`${path}.${keep}`, { force: true });
      for (let number = keep - 1; number >= 1; number--)
        if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
      if (keep > 0) renameSync(path, `${path}.1`);
      else rmSync(path);
      const next = openLogFile(options);
      // What the old one still holds goes to the file it has open, whatever its name is by now.
      const closed = file.close();
      closing.add(closed);
      void closed.then(() => closing.delete(closed));
      file = next;
    } catch (error) {
      onStuck(error);
    }
  };

  return {
    get failed() {
      return file.failed;
    },
    write(line) {
      const size = Buffer.byteLength(line);
      if (octets > 0 && octets + size > maximumOctets && !file.failed) rotate();
      octets += size;
      file.write(line);
    },
    limit(bounds) {
      try {
        for (let number = keep; number > bounds.keep; number--) rmSync(`${path}.${number}`, { force: true });
      } catch (error) {
        onStuck(error);
      }
      ({ maximumOctets, keep } = bounds);
    },
    async close() {
      await Promise.all([...closing, file.close()]);
    },
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
