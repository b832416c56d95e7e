import { isDeepStrictEqual } from 'node:util';
import { type JsonFileOptions, openJsonFile } from './json-file.ts';

/** Persistent named values in one file. Reads never wait; a change is visible immediately. */
export interface KeptMap<T> {
  get(key: string): T | undefined;
  has(key: string): boolean;
  /** In the order in which they were first set. */
  values(): T[];
  readonly size: number;
  /** Resolves when it is on the disk. @throws AriError (rejects) storageFailed; then it is as it was before. */
  set(key: string, value: T): Promise<void>;
  /** The same without a waiting client: it is never undone, and written once the disk accepts it. */
  setSoon(key: string, value: T): void;
  /** As {@link set}; what is not there is no error. */
  delete(key: string): Promise<void>;
  /** As {@link setSoon}. */
  deleteSoon(key: string): void;
  /** Puts these in place of all that there are, as {@link setSoon}; nothing is written when they are the same. */
  replaceSoon(values: readonly T[]): void;
  /**
   * Resolves when everything changed so far is on the disk: for an answer that changes nothing itself.
   * @throws AriError (rejects) storageFailed.
   */
  settled(): Promise<void>;
  /** Resolves when the last change is on the disk, or has failed. */
  close(): Promise<void>;
}

type KeptMapOptions<T> = Omit<JsonFileOptions<T>, 'write'> & {
  keyOf(value: T): string;
  /** Called for a change that was undone because it could not be stored: `value` is the set or deleted one. */
  onUndone(value: T): void;
};

/** Opens what was kept. @throws StorageError when it cannot be read. */
export function openKeptMap<T>(options: KeptMapOptions<T>): KeptMap<T> {
  const { keyOf, onUndone } = options;
  let entries = new Map<string, T>();
  const { elements, file } = openJsonFile<T>({ ...options, write: () => [...entries.values()] });
  for (const value of elements) entries.set(keyOf(value), value);
  return {
    get: (key) => entries.get(key),
    has: (key) => entries.has(key),
    values: () => [...entries.values()],
    get size() {
      return entries.size;
    },

    set(key, value) {
      const before = entries.get(key);
      entries.set(key, value);
      return file.keep(() => {
        // A later change without a waiting client stays.
        if (entries.get(key) !== value) return;
        if (before === undefined) entries.delete(key);
        else entries.set(key, before);
        onUndone(value);
      });
    },

    setSoon(key, value) {
      entries.set(key, value);
      file.keepSoon();
    },

    delete(key) {
      const value = entries.get(key);
      if (value === undefined) return file.settled();
      const order = [...entries.keys()];
      entries.delete(key);
      return file.keep(() => {
        if (entries.has(key)) return;
        entries = inOrder([...order, ...entries.keys()], new Map(entries).set(key, value));
        onUndone(value);
      });
    },

    deleteSoon(key) {
      if (entries.delete(key)) file.keepSoon();
    },

    replaceSoon(values) {
      const next = new Map(values.map((value) => [keyOf(value), value]));
      if (isDeepStrictEqual([...entries], [...next])) return;
      entries = next;
      file.keepSoon();
    },

    settled: () => file.settled(),
    close: () => file.close(),
  };
}

/** The entries in an order of keys; keys that are not there, or come again, are passed over. */
function inOrder<T>(order: readonly string[], entries: Map<string, T>): Map<string, T> {
  const ordered = new Map<string, T>();
  for (const key of order) {
    const value = entries.get(key);
    if (value !== undefined) ordered.set(key, value);
  }
  return ordered;
}
