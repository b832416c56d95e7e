import { mkdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../lib/log.ts';

/** A small value kept in a file of the data directory. */
export interface JsonFile<T> {
  /** What was kept last; undefined when there is nothing or it cannot be understood (which is logged). */
  load(): T | undefined;
  /**
   * Keeps what `value` gives, soon: while one writing is under way further ones become one. The file always holds a
   * whole value, the old or the new. A failure is logged; the next save tries again.
   */
  save(value: () => T): void;
  /** Resolves once everything saved has been written or has failed. */
  flush(): Promise<void>;
}

export type JsonFileOptions<T> = {
  directory: string;
  name: string;
  log: Logger;
  /** Permissions of the file, e.g. 0o600 for one with secrets; left out, those that are usual. */
  mode?: number;
  /** Reads what the file holds. @throws Error when it makes no sense. */
  read(json: unknown): T;
};

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

export function createJsonFile<T>({ directory, name, log, mode, read }: JsonFileOptions<T>): JsonFile<T> {
  const file = join(directory, name);
  let wanted: (() => T) | undefined;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    // Gives changes made in the same turn the chance to be written together.
    await Promise.resolve();
    while (wanted) {
      const value = wanted;
      wanted = undefined;
      try {
        mkdirSync(directory, { recursive: true });
        await writeFile(`${file}.new`, `${JSON.stringify(value(), undefined, 2)}\n`, { mode });
        await rename(`${file}.new`, file);
      } catch (error) {
        log.error({ file, error }, 'a file of the data directory could not be written');
      }
    }
    writing = undefined;
  };

  return {
    load() {
      try {
        return read(JSON.parse(readFileSync(file, 'utf8')));
      } catch (error) {
        if (!isMissing(error)) log.error({ file, error }, 'a file of the data directory could not be read');
        return undefined;
      }
    },
    save(value) {
      wanted = value;
      writing ??= write();
    },
    flush: () => writing ?? Promise.resolve(),
  };
}
