import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Logger } from '../lib/log.ts';
import { StorageError, setAside } from './durable-file.ts';

/** The value of an object as JSON text; undefined when it has ended. */
export type StateChange = readonly [key: string, json: string | undefined];

/**
 * Keeps the state of a server as entries of key and JSON text, in the order in which they were first put. What `commit`
 * has written survives the end of the process, but not of the system: nothing is synced to the disk.
 */
export interface StateStore {
  /** The entries that the process before left. */
  readonly left: ReadonlyMap<string, string>;
  /** Writes all changes, or none. Never throws: a failure is logged once, and everything is written again later. */
  commit(changes: readonly StateChange[]): void;
  /** The keys of the entries that there are now. */
  keys(): Iterable<string>;
  /** Octets of the file now. */
  readonly size: number;
  /** Ends it. The entries stay. */
  close(): void;
  /** Writes everything anew if somebody has removed or replaced the file. */
  check(): void;
  /** Ends it and renames the file, so that the next start does not find it. */
  setAside(): void;
}

type FileOptions = {
  directory: string;
  log: Logger;
  /** Changes that make it unreadable for earlier versions have another number. */
  version: number;
  /** Octets of the file above which it is written anew without what is outdated; at least twice what is current. */
  compactAbove: number;
  /** Pause in ms before a failed writing is tried again. */
  retryMs: number;
  now(): number;
};

const fileName = 'state.log';
/** Length and CRC-32 of a record. */
const headOctets = 8;

/**
 * Opens the state in a file: one record a commit, appended by one `write`. A record that is not whole, and all behind
 * it, are dropped and logged. A file of another version is set aside.
 * @throws StorageError if the file cannot be used.
 */
export function openStateStore(options: FileOptions): StateStore {
  return new StateFile(options);
}

class StateFile implements StateStore {
  readonly left: ReadonlyMap<string, string>;
  readonly #options: FileOptions;
  readonly #path: string;
  readonly #entries: Map<string, string>;
  /** Characters of all entries. */
  #current = 0;
  #descriptor: number | undefined;
  #size = 0;
  /** When a failed writing is tried again. */
  #retryAt: number | undefined;

  constructor(options: FileOptions) {
    this.#options = options;
    this.#path = join(options.directory, fileName);
    this.#entries = this.#load();
    for (const [key, json] of this.#entries) this.#current += key.length + json.length;
    this.left = new Map(this.#entries);
    try {
      this.#rewrite();
    } catch (error) {
      throw new StorageError(this.#path, error);
    }
  }

  get size(): number {
    return this.#size;
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  commit(all: readonly StateChange[]): void {
    const changes = all.filter(([key, json]) => this.#take(key, json));
    try {
      if (this.#retryAt !== undefined) this.#tryAgain();
      else if (this.#size > Math.max(this.#options.compactAbove, 2 * this.#current)) this.#rewrite();
      else this.#append(changes);
    } catch (error) {
      this.#failed(error);
    }
  }

  check(): void {
    if (this.#descriptor === undefined || this.#retryAt !== undefined || !this.#isGone()) return;
    this.#options.log.warn({ file: this.#path }, 'the file of the state was removed; it is written anew');
    try {
      this.#rewrite();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Whether the path is no longer the file that is written to. */
  #isGone(): boolean {
    const there = statSync(this.#path, { throwIfNoEntry: false });
    return there?.ino !== fstatSync(this.#descriptor!).ino;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  setAside(): void {
    this.close();
    setAside(this.#path);
    rmSync(this.#path, { force: true });
  }

  /** @returns whether that changes anything. */
  #take(key: string, json: string | undefined): boolean {
    const before = this.#entries.get(key);
    if (before === json) return false;
    if (before !== undefined) this.#current -= key.length + before.length;
    if (json === undefined) this.#entries.delete(key);
    else {
      this.#entries.set(key, json);
      this.#current += key.length + json.length;
    }
    return true;
  }

  /** One `write` of a whole record: part of one is cut off again. */
  #append(changes: readonly StateChange[]): void {
    if (changes.length === 0) return;
    const record = recordOf(changes);
    const written = writeSync(this.#descriptor!, record, 0, record.length, this.#size);
    if (written === record.length) this.#size += written;
    else throw new Error(`only ${written} of ${record.length} octets could be written`);
  }

  /** Writes all entries to a new file, which takes the place of the old one. */
  #rewrite(): void {
    const next = `${this.#path}.new`;
    const descriptor = openSync(next, 'w', 0o600);
    try {
      const records = [headerOf(this.#options.version), ...piecesOf(this.#entries).map(recordOf)];
      let at = 0;
      for (const record of records) {
        const written = writeSync(descriptor, record, 0, record.length, at);
        if (written !== record.length) throw new Error(`only ${written} of ${record.length} octets could be written`);
        at += written;
      }
      renameSync(next, this.#path);
      this.close();
      this.#descriptor = descriptor;
      this.#size = at;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  #failed(error: unknown): void {
    const { log, now, retryMs } = this.#options;
    if (this.#retryAt === undefined)
      log.error({ file: this.#path, error }, 'the state cannot be written; a crash now would end all calls');
    this.#retryAt = now() + retryMs;
    // A crash must not find a state that is older than what peers know: better none.
    try {
      if (this.#descriptor !== undefined) ftruncateSync(this.#descriptor, 0);
    } catch {
      // It is told above.
    }
  }

  #tryAgain(): void {
    if (this.#options.now() < this.#retryAt!) return;
    this.#rewrite();
    this.#retryAt = undefined;
    this.#options.log.info({ file: this.#path }, 'the state can be written again');
  }

  #load(): Map<string, string> {
    const { log, version } = this.#options;
    const entries = new Map<string, string>();
    if (!existsSync(this.#path)) return entries;
    let bytes: Buffer;
    try {
      bytes = readFileSync(this.#path);
    } catch (error) {
      throw new StorageError(this.#path, error);
    }
    const { records, read } = recordsIn(bytes);
    const [header, ...changes] = records;
    if (bytes.length === 0) return entries;
    const found = header && (JSON.parse(header) as { version?: unknown }).version;
    if (found !== version) {
      const moved = setAside(this.#path);
      log.error(
        { file: this.#path, found, reads: version, moved },
        'the state of another version cannot be read; calls of the server before this one are lost',
      );
      return entries;
    }
    if (read < bytes.length)
      log.warn({ file: this.#path, octets: bytes.length - read }, 'dropped the damaged end of the state');
    for (const record of changes)
      for (const line of record.split('\n')) {
        const tab = line.indexOf('\t');
        if (tab < 0) entries.delete(line);
        else entries.set(line.slice(0, tab), line.slice(tab + 1));
      }
    return entries;
  }
}

/** Most entries in one record when all are written. */
const mostInPiece = 256;

function piecesOf(entries: ReadonlyMap<string, string>): StateChange[][] {
  const all = [...entries];
  const pieces: StateChange[][] = [];
  for (let at = 0; at < all.length; at += mostInPiece) pieces.push(all.slice(at, at + mostInPiece));
  return pieces;
}

const headerOf = (version: number): Buffer => framed(JSON.stringify({ version }));

/** A line for each change: key, tab and value, or the key alone. JSON texts and keys have no line breaks and tabs. */
const recordOf = (changes: readonly StateChange[]): Buffer =>
  framed(changes.map(([key, json]) => (json === undefined ? key : `${key}\t${json}`)).join('\n'));

function framed(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const record = Buffer.allocUnsafe(headOctets + length);
  record.write(text, headOctets);
  record.writeUInt32LE(length, 0);
  record.writeUInt32LE(crc32(record.subarray(headOctets)), 4);
  return record;
}

/** The whole records at the beginning, and how many octets they take. */
function recordsIn(bytes: Buffer): { records: string[]; read: number } {
  const records: string[] = [];
  let read = 0;
  while (read + headOctets <= bytes.length) {
    const end = read + headOctets + bytes.readUInt32LE(read);
    if (end > bytes.length) break;
    const content = bytes.subarray(read + headOctets, end);
    if (crc32(content) !== bytes.readUInt32LE(read + 4)) break;
    records.push(content.toString());
    read = end;
  }
  return { records, read };
}
