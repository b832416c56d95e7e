import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Call, CallDetail } from '../models/call.ts';
import { AriError } from '../models/errors.ts';

/** Settings; names and units as in the configuration's `recorder.disk`. */
export type CallFileSettings = {
  /** How long calls are kept, in days. */
  days: number;
  /** Size of all files, in MB; the oldest calls go. */
  size: number;
  /** Calls that one search looks at. */
  searched: number;
  /** Searches at the same time. */
  searches: number;
};

/** Where a call is: the name of its part, and the octets of its line and of its timeline. */
type Place = { part: string; line: number; lineOctets: number; at: number; octets: number };

/** A call, and where it is. */
type StoredCall = { call: CallDetail; place: Place };

/** What a search found, newest first. */
type FoundCalls = {
  calls: Call[];
  /** Calls that fit, among those that were looked at. */
  total: number;
  /** Calls that ended before this were not looked at, in ms since the epoch; left out where all were. */
  unsearchedBefore?: number;
};

/** Which calls a search is for. */
type CallSearch = {
  fits(call: Call): boolean;
  /** Fitting calls to leave out, and to return at most. */
  offset: number;
  limit: number;
  /** Only calls that began at this time or earlier, in ms since the epoch. Others do not count as looked at. */
  begunBy?: number | undefined;
  /** Only calls that ended in this time, in ms since the epoch. */
  from?: number | undefined;
  to?: number | undefined;
};

/**
 * Ended calls on the disk, in the order of their ends. They are in parts: `<ms>.calls` holds a line of JSON for each call,
 * `<ms>.timelines` their compressed timelines. `<ms>` is the time at which the part begins. A part holds a day at most. The
 * oldest parts are deleted at the start, with a call and with a search: when they are too old, or when all are too large.
 */
export interface CallFiles {
  /**
   * Writes a call behind the others; an earlier version of it is erased. Resolves to its place; undefined if the disk failed,
   * which is logged once.
   */
  append(call: CallDetail, earlier?: Place): Promise<Place | undefined>;
  /** @throws AriError (rejects) tooManySearches. */
  search(search: CallSearch): Promise<FoundCalls>;
  /** A call by its id or that of a channel; undefined where there is none. @throws AriError (rejects) tooManySearches. */
  find(id: string): Promise<StoredCall | undefined>;
  /** Calls that could not be written. */
  readonly lost: number;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

type CallFilesOptions = {
  /** Where the files are; made with the first call. */
  directory: string;
  clock: Clock;
  log: Logger;
  /** Read at every use: they may change. */
  settings(): CallFileSettings;
};

const zip = promisify(gzip);
const unzip = promisify(gunzip);

const dayMs = 86_400_000;
/** A part takes at most this share of all. */
const shareOfPart = 0.1;
/** Lines read in one go before others have a turn. */
const linesAtOnce = 200;
/** A compressed timeline is refused beyond this size when it is read, in octets. */
const mostOctets = 256 * 1_048_576;

const nameOf = (at: number): string => String(Math.floor(at)).padStart(15, '0');
const lineOf = (call: Call, at: number, octets: number): string =>
  `${JSON.stringify({ at, octets, began: call.began, call })}\n`;
/** When the call of a line began, without reading all of it. Lines of earlier versions have it first in their call. */
const beganIn = (line: string): number => Number(/"began":(\d+)/.exec(line)?.[1] ?? 0);
/** The beginning of a part, in ms since the epoch. */
const beginOf = (part: string): number => Number(part);

/** Opens the files; those that are too old are deleted. */
export function openCallFiles(options: CallFilesOptions): CallFiles {
  const files = new Files(options);
  void files.prune();
  return files;
}

class Files implements CallFiles {
  readonly #options: CallFilesOptions;
  /** What is written now: one call at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #searches = 0;
  #failing = false;
  /** All parts with their sizes, oldest first, as of the last look at the directory; undefined: to be looked at. */
  #known: { part: string; size: number }[] | undefined;
  lost = 0;

  constructor(options: CallFilesOptions) {
    this.#options = options;
  }

  /** Deletes what is too old. With days 0, which ends the storing, what is there stays. */
  prune(): Promise<unknown> {
    const { settings, clock } = this.#options;
    const pruned = this.#last.then(async () => {
      this.#known = undefined;
      if (settings().days > 0) await this.#prune(clock.now());
    });
    this.#last = pruned.catch(this.#failed);
    return this.#last;
  }

  append(call: CallDetail, earlier?: Place): Promise<Place | undefined> {
    const done = this.#last
      .then(() => this.#append(call, earlier))
      .then(this.#worked, (error) => {
        this.lost++;
        return this.#failed(error);
      });
    this.#last = done;
    return done;
  }

  search(search: CallSearch): Promise<FoundCalls> {
    return this.#alone(async () => {
      await this.prune();
      const { fits, offset, limit, begunBy, from = 0, to = Number.POSITIVE_INFINITY } = search;
      const isWanted = (line: string) => begunBy === undefined || beganIn(line) <= begunBy;
      const found: FoundCalls = { calls: [], total: 0 };
      const seen = new Set<string>();
      let left = this.#options.settings().searched;
      for await (const { call } of this.#newestFirst(isWanted, from, to)) {
        const { id, ended = 0 } = call;
        if (left-- === 0) return { ...found, unsearchedBefore: ended };
        // The latest version of a call is met first.
        if (seen.has(id) || ended < from || ended > to) continue;
        seen.add(id);
        if (!fits(call)) continue;
        if (found.total++ >= offset && found.calls.length < limit) found.calls.push(call);
      }
      return found;
    });
  }

  find(id: string): Promise<StoredCall | undefined> {
    return this.#alone(async () => {
      const quoted = JSON.stringify(id);
      const isIt = (call: Call) => call.id === id || call.channels.some((channel) => channel.id === id);
      for await (const { call, place } of this.#newestFirst(
        (line) => line.includes(quoted),
        0,
        Number.POSITIVE_INFINITY,
      )) {
        if (!isIt(call)) continue;
        const timeline = await this.#timelineAt(place).catch((error: unknown) => {
          this.#options.log.warn({ error, call: call.id }, 'the timeline of a stored call cannot be read');
          return undefined;
        });
        return timeline && { call: { ...call, timeline }, place };
      }
      return undefined;
    });
  }

  async #timelineAt({ part, at, octets: count }: Place): Promise<CallDetail['timeline']> {
    const octets = Buffer.alloc(count);
    await withFile(this.#path(part, 'timelines'), 'r', (file) => file.read(octets, 0, count, at));
    return JSON.parse((await unzip(octets, { maxOutputLength: mostOctets })).toString());
  }

  async close(): Promise<void> {
    await this.#last;
  }

  /** One of few searches at a time: each reads whole files. */
  async #alone<T>(search: () => Promise<T>): Promise<T> {
    const { searches } = this.#options.settings();
    if (this.#searches >= searches) throw new AriError('tooManySearches', { searches: String(searches) });
    this.#searches++;
    try {
      return await search();
    } finally {
      this.#searches--;
    }
  }

  readonly #worked = (place: Place): Place => {
    this.#failing = false;
    return place;
  };

  readonly #failed = (error: unknown): undefined => {
    this.#known = undefined;
    if (!this.#failing) this.#options.log.warn({ error }, 'cannot write ended calls to disk');
    this.#failing = true;
  };

  #path(part: string, what: 'calls' | 'timelines'): string {
    return join(this.#options.directory, `${part}.${what}`);
  }

  async #append({ timeline, ...call }: CallDetail, earlier: Place | undefined): Promise<Place> {
    const { directory, clock } = this.#options;
    const octets = await zip(Buffer.from(JSON.stringify(timeline)));
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const part = await this.#partFor(clock.now());
    const at = await append(this.#path(part, 'timelines'), octets);
    const text = Buffer.from(lineOf(call, at, octets.length));
    const line = await append(this.#path(part, 'calls'), text, true);
    const place = { part, line, lineOctets: text.length, at, octets: octets.length };
    this.#grown(part, at + octets.length + line + text.length);
    if (earlier) await this.#erase(earlier);
    return place;
  }

  /** The part that takes a call now. */
  async #partFor(now: number): Promise<string> {
    const last = (await this.#prune(now)).at(-1);
    const isFull = (last?.size ?? 0) >= this.#most * shareOfPart;
    const begun = last === undefined ? Number.NEGATIVE_INFINITY : beginOf(last.part);
    // One of the future goes on, too: the clock was set back.
    if (last && !isFull && now - begun < dayMs) return last.part;
    return nameOf(Math.max(now, begun + 1));
  }

  /** Remembers how large a part is by now, so that not each call looks at the sizes of all. */
  #grown(part: string, size: number): void {
    const last = this.#known?.at(-1);
    if (last?.part === part) last.size = size;
    else this.#known?.push({ part, size });
  }

  get #most(): number {
    return this.#options.settings().size * 1_000_000;
  }

  /** Deletes the parts that are too old, and the oldest if all are too large. @returns what is left, oldest first */
  async #prune(now: number): Promise<{ part: string; size: number }[]> {
    const due = now - this.#options.settings().days * dayMs;
    const parts = this.#known ?? (await this.#sizes());
    let all = parts.reduce((sum, { size }) => sum + size, 0);
    // The newest stays within its share. A part ends where the next one begins, or a day after it began.
    const isOld = (index: number): boolean => {
      const end = parts[index + 1] ? beginOf(parts[index + 1]!.part) : beginOf(parts[index]!.part) + dayMs;
      return end <= due || (all > this.#most && index + 1 < parts.length);
    };
    let gone = 0;
    for (; gone < parts.length && isOld(gone); gone++) {
      await this.#remove(parts[gone]!.part);
      all -= parts[gone]!.size;
    }
    this.#known = parts.slice(gone);
    return this.#known;
  }

  async #sizes(): Promise<{ part: string; size: number }[]> {
    const names = await this.#parts();
    return Promise.all(names.map(async (part) => ({ part, size: await this.#sizeOfPart(part) })));
  }

  async #parts(): Promise<string[]> {
    const names = await readdir(this.#options.directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.flatMap((name) => /^(\d{15})\.calls$/.exec(name)?.[1] ?? []).sort();
  }

  async #sizeOfPart(part: string): Promise<number> {
    const sizes = await Promise.all([sizeOf(this.#path(part, 'calls')), sizeOf(this.#path(part, 'timelines'))]);
    return sizes[0] + sizes[1];
  }

  async #remove(part: string): Promise<void> {
    await rm(this.#path(part, 'timelines'), { force: true });
    await rm(this.#path(part, 'calls'), { force: true });
  }

  /** Overwrites a call: nothing of it stays, and lines behind it keep their places. */
  async #erase({ part, line, lineOctets, at, octets }: Place): Promise<void> {
    await overwrite(this.#path(part, 'timelines'), Buffer.alloc(octets), at);
    await overwrite(this.#path(part, 'calls'), Buffer.alloc(lineOctets - 1, 32), line);
  }

  /** Lines of calls that may have ended in a time. Others have their turn meanwhile. */
  async *#newestFirst(isWanted: (line: string) => boolean, from: number, to: number) {
    const parts = await this.#parts();
    for (const [index, part] of [...parts.entries()].reverse()) {
      const next = parts[index + 1];
      // A call is written some s after its end.
      if (next !== undefined && beginOf(next) < from) return;
      if (beginOf(part) - dayMs > to) continue;
      // It may just have been deleted.
      const octets = await readFile(this.#path(part, 'calls')).catch(() => Buffer.alloc(0));
      for (const [place, [line, end]] of linesOf(octets).reverse().entries()) {
        if (place % linesAtOnce === linesAtOnce - 1) await new Promise<void>((go) => this.#options.clock.soon(go));
        const text = octets.toString('utf8', line, end);
        const read = isWanted(text) ? readLine(text) : undefined;
        if (!read) continue;
        yield { call: read.call, place: { part, line, lineOctets: end - line + 1, at: read.at, octets: read.octets } };
      }
    }
  }
}

/** Where the whole lines of a file begin and end. */
function linesOf(octets: Buffer): [begin: number, end: number][] {
  const lines: [number, number][] = [];
  for (let at = 0, end = octets.indexOf(10); end >= 0; at = end + 1, end = octets.indexOf(10, at))
    lines.push([at, end]);
  return lines;
}

/** A line; undefined where it was erased, or is half a one. */
function readLine(text: string): { at: number; octets: number; call: Call } | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const read = JSON.parse(text) as { at: number; octets: number; call: Call };
    return Array.isArray(read.call?.channels) && read.octets <= mostOctets ? read : undefined;
  } catch {
    return undefined;
  }
}

const sizeOf = async (path: string): Promise<number> =>
  (
    await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return { size: 0 };
      throw error;
    })
  ).size;

async function withFile<T>(path: string, flags: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags, 0o600);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/**
 * Appends to a file. @param whole begins a new line behind half a one, which a process that was killed left.
 * @returns where the octets begin
 */
const append = (path: string, octets: Buffer, whole = false): Promise<number> =>
  withFile(path, 'a+', async (file) => {
    const { size } = await file.stat();
    const last = Buffer.alloc(1, '\n');
    if (whole && size > 0) await file.read(last, 0, 1, size - 1);
    const isTorn = last[0] !== 10;
    await file.appendFile(isTorn ? Buffer.concat([Buffer.from('\n'), octets]) : octets);
    return isTorn ? size + 1 : size;
  });

/** Overwrites octets of a file. One that is no longer there has nothing to overwrite. */
const overwrite = (path: string, octets: Buffer, at: number): Promise<void> =>
  withFile(path, 'r+', async (file) => void (await file.write(octets, 0, octets.length, at))).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    },
  );
