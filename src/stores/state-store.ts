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
import { constants } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type ApplicationEvent,
  forgottenBy,
  forgottenKey,
  type KeptEvent,
  linesOf,
  readFormats,
  readLines,
  type StateChange,
  stateFormat,
} from '../lib/state-lines.ts';
import { StorageError, setAside } from './durable-file.ts';

/**
 * Keeps the state of a server as entries of key and JSON text, in the order of their first writing. What `commit` has
 * written survives the end of the process, but not of the system: nothing is synced to the disk.
 */
export interface StateStore {
  /** The entries that the process before left. */
  readonly left: ReadonlyMap<string, string>;
  /** The events that the process before left, by application, in their order. */
  readonly leftEvents: ReadonlyMap<string, readonly KeptEvent[]>;
  /**
   * Writes all changes and events, or none. Never throws: a failure is logged once, and everything is written again
   * later. Of an application only the last events are kept.
   */
  commit(changes: readonly StateChange[], events?: readonly ApplicationEvent[]): void;
  /**
   * The kept events of an application behind a number, of which `made` were made so far, and how many are no longer kept;
   * undefined if that is unknown.
   */
  eventsAfter(application: string, number: number, made: number): { events: string[]; lost: number | undefined };
  /** Drops the events of an application, behind those that are written. */
  forgetEvents(application: string): void;
  /** The keys of the entries that there are now. */
  keys(): Iterable<string>;
  /** All entries and kept events, as they are now. */
  all(): { entries: StateChange[]; events: ApplicationEvent[] };
  /** Gives the one listener what every {@link commit} is given. */
  follow(listener: (changes: readonly StateChange[], events: readonly ApplicationEvent[]) => void): void;
  /** Octets of the file now. */
  readonly size: number;
  /** Since when it cannot be written, in ms since the Unix epoch, and why. Undefined: it is written. */
  readonly failure: { since: number; reason: string } | undefined;
  /** Ends it. The entries stay. */
  close(): void;
  /** Rewrites the file if it was removed or replaced. */
  check(): void;
  /** Rewrites the file if most of it is outdated, so that the next process reads less. */
  compact(): void;
  /** Ends it and renames the file, so that the next start does not find it. */
  setAside(): void;
}

/** Writes octets at a position, as `writeSync`. @returns how many it has written. @throws Error */
export type WriteOctets = (descriptor: number, octets: Buffer, position: number) => number;

type FileOptions = {
  directory: string;
  /** The system's own when left out. */
  write?: WriteOctets | undefined;
  /** A write that takes longer, in ms, counts as a failure: everything waits for it. */
  longestWriteMs: number;
  log: Logger;
  /** Changes that make it unreadable for earlier versions have another number. */
  version: number;
  /**
   * File size in octets above which it is rewritten without outdated entries; at least twice the size of current ones.
   */
  compactAbove: number;
  /** Last events of each application that are kept. */
  mostEvents: number;
  /** Characters of the last events of each application that are kept. */
  mostEventCharacters: number;
  /** How long an event is kept, in ms. */
  keepEventsMs: number;
  /** Time in ms since the Unix epoch, for the age of events. */
  wallClock(): number;
  /** Pause in ms before a failed writing is tried again. */
  retryMs: number;
  now(): number;
};

const writeAt: WriteOctets = (descriptor, octets, position) =>
  writeSync(descriptor, octets, 0, octets.length, position);

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
  readonly leftEvents: ReadonlyMap<string, readonly KeptEvent[]>;
  readonly #options: FileOptions;
  readonly #path: string;
  readonly #entries = new SlotMap<string, string>();
  readonly #events = new Map<string, LastEvents>();
  /** Characters of all entries. */
  #current = 0;
  #descriptor: number | undefined;
  #size = 0;
  /** A failed writing, and when it is tried again. */
  #failure: (NonNullable<StateStore['failure']> & { retryAt: number }) | undefined;
  #follower: Parameters<StateStore['follow']>[0] | undefined;

  constructor(options: FileOptions) {
    this.#options = options;
    this.#path = join(options.directory, fileName);
    this.#load();
    this.#expire();
    this.left = new Map(this.#entries);
    this.leftEvents = new Map([...this.#events].map(([name, events]) => [name, events.all()]));
    try {
      this.#rewrite();
    } catch (error) {
      throw new StorageError(this.#path, error);
    }
  }

  get size(): number {
    return this.#size;
  }

  get failure(): StateStore['failure'] {
    return this.#failure;
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  all(): { entries: StateChange[]; events: ApplicationEvent[] } {
    const events = [...this.#events].flatMap(([name, kept]) => kept.all().map((each) => [name, ...each] as const));
    return { entries: [...this.#entries], events };
  }

  follow(listener: Parameters<StateStore['follow']>[0]): void {
    this.#follower = listener;
  }

  commit(all: readonly StateChange[], events: readonly ApplicationEvent[] = none): void {
    const changes = all.filter(([key, json]) => this.#take(key, json));
    this.#follower?.(changes, events);
    for (const [application, seq, json] of events) this.#keep(application, seq, json);
    const lines = !this.#failure && this.#options.mostEvents > 0 ? events : none;
    try {
      if (this.#failure) this.#tryAgain();
      else if (this.#size > Math.max(this.#options.compactAbove, 2 * this.#current)) this.#rewrite();
      else if (changes.length > 0 || lines.length > 0) this.#append(changes, lines);
    } catch (error) {
      this.#failed(error);
    }
  }

  eventsAfter(application: string, number: number, made: number): { events: string[]; lost: number | undefined } {
    if (number > made) return { events: [], lost: undefined };
    this.#expire();
    const missed = (this.#events.get(application)?.all() ?? []).filter(([seq]) => seq > number && seq <= made);
    return { events: missed.map(([, json]) => json), lost: made - number - missed.length };
  }

  forgetEvents(application: string): void {
    const events = this.#events.get(application);
    if (!events) return;
    this.#current -= events.characters;
    this.#events.delete(application);
    this.commit([[forgottenKey(application), '']]);
    this.commit([[forgottenKey(application), undefined]]);
  }

  check(): void {
    this.#expire();
    if (this.#descriptor === undefined || this.#failure || !this.#isGone()) return;
    this.#options.log.warn({ file: this.#path }, 'the state file was removed; writing a new one');
    this.#rewriteOrFail();
  }

  compact(): void {
    if (!this.#failure && this.#size > 2 * this.#current) this.#rewriteOrFail();
  }

  #rewriteOrFail(): void {
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

  #keep(application: string, seq: number, json: string): void {
    if (this.#options.mostEvents === 0) return;
    let events = this.#events.get(application);
    if (!events) this.#events.set(application, (events = new LastEvents()));
    const before = events.characters;
    events.add(seq, json);
    events.keep(this.#options.mostEvents, this.#options.mostEventCharacters);
    this.#current += events.characters - before;
  }

  /** Drops events that are too old. They stay in the file until it is rewritten. */
  #expire(): void {
    const since = this.#options.wallClock() - this.#options.keepEventsMs;
    for (const events of this.#events.values()) {
      const before = events.characters;
      events.dropBefore(since);
      this.#current += events.characters - before;
    }
  }

  /** One `write` of a whole record: part of one is cut off again. */
  #append(changes: readonly StateChange[], events: readonly ApplicationEvent[]): void {
    const record = recordOf(changes, events);
    this.#write(this.#descriptor!, record, this.#size);
    this.#size += record.length;
  }

  #write(descriptor: number, record: Buffer, position: number): void {
    const { write = writeAt, now, longestWriteMs } = this.#options;
    const begun = now();
    const written = write(descriptor, record, position);
    if (written !== record.length)
      throw refusedWrite('ENOSPC', `only ${written} of ${record.length} octets could be written`);
    const tookMs = Math.round(now() - begun);
    // At the start nothing waits yet.
    if (tookMs > longestWriteMs && this.#descriptor !== undefined)
      throw refusedWrite('ETIMEDOUT', `a write took ${tookMs} ms`);
  }

  /** Writes everything to a new file, which takes the place of the old one. */
  #rewrite(): void {
    const next = `${this.#path}.new`;
    const descriptor = openSync(next, 'w', 0o600);
    try {
      let at = 0;
      const append = (record: Buffer): void => {
        this.#write(descriptor, record, at);
        at += record.length;
      };
      append(recordOf([[headerKey, JSON.stringify({ format: stateFormat, version: this.#options.version })]]));
      for (const piece of piecesOf([...this.#entries])) append(recordOf(piece));
      for (const [name, events] of this.#events)
        for (const piece of piecesOf(events.all()))
          append(
            recordOf(
              [],
              piece.map((event) => [name, ...event]),
            ),
          );
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
    const { log, now, wallClock, retryMs } = this.#options;
    const { message: reason } = error as Error;
    if (!this.#failure)
      log.error({ file: this.#path, error }, 'cannot write the state store; a crash now would end all calls');
    this.#failure = { since: this.#failure?.since ?? wallClock(), reason, retryAt: now() + retryMs };
    // A crash must not find a state that is older than what peers know: better none.
    try {
      if (this.#descriptor !== undefined) ftruncateSync(this.#descriptor, 0);
    } catch {
      // It is logged above.
    }
  }

  #tryAgain(): void {
    if (this.#options.now() < this.#failure!.retryAt) return;
    this.#rewrite();
    this.#failure = undefined;
    this.#options.log.info({ file: this.#path }, 'the state store can be written again');
  }

  #load(): void {
    const { log, version } = this.#options;
    if (!existsSync(this.#path)) return;
    let bytes: Buffer;
    try {
      bytes = readFileSync(this.#path);
    } catch (error) {
      throw new StorageError(this.#path, error);
    }
    if (bytes.length === 0) return;
    const { records, read } = recordsIn(bytes);
    const [header = '', ...changes] = records;
    const found = versionIn(header);
    const reads = readFormats.map((each) => `${each}.${version}`);
    if (found === undefined || !reads.includes(found)) {
      const moved = setAside(this.#path);
      log.error(
        { file: this.#path, found, reads: reads.join(', '), moved },
        'cannot read the state of another version; calls of the previous server are lost',
      );
      return;
    }
    if (read < bytes.length)
      log.warn({ file: this.#path, octets: bytes.length - read }, 'dropped the damaged end of the state');
    const reader = {
      change: (key: string, json: string | undefined): void => {
        const application = json === undefined ? undefined : forgottenBy(key);
        if (application === undefined) this.#take(key, json);
        else this.#events.delete(application);
      },
      event: (...event: ApplicationEvent): void => this.#keep(...event),
    };
    for (const record of changes) readLines(record, reader);
  }
}

/** The last events of an application, oldest first. */
class LastEvents {
  #events: KeptEvent[] = [];
  /** Events in front that are dropped: the list is shortened when they are half of it. */
  #dropped = 0;
  characters = 0;

  add(seq: number, json: string): void {
    this.characters += json.length;
    this.#events.push([seq, json]);
  }

  /** Drops the oldest until no more are left than these. */
  keep(most: number, mostCharacters: number): void {
    while (this.#events.length - this.#dropped > most || this.characters > mostCharacters) this.#drop();
  }

  /** Drops those that were made before a time. */
  dropBefore(time: number): void {
    while (this.#dropped < this.#events.length && timeOf(this.#events[this.#dropped]![1]) < time) this.#drop();
  }

  all(): KeptEvent[] {
    return this.#events.slice(this.#dropped);
  }

  #drop(): void {
    this.characters -= this.#events[this.#dropped]![1].length;
    this.#events[this.#dropped] = gone;
    if (++this.#dropped * 2 <= this.#events.length || this.#dropped < fewEvents) return;
    this.#events = this.#events.slice(this.#dropped);
    this.#dropped = 0;
  }
}

const gone: KeptEvent = [0, ''];
const fewEvents = 64;

/** When an event was made: its own time is behind all times within it. */
function timeOf(json: string): number {
  const at = json.lastIndexOf(timeMark);
  const time =
    at < 0 ? Number.NaN : Date.parse(json.slice(at + timeMark.length, json.indexOf('"', at + timeMark.length)));
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}
const timeMark = '"timestamp":"';

const headerKey = 'header';

const none: readonly never[] = [];
/** Most entries in one record when all are written. */
const mostInPiece = 256;

function piecesOf<T>(all: readonly T[]): T[][] {
  const pieces: T[][] = [];
  for (let at = 0; at < all.length; at += mostInPiece) pieces.push(all.slice(at, at + mostInPiece));
  return pieces;
}

/** The format and version in the first record; undefined if it is none. */
function versionIn(header: string): string | undefined {
  if (!header.startsWith(`${headerKey}\t`)) return undefined;
  const found = JSON.parse(header.slice(headerKey.length + 1)) as { format?: unknown; version?: unknown };
  return `${String(found.format)}.${String(found.version)}`;
}

/** Records are put together here: one of usual length takes no memory of its own. */
const workspace = Buffer.allocUnsafeSlow(256 * 1024);
const octetsOfUnit = 3;

/** The record is good until the next one is made. */
function recordOf(changes: readonly StateChange[], events: readonly ApplicationEvent[] = none): Buffer {
  const text = linesOf(changes, events);
  const most = headOctets + text.length * octetsOfUnit;
  const place = most > workspace.length ? Buffer.allocUnsafeSlow(most) : workspace;
  const length = place.write(text, headOctets);
  const record = place.subarray(0, headOctets + length);
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

/** The disk took a part, or took too long: an error of the system such as Node's, which is logged without a stack. */
const refusedWrite = (code: 'ENOSPC' | 'ETIMEDOUT', message: string): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code, errno: -constants.errno[code], syscall: 'write' });
