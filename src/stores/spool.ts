import { readdirSync, statSync } from 'node:fs';
import { appendFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prepareDirectory } from './durable-file.ts';

/** Lines that go together, in their order. */
export type Batch = { readonly number: number; readonly lines: readonly string[] };

/**
 * JSON lines that wait on disk for delivery, also across restarts. Bounded: lines beyond the limit are refused. A
 * failing disk loses what memory cannot hold, never a call: only opening throws.
 */
export interface Spool {
  /** Takes a line with its end. @returns false beyond the limit; then it was not taken. */
  put(line: string): boolean;
  /** The oldest lines; undefined when none wait. The same ones until they are dropped or set aside. */
  oldest(): Promise<Batch | undefined>;
  /** They have been delivered. */
  drop(batch: Batch): void;
  /** Moves a batch that can never be delivered to a file of its own, within the limit. @returns its name. */
  setAside(batch: Batch): string;
  /** Octets of waiting and moved lines. */
  readonly octets: number;
  /** Resolves once everything that waits is on the disk, as far as it takes it. */
  close(): Promise<void>;
}

export type SpoolOptions = {
  directory: string;
  /** Bound on everything that waits and was set aside, in octets. */
  maximumOctets: number;
  /** Lines of a batch, at most. */
  batch: number;
  /** Called for a failing disk, and for `lost` batches that are no longer readable. */
  onFailed(error: unknown, lost: boolean): void;
};

/** Octets that may wait for a slow disk, or stay in memory after a disk error; beyond it nothing is taken. */
const mostUnwritten = 4 * 1_048_576;

/** One file: a batch. */
type Segment = {
  readonly number: number;
  octets: number;
  /** Its lines as long as they are in memory: until it is full and on the disk. */
  lines: string[] | undefined;
  /** Lines not on disk yet. */
  pending: string;
  unwritten: number;
  isFull: boolean;
  failed: boolean;
};

const nameOf = (number: number): string => `${String(number).padStart(10, '0')}.jsonl`;
const waiting = /^(\d{10})\.jsonl$/;
const aside = /^\d{10}\.refused$/;

/** Writes the lines of segments to the disk, one operation after another, and bounds what is not written yet. */
function createSegmentWriter({ directory, onFailed }: SpoolOptions, segments: readonly Segment[]) {
  /** Octets in memory alone, of all segments. */
  let unwritten = 0;
  let disk = Promise.resolve();

  const onDisk = (task: () => Promise<unknown>): void => {
    disk = disk.then(task).then(
      () => {},
      (error: unknown) => onFailed(error, false),
    );
  };
  const pathOf = ({ number }: { number: number }): string => join(directory, nameOf(number));

  /** A full batch that is on the disk need not be in memory, unless it is delivered next. */
  const forgetLines = (segment: Segment): void => {
    if (segment.isFull && segment.unwritten === 0 && segment !== segments[0]) segment.lines = undefined;
  };

  /** Writes what came since the last time. */
  const write = async (segment: Segment): Promise<void> => {
    const { pending, unwritten: size } = segment;
    segment.pending = '';
    if (pending === '' || segment.failed) return;
    try {
      await appendFile(pathOf(segment), pending, { mode: 0o600 });
    } catch (error) {
      // It stays in memory, and counts there.
      segment.failed = true;
      throw error;
    }
    if (segment.unwritten === 0) return;
    segment.unwritten -= size;
    unwritten -= size;
    forgetLines(segment);
  };

  return {
    onDisk,
    pathOf,
    hasRoomFor: (size: number): boolean => unwritten + size <= mostUnwritten,
    add(segment: Segment, line: string, size: number): void {
      segment.unwritten += size;
      unwritten += size;
      if (segment.pending === '') onDisk(() => write(segment));
      segment.pending += line;
    },
    forget(segment: Segment): void {
      unwritten -= segment.unwritten;
      segment.unwritten = 0;
      segment.pending = '';
    },
    async close(): Promise<void> {
      await disk;
      for (const segment of segments)
        if (segment.failed && segment.lines) onDisk(() => writeWhole(pathOf(segment), segment.lines ?? []));
      await disk;
    },
  };
}

/** Opens the spool, with lines of an earlier process. @throws StorageError when the directory cannot be used. */
export function openSpool(options: SpoolOptions): Spool {
  const { directory, maximumOctets, batch: mostLines, onFailed } = options;
  prepareDirectory(directory, 0o700);
  const sizeOf = (name: string): number => statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;
  const names = readdirSync(directory).toSorted();
  const segments: Segment[] = names.flatMap((name) => {
    const [, number] = waiting.exec(name) ?? [];
    if (number === undefined) return [];
    const known = { lines: undefined, pending: '', unwritten: 0, isFull: true, failed: false };
    return [{ number: Number(number), octets: sizeOf(name), ...known }];
  });
  let octets = segments.reduce((sum, segment) => sum + segment.octets, 0);
  for (const name of names) if (aside.test(name)) octets += sizeOf(name);
  let next = (segments.at(-1)?.number ?? 0) + 1;
  const writer = createSegmentWriter(options, segments);
  const { onDisk, pathOf } = writer;

  const current = (): Segment => {
    const last = segments.at(-1);
    if (last && !last.isFull) return last;
    const segment = { number: next++, octets: 0, lines: [], pending: '', unwritten: 0, isFull: false, failed: false };
    segments.push(segment);
    return segment;
  };

  const remove = (number: number): Segment | undefined => {
    const at = segments.findIndex((segment) => segment.number === number);
    const [segment] = at < 0 ? [] : segments.splice(at, 1);
    if (segment) writer.forget(segment);
    return segment;
  };

  return {
    put(line) {
      const size = Buffer.byteLength(line);
      if (octets + size > maximumOctets || !writer.hasRoomFor(size)) return false;
      const segment = current();
      segment.lines?.push(line);
      segment.octets += size;
      octets += size;
      segment.isFull = (segment.lines?.length ?? 0) >= mostLines;
      writer.add(segment, line, size);
      return true;
    },

    async oldest() {
      for (let segment = segments[0]; segment; segment = segments[0]) {
        segment.isFull = true;
        segment.lines ??= await linesOf(pathOf(segment)).catch((error: unknown) => {
          onFailed(error, true);
          return [];
        });
        if (segment.lines.length > 0) return { number: segment.number, lines: segment.lines };
        const empty = remove(segment.number);
        octets -= empty?.octets ?? 0;
        onDisk(() => rm(pathOf(segment), { force: true }));
      }
      return undefined;
    },

    drop(batch) {
      octets -= remove(batch.number)?.octets ?? 0;
      onDisk(() => rm(pathOf(batch), { force: true }));
    },

    setAside(batch) {
      remove(batch.number);
      const name = `${String(batch.number).padStart(10, '0')}.refused`;
      onDisk(async () => {
        await writeFile(join(directory, name), batch.lines.join(''), { mode: 0o600 });
        await rm(pathOf(batch), { force: true });
      });
      return name;
    },

    get octets() {
      return octets;
    },

    close: writer.close,
  };
}

async function writeWhole(path: string, lines: readonly string[]): Promise<void> {
  await writeFile(`${path}.new`, lines.join(''), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The whole lines of a file; one that was torn when the process ended is left out. */
async function linesOf(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter(isWhole)
    .map((line) => `${line}\n`);
}

function isWhole(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
