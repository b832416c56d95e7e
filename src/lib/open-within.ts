import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { sep } from 'node:path';

/** Neither a link at the end of the path nor a pipe that waits for its writer. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a regular file for reading if it really lies in `directory`. Links out of it are not followed. On Linux the
 * path of the open file is checked, so that a link cannot replace it meanwhile.
 * @throws (rejects with) Error with `code`: ELOOP for a link, EXDEV for a file elsewhere, EISDIR for no regular file.
 */
export async function openWithin(directory: string, path: string): Promise<FileHandle> {
  const handle = await open(path, flags);
  try {
    if (!(await handle.stat()).isFile()) throw refused('EISDIR', path);
    const place = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(path));
    const root = await realpath(directory);
    if (!place.startsWith(root.endsWith(sep) ? root : root + sep)) throw refused('EXDEV', path);
    return handle;
  } catch (error) {
    await handle.close().catch(() => undefined);
    throw error;
  }
}

const refused = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${path} is no file of its directory`), { code });
