import type { Clock } from '../lib/clock.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { readIfThere } from './durable-file.ts';
import { openRotatedFile } from './rotated-file.ts';

/**
 * A journal of open entries: a line when one is opened or changed, and one when it is closed. After a crash the next
 * process finds those that were never closed. It is not synced: the journal survives the process, not a power failure.
 */
export interface OpenEntries<T> {
  /** Entries that an earlier process left open, and the last time it was known to run, in ms since the epoch. */
  readonly left: readonly { key: string; entry: T; aliveAt: number }[];
  /** Opens an entry, or replaces it; `written` is called once its line is in the journal, or is lost. */
  set(key: string, entry: T, written?: () => void): void;
  get(key: string): T | undefined;
  delete(key: string): void;
  /** Resolves once all lines are written; entries that are open stay in the journal. */
  close(): Promise<void>;
}

type OpenEntriesOptions = {
  /** The journal; `<path>.1` is the one before it. */
  path: string;
  clock: Clock;
  /** Size at which a new journal begins with the open entries, in octets. */
  maximumOctets: number;
  /** How often it is noted that the process runs while entries are open, in ms; left out, never. */
  aliveMs?: number;
  onFailed(error: unknown): void;
};

type Line<T> = { at: number; key?: string; entry?: T };

/** Opens the journal. @throws Error (Node's, StorageError) when it cannot be read or opened. */
export function openEntries<T extends object>(options: OpenEntriesOptions): OpenEntries<T> {
  const { path, clock, maximumOctets, aliveMs, onFailed } = options;
  const entries = new SlotMap<string, T>();
  const aliveAt = readInto(entries, path);
  const left = [...entries].map(([key, entry]) => ({ key, entry, aliveAt }));
  const lineOf = (line: Omit<Line<T>, 'at'>): string => `${JSON.stringify({ at: clock.now(), ...line })}\n`;
  const head = (): string => [...entries].map(([key, entry]) => lineOf({ key, entry })).join('');
  const file = openRotatedFile({
    ...{ path, clock, maximumOctets, keep: 1, onFailed, onStuck: onFailed },
    // Any of them may be what was lost.
    tellLost: head,
    // It contains caller and callee numbers.
    mode: 0o600,
    head,
  });
  let timer: unknown;
  const stayAlive = (): void => {
    timer = undefined;
    if (entries.size === 0 || aliveMs === undefined) return;
    file.write(lineOf({}));
    timer = clock.setTimeout(stayAlive, aliveMs);
  };
  if (entries.size > 0) stayAlive();

  return {
    left,
    set(key, entry, written) {
      entries.set(key, entry);
      file.write(lineOf({ key, entry }), written);
      if (aliveMs !== undefined) timer ??= clock.setTimeout(stayAlive, aliveMs);
    },
    get: (key) => entries.get(key),
    delete(key) {
      if (entries.get(key) === undefined) return;
      entries.delete(key);
      file.write(lineOf({ key }));
    },
    async close() {
      clock.clearTimeout(timer);
      await file.close();
    },
  };
}

/** Reads the journal and its predecessor. @returns the time of the last write, in ms since the epoch. */
function readInto<T extends object>(entries: SlotMap<string, T>, path: string): number {
  let aliveAt = 0;
  for (const text of [readIfThere(`${path}.1`), readIfThere(path)])
    for (const each of (text ?? '').split('\n')) {
      const line = parse<T>(each);
      if (!line) continue;
      aliveAt = Math.max(aliveAt, line.at);
      if (line.key === undefined) continue;
      if (line.entry) entries.set(line.key, line.entry);
      else entries.delete(line.key);
    }
  return aliveAt;
}

/** A line of the journal; undefined for half a line, as a full disk or a killed process leaves it. */
function parse<T extends object>(text: string): Line<T> | undefined {
  try {
    const { at, key, entry } = JSON.parse(text) as Partial<Line<T>>;
    if (typeof at !== 'number' || (key !== undefined && typeof key !== 'string')) return undefined;
    const isEntry = typeof entry === 'object' && entry !== null;
    return { at, ...(key !== undefined && { key }), ...(isEntry && { entry }) };
  } catch {
    return undefined;
  }
}
