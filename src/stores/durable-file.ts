import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open, rename, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Atomic file replacement: after a crash a file has its old or new content. The new content is written beside the file,
 * synced and renamed over it; then the directory is synced (POSIX rename, fsync).
 */

/** The data directory cannot be used: the message is one line that says which path, and why. */
export class StorageError extends Error {
  override readonly name = 'StorageError';

  constructor(path: string, cause: unknown) {
    super(`${path} ${reasonOf(cause)}`, { cause });
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'may not be used by this user',
  EPERM: 'may not be used by this user',
  EROFS: 'is on a file system that is read-only',
  ENOSPC: 'is on a disk that is full',
  EDQUOT: 'is on a disk whose quota is used up',
  ENOTDIR: 'has a file on its way where a directory should be',
  EEXIST: 'is a file where a directory should be',
  EISDIR: 'is a directory where a file should be',
  ENOENT: 'cannot be made: its file system takes no new entries',
  ENOTREGULAR: 'is a device or pipe where a file should be',
  EIO: 'is on a disk that fails',
  ELOOP: 'is a symbolic link that leads nowhere',
};

function reasonOf(cause: unknown): string {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  return reasons[code] ?? `cannot be used: ${message}`;
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/**
 * Makes the directory where it is missing, and tries that files can be made in it.
 * @param mode of the directory when it is made. @throws StorageError
 */
export function prepareDirectory(directory: string, mode?: number): void {
  try {
    makeDirectory(directory, mode);
    const probe = join(directory, '.probe');
    writeFileSync(probe, '');
    rmSync(probe, { force: true });
  } catch (error) {
    throw new StorageError(directory, error);
  }
}

/**
 * Why no files could be made in a directory, or in the nearest one above it that is there; undefined when they could.
 * Makes nothing: a directory that is missing is made when it is needed.
 */
export function reasonUnusable(directory: string): string | undefined {
  if (!existsSync(directory) && dirname(directory) !== directory) return reasonUnusable(dirname(directory));
  try {
    if (!statSync(directory).isDirectory()) return new StorageError(directory, { code: 'ENOTDIR' }).message;
    accessSync(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return new StorageError(directory, error).message;
  }
}

/**
 * Makes a directory and its parents. Node's own function loops on file systems without space for entries (`/proc`).
 * @throws Error (Node's)
 */
function makeDirectory(directory: string, mode?: number): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(directory).isDirectory()) return;
    const parent = dirname(directory);
    if (code !== 'ENOENT' || parent === directory || existsSync(parent)) throw error;
    makeDirectory(parent);
    mkdirSync(directory, { mode });
  }
}

/**
 * The text of a file; undefined when there is none.
 * @throws StorageError when it is there but cannot be read, or is a device or pipe that might never end.
 */
export function readIfThere(path: string): string | undefined {
  try {
    const status = statSync(path);
    if (!status.isFile() && !status.isDirectory())
      throw Object.assign(new Error('not a file'), { code: 'ENOTREGULAR' });
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new StorageError(path, error);
  }
}

/** Writes a whole file; the directory exists. @throws Error (Node's) when it could not; then the old one stands. */
export function writeDurablySync(path: string, text: string, mode?: number): void {
  const descriptor = openSync(`${path}.new`, 'w', mode);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(`${path}.new`, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * Writes a whole file without holding up the event loop; the directory is made when it is missing.
 * @throws Error (rejects; Node's) when it is not certain that the new one is there for good. `replaced` is called as
 *   soon as readers may find it: an error after that leaves the new one in place.
 */
export async function writeDurably(path: string, text: string, replaced: () => void, mode?: number): Promise<void> {
  makeDirectory(dirname(path));
  await synced(await open(`${path}.new`, 'w', mode), (handle) => handle.writeFile(text));
  await rename(`${path}.new`, path);
  replaced();
  await synced(await open(dirname(path), 'r'), () => Promise.resolve());
}

async function synced(handle: FileHandle, write: (handle: FileHandle) => Promise<void>): Promise<void> {
  try {
    await write(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Copies a file to a new name beside it (`x.bad`, `x.bad.1` …). @returns its name. @throws StorageError */
export function setAside(path: string): string {
  let aside = `${path}.bad`;
  for (let number = 1; existsSync(aside); number++) aside = `${path}.bad.${number}`;
  try {
    // A hard link needs no disk space.
    linkSync(path, aside);
  } catch {
    try {
      copyFileSync(path, aside);
    } catch (error) {
      throw new StorageError(aside, error);
    }
  }
  return basename(aside);
}

/** Free and whole octets of the disk that a directory is on; undefined where the system does not say. */
export async function spaceOf(directory: string): Promise<{ free: number; size: number } | undefined> {
  const found = await statfs(directory).catch(() => undefined);
  return found && { free: found.bavail * found.bsize, size: found.blocks * found.bsize };
}
