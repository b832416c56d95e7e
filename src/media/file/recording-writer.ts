import { writeSync } from 'node:fs';
import {
  constants,
  copyFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OpenFiles } from './open-files.ts';
import { type RecordingContainer, recordingFormats } from './recording-formats.ts';

/** Why a recording cannot be made, or went wrong. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
  /**
   * `exists`: a file or a recording has that path; `format`: it cannot be recorded; `disk`: full, slow or not writable;
   * `complete`: the file to continue is already in its final place.
   */
  readonly code: 'exists' | 'format' | 'disk' | 'complete';

  constructor(code: RecordingError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Source and file of a recording. */
export type RecordingOptions = {
  /** The finished file, with its extension. Directories on the way are made. */
  path: string;
  /** One of {@link recordingFormats}. */
  format: string;
  channels: 1 | 2;
  ifExists: 'fail' | 'overwrite' | 'append';
  /** Another thread or process began it: its unfinished file is gone on with. `perhaps` = a new one if there is none. */
  goOn?: 'surely' | 'perhaps' | undefined;
  /** Hears after each batch how much lies in the file since it was opened, in ms. */
  written?: (ms: number) => void;
  /** Tells streams within one file apart, 32 bits; any number. */
  serial: number;
  /** Audio per write, in ms: at most this much is lost when the process is killed. */
  batchMs: number;
  /** Octets that may wait for a slow disk before the recording fails. */
  maximumBacklogOctets: number;
  /** Registry of the open file. */
  files?: OpenFiles | undefined;
};

/** How files are written. */
export type RecordingLimits = Readonly<Pick<RecordingOptions, 'batchMs' | 'maximumBacklogOctets'>>;

/** Defaults. */
export const defaultRecordingLimits: RecordingLimits = {
  batchMs: 1000,
  maximumBacklogOctets: 4 * 1024 * 1024,
};

/** File extension during recording; it is no audio format, so the file is never used as a finished recording. */
const unfinished = '.part';

/** An unfinished file is never a link to another one. */
const unfinishedFlags = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0);

/** Disk errors in words. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'no space is left on the disk'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EACCES', 'the directory may not be written to'],
  ['EPERM', 'the directory may not be written to'],
  ['EROFS', 'the file system is read-only'],
  ['ENAMETOOLONG', 'the name is too long'],
  ['ENOTDIR', 'a part of the path is no directory'],
  ['EISDIR', 'there is a directory of that name'],
]);

/**
 * Opens a recording. Until it is finished its file has the suffix `.part`. It is playable at any instant, also after
 * the process was killed.
 *
 * @param failed called at most once for a write error. By then the audio so far is finished and in place; with a slow
 * disk, once it has taken the data.
 * @throws (rejects with) RecordingError.
 */
export async function openRecording(
  options: RecordingOptions,
  failed: (error: RecordingError) => void,
): Promise<RecordingWriter> {
  const format = recordingFormats.get(options.format);
  if (!format) throw new RecordingError('format', `nothing is recorded as '${options.format}'`);
  if (options.channels === 2 && !format.twoChannels)
    throw new RecordingError('format', `two channels cannot be recorded as '${options.format}'`);
  const container = await format.open(options.channels, options.serial);
  try {
    return await begin(options, container, failed);
  } catch (error) {
    container.close();
    throw recordingError(error);
  }
}

async function begin(
  options: RecordingOptions,
  container: RecordingContainer,
  failed: (error: RecordingError) => void,
): Promise<RecordingWriter> {
  const { path, ifExists } = options;
  const temporary = path + unfinished;
  if (options.goOn) {
    const handle = await reopen(options, temporary);
    if (handle) return goOn(options, container, handle, failed);
  }
  await mkdir(dirname(path), { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    // A file where the directory should be.
    throw error.code === 'EEXIST' ? Object.assign(error, { code: 'ENOTDIR' }) : error;
  });
  const there = await stat(path).then(
    () => true,
    () => false,
  );
  if (there && ifExists === 'fail') throw new RecordingError('exists', `there is already a file ${path}`);
  const appended = there && ifExists === 'append';
  // The existing file stays until the recording is complete.
  if (appended) await copyFile(path, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const handle = await open(temporary, appended ? unfinishedFlags : 'wx');
  const writer = new RecordingWriter(options, container, handle, failed);
  try {
    await writer.begin(appended ? await readFile(temporary) : undefined);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(temporary, { force: true });
    throw error;
  }
  return writer;
}

/** The unfinished file of a recording; undefined when there is none and need not be. @throws RecordingError (rejects) complete. */
async function reopen(options: RecordingOptions, temporary: string): Promise<FileHandle | undefined> {
  try {
    return await open(temporary, unfinishedFlags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    if (options.goOn === 'perhaps') return undefined;
    await stat(options.path);
    throw new RecordingError('complete', 'the recording is complete', { cause: error });
  }
}

async function goOn(
  options: RecordingOptions,
  container: RecordingContainer,
  handle: FileHandle,
  failed: (error: RecordingError) => void,
): Promise<RecordingWriter> {
  const writer = new RecordingWriter(options, container, handle, failed);
  try {
    const file = await handle.readFile();
    // Killed before anything was written: it begins.
    await writer.begin(file.length > 0 ? file : undefined);
  } catch (error) {
    await handle.close().catch(() => undefined);
    throw error;
  }
  return writer;
}

/** A running recording. It takes samples synchronously and writes them in batches. */
export class RecordingWriter {
  /** Rate of the samples taken, in Hz. */
  readonly sampleRate: number;
  readonly #options: RecordingOptions;
  readonly #container: RecordingContainer;
  readonly #handle: FileHandle;
  readonly #failed: (error: RecordingError) => void;
  readonly #batchSamples: number;
  #pending: Uint8Array;
  #octets = 0;
  /** Samples since the last batch, and in all. */
  #sinceBatch = 0;
  #samples = 0;
  /** Length of the file as written, and when its recording began. */
  #length = 0;
  #begun = 0;
  /** Its length with the batch that is being written. */
  #ordered = 0;
  #writing: Promise<void> | undefined;
  #error: RecordingError | undefined;
  #kept: Promise<void> | undefined;
  #ended = false;
  readonly #push = (octets: Uint8Array): void => this.#append(octets);

  /** Use {@link openRecording}. */
  constructor(
    options: RecordingOptions,
    container: RecordingContainer,
    handle: FileHandle,
    failed: (error: RecordingError) => void,
  ) {
    this.#options = options;
    this.#container = container;
    this.#handle = handle;
    this.#failed = failed;
    options.files?.add(handle);
    this.sampleRate = container.sampleRate;
    this.#batchSamples = (container.sampleRate * options.batchMs) / 1000;
    this.#pending = new Uint8Array(Math.ceil(this.#batchSamples * 2 * options.channels) + 4096);
  }

  /** How much was recorded since it was opened, in ms. */
  get durationMs(): number {
    return (this.#samples * 1000) / this.sampleRate;
  }

  /** Writes the beginning, or goes on behind `file`. Once, by {@link openRecording}. */
  async begin(file: Uint8Array | undefined): Promise<void> {
    if (file) this.#length = this.#container.resume(file, this.#push);
    else this.#container.begin(this.#push);
    if (file && this.#length < file.length) await this.#handle.truncate(this.#length);
    await this.#writeBatch();
    // Audio recorded by another thread belongs to it.
    this.#begun = this.#options.goOn ? 0 : this.#length;
  }

  /** Takes the next samples; with two channels `right` lies beside `left`. Nothing is taken after the end or an error. */
  write(left: Int16Array, right?: Int16Array): void {
    if (this.#ended || this.#error) return;
    this.#container.write(left, right, this.#push);
    this.#samples += left.length;
    this.#sinceBatch += left.length;
    if (this.#octets > this.#options.maximumBacklogOctets)
      this.#failed(this.#fail(new RecordingError('disk', 'the disk is too slow')));
    else if (this.#sinceBatch >= this.#batchSamples) this.flush();
  }

  /** Sends what was taken on its way to the disk, without waiting: before a pause. */
  flush(): void {
    if (this.#writing || this.#ended || this.#error) return;
    this.#sinceBatch = 0;
    this.#writing = this.#writeBatch().then(
      () => {
        this.#writing = undefined;
        if (this.#sinceBatch >= this.#batchSamples) this.flush();
      },
      (error: unknown) => {
        this.#writing = undefined;
        if (this.#error) return;
        const failure = this.#fail(recordingError(error));
        return this.#kept?.then(() => this.#failed(failure));
      },
    );
  }

  /** Writes all that was taken, at once: this thread is about to be stopped, and another process goes on. Never throws. */
  flushNow(): void {
    if (this.#ended || this.#error) return;
    this.#container.flush(this.#push);
    const octets = this.#octets;
    this.#octets = 0;
    const from = this.#writing ? this.#ordered : this.#length;
    const header = this.#container.header(from + octets);
    try {
      writeSync(this.#handle.fd, this.#pending, 0, octets, from);
      if (header) writeSync(this.#handle.fd, header, 0, header.length, 0);
    } catch {
      // The process that goes on finds the disk as it is.
    }
  }

  /**
   * Ends the recording: all is on the disk, and the file in its place, when this resolves. Idempotent.
   * @throws (rejects with) RecordingError; what was recorded before is finished as far as the disk allows.
   */
  async finish(): Promise<void> {
    const first = await this.#stop();
    await this.#kept;
    if (this.#error) throw this.#error;
    if (!first) return;
    try {
      this.#container.end(this.#push);
      await this.#writeBatch();
      await this.#settle();
    } catch (error) {
      const failure = this.#error ?? this.#fail(recordingError(error));
      await this.#kept;
      throw failure;
    } finally {
      await this.#close();
    }
  }

  /** Puts the file in its place, with all that was written. */
  async #settle(): Promise<void> {
    await this.#handle.sync();
    await this.#handle.close();
    await rename(this.#temporary, this.#options.path);
    await syncDirectory(dirname(this.#options.path));
  }

  /** Finishes what was recorded before an error; where nothing was, an older file stays as it was. Never rejects. */
  async #keep(): Promise<void> {
    try {
      if (this.#options.files?.isOver) return;
      if (this.#length <= this.#begun) {
        await rm(this.#temporary, { force: true });
        return;
      }
      await this.#writeHeader();
      await this.#settle();
    } catch {
      // It stays under the temporary name until the next start: see finishLeftovers.
    } finally {
      await this.#close();
    }
  }

  /** Ends the recording and removes what was written; a file that was to be gone on with stays as it was. Idempotent. */
  async discard(): Promise<void> {
    // If the disk fails meanwhile, nothing is kept.
    this.#begun = Number.POSITIVE_INFINITY;
    if (!(await this.#stop())) return;
    await this.#close();
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }

  get #temporary(): string {
    return this.#options.path + unfinished;
  }

  /** Takes nothing more and waits for the disk. @returns false when it has ended before. */
  async #stop(): Promise<boolean> {
    const first = !this.#ended;
    this.#ended = true;
    await this.#writing;
    return first;
  }

  /** Takes nothing more, and keeps what was recorded once the disk has taken what it was given. */
  #fail(error: RecordingError): RecordingError {
    this.#error = error;
    this.#octets = 0;
    const written = this.#writing ?? Promise.resolve();
    this.#kept = written.then(() => this.#keep());
    return error;
  }

  /** Idempotent, and never rejects. */
  async #close(): Promise<void> {
    this.#container.close();
    this.#options.files?.remove(this.#handle);
    await this.#handle.close().catch(() => undefined);
  }

  #append(octets: Uint8Array): void {
    const needed = this.#octets + octets.length;
    if (needed > this.#pending.length) {
      const larger = new Uint8Array(Math.max(needed, this.#pending.length * 2));
      larger.set(this.#pending.subarray(0, this.#octets));
      this.#pending = larger;
    }
    this.#pending.set(octets, this.#octets);
    this.#octets = needed;
  }

  /** Writes what is pending, and then the header, which so never claims what is not there. */
  async #writeBatch(): Promise<void> {
    this.#container.flush(this.#push);
    if (this.#octets === 0) return;
    const batch = this.#pending.slice(0, this.#octets);
    const samples = this.#samples;
    this.#octets = 0;
    this.#options.files?.requireRoom();
    this.#ordered = this.#length + batch.length;
    for (let done = 0; done < batch.length; ) {
      const { bytesWritten } = await this.#handle.write(batch, done, batch.length - done, this.#length);
      done += bytesWritten;
      this.#length += bytesWritten;
    }
    await this.#writeHeader();
    this.#options.written?.((samples * 1000) / this.sampleRate);
  }

  /** Says at the beginning of the file how long it is, where its format does. */
  async #writeHeader(): Promise<void> {
    const header = this.#container.header(this.#length);
    if (header) await this.#handle.write(header, 0, header.length, 0);
  }
}

/** Makes sure that the new name is on the disk as well. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function recordingError(error: unknown): RecordingError {
  if (error instanceof RecordingError) return error;
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new RecordingError('exists', 'a recording of that name is under way', { cause: error });
  return new RecordingError('disk', reasons.get(code) ?? message, { cause: error });
}

/** Files looked through at most when leftovers are searched for. */
const mostEntries = 1_000_000;

/**
 * Finishes recordings that a crash left behind, in all directories below. Call it before recording starts. @param
 * except paths of recordings that will continue. @returns the paths of the finished files; files that cannot be renamed
 * stay.
 */
export async function finishLeftovers(directory: string, except: ReadonlySet<string> = new Set()): Promise<string[]> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const finished: string[] = [];
  for (const entry of names.slice(0, mostEntries)) {
    if (!entry.isFile() || !entry.name.endsWith(unfinished)) continue;
    const path = join(entry.parentPath, entry.name.slice(0, -unfinished.length));
    if (except.has(path)) continue;
    const format = recordingFormats.has(path.slice(path.lastIndexOf('.') + 1));
    const done =
      format &&
      (await rename(path + unfinished, path).then(
        () => true,
        () => false,
      ));
    if (done) finished.push(path);
  }
  return finished.sort();
}
