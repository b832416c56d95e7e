import { existsSync, mkdirSync } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '../lib/log.ts';
import { openWithin } from '../lib/open-within.ts';
import { AriError } from '../models/errors.ts';
import { recordingFormats } from '../models/live-recording.ts';
import type { StoredRecording } from '../models/stored-recording.ts';
import { isRecordingName, leavesByLink, recordingPath } from './recording-names.ts';

/** The bytes of a recording, ready to be sent. */
type RecordingFile = {
  /** Media type, e.g. `audio/wav`. */
  type: string;
  /** Bytes. */
  size: number;
  /** Tells whether it is still the same file (RFC 9110 8.8.3), its quotes included. */
  etag: string;
  /** Its bytes from `start` to `end`, both included. The file is closed when the stream ends or is cancelled. */
  read(start: number, end: number): ReadableStream<Uint8Array>;
};

export interface StoredRecordings {
  /** All recordings, by name; a name with files of several formats once. */
  list(): Promise<StoredRecording[]>;
  /** @throws AriError recordingNotFound, also for a name that leads elsewhere. */
  get(name: string): Promise<StoredRecording>;
  /** @throws AriError recordingNotFound, recordingUnreadable. */
  file(name: string): Promise<RecordingFile>;
  /**
   * Copies a recording; a suffix in the new name is dropped, the copy keeps the format of the original.
   * @throws AriError recordingDestinationRequired, recordingDestinationForbidden, recordingNotFound,
   *   recordingDestinationExists, recordingCopyFailed.
   */
  copy(name: string, request: { destinationRecordingName?: string | undefined }): Promise<StoredRecording>;
  /** @throws AriError recordingNotFound, recordingDeleteFailed. */
  delete(name: string): Promise<void>;

  /** Whether there is a file of the name, in any format. */
  has(name: string): boolean;
  /**
   * Path of a new recording; missing directories are made.
   * @throws AriError recordingNameInvalid.
   */
  placeFor(name: string, format: string): string;
  /** Deletes a file that {@link placeFor} gave, when it is there. Never rejects. */
  discard(path: string): Promise<void>;
}

const known: ReadonlySet<string> = new Set(recordingFormats);
/** A name with files of several formats shows the first of these. */
const rank = (format: string): number => (recordingFormats as readonly string[]).indexOf(format);
/** Deepest directory that is looked into. */
const deepest = 8;

const formatOf = (file: string): string | undefined => {
  const dot = file.lastIndexOf('.');
  const format = dot < 1 ? '' : file.slice(dot + 1);
  return known.has(format) ? format : undefined;
};

/** Files of a directory and below, as paths within it; links are not followed. */
async function filesBelow(directory: string, under = '', depth = deepest): Promise<string[]> {
  const entries = await readdir(join(directory, under), { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries) {
    const path = join(under, entry.name);
    if (entry.isFile()) found.push(path);
    else if (entry.isDirectory() && depth > 0) found.push(...(await filesBelow(directory, path, depth - 1)));
  }
  return found;
}

/** The recordings of a directory, by name. */
async function listOf(directory: string): Promise<StoredRecording[]> {
  const recordings = new Map<string, StoredRecording>();
  for (const path of await filesBelow(directory)) {
    const format = formatOf(path);
    if (format === undefined) continue;
    const name = path.slice(0, -format.length - 1).replaceAll(sep, '/');
    const other = recordings.get(name);
    if (isRecordingName(name) && (!other || rank(format) < rank(other.format))) recordings.set(name, { name, format });
  }
  return [...recordings.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Recordings kept in a directory: their names are paths in it, their suffixes say the format. */
export function createStoredRecordings({ directory, log }: { directory: string; log: Logger }): StoredRecordings {
  /** The file of a recording; the first by format when there are several. */
  const find = async (name: string): Promise<{ recording: StoredRecording; path: string }> => {
    if (isRecordingName(name))
      for (const format of recordingFormats) {
        const path = recordingPath(directory, name, format);
        const stats = await lstat(path).catch(() => undefined);
        if (stats?.isFile() && !leavesByLink(directory, path)) return { recording: { name, format }, path };
      }
    throw new AriError('recordingNotFound');
  };

  async function* octetsOf(path: string, start?: number, end?: number): AsyncGenerator<Uint8Array> {
    const handle = await openWithin(directory, path);
    yield* handle.createReadStream({ start, end });
  }

  const has = (name: string): boolean =>
    isRecordingName(name) && recordingFormats.some((format) => existsSync(recordingPath(directory, name, format)));

  const destination = (requested: string | undefined, format: string): { name: string; path: string } => {
    if (!requested) throw new AriError('recordingDestinationRequired');
    const suffix = formatOf(requested);
    const name = suffix === undefined ? requested : requested.slice(0, -suffix.length - 1);
    const path = recordingPath(directory, name, format);
    if (!isRecordingName(name) || leavesByLink(directory, path)) throw new AriError('recordingDestinationForbidden');
    if (has(name)) throw new AriError('recordingDestinationExists');
    return { name, path };
  };

  return {
    list: () => listOf(directory),
    get: async (name) => (await find(name)).recording,

    async file(name) {
      const { recording, path } = await find(name);
      const opened = await openWithin(directory, path).catch((error: unknown) => {
        throw new AriError('recordingUnreadable', {}, { cause: error });
      });
      const { size, mtimeMs } = await opened.stat().finally(() => opened.close());
      return {
        type: `audio/${recording.format}`,
        size,
        etag: `"${size.toString(16)}-${Math.trunc(mtimeMs).toString(16)}"`,
        read: (start, end) => Readable.toWeb(Readable.from(octetsOf(path, start, end))) as ReadableStream<Uint8Array>,
      };
    },

    async copy(name, { destinationRecordingName }) {
      const { recording, path } = await find(name);
      const to = destination(destinationRecordingName, recording.format);
      // Complete before it is seen under its name.
      const unfinished = join(dirname(to.path), `.${to.name.slice(to.name.lastIndexOf('/') + 1)}.copy`);
      try {
        await mkdir(dirname(to.path), { recursive: true });
        await pipeline(octetsOf(path), (await open(unfinished, 'wx')).createWriteStream());
        await rename(unfinished, to.path);
      } catch (error) {
        log.error({ recording: name, to: to.name, error }, 'cannot copy a recording');
        await rm(unfinished, { force: true }).catch(() => undefined);
        throw new AriError('recordingCopyFailed', {}, { cause: error });
      }
      return { name: to.name, format: recording.format };
    },

    async delete(name) {
      const { path } = await find(name);
      await rm(path).catch((error: unknown) => {
        log.error({ recording: name, error }, 'cannot delete a recording');
        throw new AriError('recordingDeleteFailed', {}, { cause: error });
      });
    },

    has,

    placeFor(name, format) {
      const path = recordingPath(directory, name, format);
      if (!isRecordingName(name) || leavesByLink(directory, path)) throw new AriError('recordingNameInvalid');
      try {
        mkdirSync(dirname(path), { recursive: true });
      } catch (error) {
        // The recorder announces each recording that it begins.
        log.error({ recording: name, error }, 'cannot create the directory of a recording');
      }
      return path;
    },

    async discard(path) {
      if (relative(directory, path).startsWith('..')) return;
      await rm(path, { force: true }).catch((error: unknown) =>
        log.error({ path, error }, 'cannot delete a discarded recording'),
      );
    },
  };
}
