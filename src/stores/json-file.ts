import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import { readIfThere, StorageError, setAside, writeDurably, writeDurablySync } from './durable-file.ts';
import { readJsonList } from './json-list.ts';

/**
 * A list in a file of the data directory. It is changed in memory first, then stored; changes during one write share
 * the next (group commit).
 */
interface JsonFile {
  /**
   * Resolves once all changes so far are synced to disk. On failure all unsaved changes are undone, last first, because
   * each may depend on the previous one.
   * @throws AriError (rejects) storageFailed, after `undo` was called.
   */
  keep(undo: () => void): Promise<void>;
  /** Resolves once all changes so far are stored. @throws AriError (rejects) storageFailed. */
  settled(): Promise<void>;
  /** For changes without a waiting client: a failure is logged and the write is retried. Never undone. */
  keepSoon(): void;
  /** Waits for the last writing, tries once more what did not hold yet, and stops trying. */
  close(): Promise<void>;
}

export type JsonFileOptions<T> = {
  directory: string;
  name: string;
  clock: Clock;
  log: Logger;
  /** Permissions of the file, e.g. 0o600 for secrets; default: the usual ones. */
  mode?: number;
  /** Reads one element of the list. @throws Error when it makes no sense. */
  read(element: unknown): T;
  /** The elements as they are now. */
  write(): unknown[];
};

/** Pause before retrying such a write, in ms: first, and longest. */
const retryMs = { first: 1_000, most: 60_000 } as const;

type Change = { undo(): void; done(): void; failed(error: AriError): void };

const format = (elements: unknown[]): string => `${JSON.stringify(elements, undefined, 2)}\n`;

/**
 * Opens a file and its content. A damaged file is renamed, that is logged, and its readable elements are kept.
 * @throws StorageError if the file exists but cannot be read or replaced.
 */
export function openJsonFile<T>(options: JsonFileOptions<T>): { elements: T[]; file: JsonFile } {
  return { elements: load(options), file: new KeptFile(options) };
}

function load<T>({ directory, name, log, mode, read }: JsonFileOptions<T>): T[] {
  const path = join(directory, name);
  const text = readIfThere(path);
  if (text === undefined) return [];
  const { elements, whole } = readJsonList(text);
  const problems: string[] = whole ? [] : ['it is no whole JSON list'];
  const good: unknown[] = [];
  const values: T[] = [];
  for (const [index, element] of elements.entries()) {
    try {
      values.push(read(element));
      good.push(element);
    } catch (error) {
      problems.push(`element ${index}: ${(error as Error).message}`);
    }
  }
  if (problems.length === 0) return values;
  const aside = setAside(path);
  log.error(
    { file: path, aside, kept: good.length, problems: problems.slice(0, 10) },
    'a file of the data directory is damaged: it was renamed, and its readable part was kept',
  );
  try {
    writeDurablySync(path, format(good), mode);
  } catch (error) {
    throw new StorageError(path, error);
  }
  return values;
}

class KeptFile implements JsonFile {
  readonly #path: string;
  readonly #options: Omit<JsonFileOptions<unknown>, 'read'>;
  /** Changes that the next writing will hold. */
  #waiting: Change[] = [];
  /** Unsaved changes without a waiting client exist. */
  #unattended = false;
  #wanted = false;
  #writing: Promise<void> | undefined;
  #retry: unknown;
  #retryAfterMs: number = retryMs.first;
  #closed = false;
  /** The last write failed: a full disk is logged once, not for each change. */
  #failing = false;

  constructor(options: Omit<JsonFileOptions<unknown>, 'read'>) {
    this.#options = options;
    this.#path = join(options.directory, options.name);
  }

  keep(undo: () => void): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ undo, done, failed });
      this.#write();
    });
  }

  settled(): Promise<void> {
    return this.#writing || this.#unattended ? this.keep(() => {}) : Promise.resolve();
  }

  keepSoon(): void {
    this.#unattended = true;
    this.#write();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#options.clock.clearTimeout(this.#retry);
    await this.#writing;
    if (!this.#unattended) return;
    this.#write();
    await this.#writing;
  }

  #write(): void {
    this.#wanted = true;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    // Gives changes made in the same turn the chance to be written together.
    await Promise.resolve();
    while (this.#wanted) {
      this.#wanted = false;
      await this.#writeOnce();
    }
    this.#writing = undefined;
  }

  async #writeOnce(): Promise<void> {
    const changes = this.#waiting;
    this.#waiting = [];
    const unattended = this.#unattended;
    this.#unattended = false;
    let replaced = false;
    try {
      const text = format(this.#options.write());
      await writeDurably(this.#path, text, () => (replaced = true), this.#options.mode);
      this.#retryAfterMs = retryMs.first;
      this.#failing = false;
      for (const { done } of changes) done();
    } catch (error) {
      this.#tellFailure(error);
      this.#undo([...changes, ...this.#waiting], error);
      // The file may already have newer content than the memory.
      if (unattended || replaced) this.#unattended = true;
      if (this.#unattended) this.#tryAgain();
    }
  }

  #tellFailure(error: unknown): void {
    const { log } = this.#options;
    log[this.#failing ? 'debug' : 'error'](
      { file: this.#path, error },
      'a file of the data directory could not be written',
    );
    this.#failing = true;
  }

  #undo(changes: readonly Change[], cause: unknown): void {
    this.#waiting = [];
    for (const { undo } of changes.toReversed()) {
      try {
        undo();
      } catch (error) {
        this.#options.log.error({ file: this.#path, error }, 'a change could not be stored or undone');
      }
    }
    for (const { failed } of changes) failed(new AriError('storageFailed', {}, { cause }));
  }

  #tryAgain(): void {
    if (this.#closed) return;
    const { clock } = this.#options;
    clock.clearTimeout(this.#retry);
    this.#retry = clock.setTimeout(() => this.#write(), this.#retryAfterMs);
    this.#retryAfterMs = Math.min(this.#retryAfterMs * 2, retryMs.most);
  }
}
