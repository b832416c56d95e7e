import { closeSync, lstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Files } from './source.ts';

/** Bounds on one file, and on all together, in bytes; files that one pattern may fit, one more than are read. */
const limits = { file: 8_388_608, all: 67_108_864, matching: 201 };

const outside = 'is outside the directory and was not read';

/**
 * The files of a directory. Links and `..` that leave it are refused, so that an imported configuration cannot name
 * other files of this machine.
 * @throws Error when there is no such directory.
 */
export function directoryFiles(directory: string): Files {
  const root = realpathSync(directory);
  if (!statSync(root).isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
  let left = limits.all;

  /** The path of a file; undefined outside the directory. */
  const inside = (name: string): string | undefined => {
    // The usual path of the directory stands for the directory itself.
    const local = isAbsolute(name) ? name.replace(/^\/etc\/asterisk\//, '') : name;
    const path = resolve(root, local);
    return isBelow(path) ? path : undefined;
  };
  const isBelow = (path: string): boolean => {
    const way = relative(root, path);
    return way !== '' && way !== '..' && !way.startsWith('../') && !isAbsolute(way);
  };

  const content = (path: string): ReturnType<Files['read']> => {
    const real = realpathSync(path);
    if (!isBelow(real))
      return {
        refused: 'is a symbolic link out of the directory and was not read; copy the files with `cp -RL` first',
      };
    const stat = statSync(real);
    if (!stat.isFile()) return { refused: 'is not a file and was not read' };
    if (stat.size > limits.file || stat.size > left) return { refused: 'is too large and was not read' };
    left -= stat.size;
    const bytes = Buffer.alloc(stat.size);
    const descriptor = openSync(real, 'r');
    try {
      const length = readSync(descriptor, bytes, 0, stat.size, 0);
      return {
        text: bytes
          .toString('utf8', 0, length)
          .replace(/^\ufeff/, '')
          .replaceAll('\r', ''),
      };
    } finally {
      closeSync(descriptor);
    }
  };

  /** The result for a missing file. */
  const absence = (path: string): ReturnType<Files['read']> => {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      return { refused: 'is a symbolic link to a missing file' };
    const name = basename(path);
    const other = namesIn(dirname(path)).find((each) => each.toLowerCase() === name.toLowerCase());
    return other === undefined ? { missing: true } : { refused: `is missing, but ${other} exists; rename that file` };
  };

  return {
    read(name) {
      const path = inside(name);
      if (path === undefined) return { refused: outside };
      try {
        return content(path);
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException;
        return code === 'ENOENT' || code === 'ENOTDIR' ? absence(path) : { refused: `cannot be read (${code})` };
      }
    },
    matching(pattern) {
      const folder = inside(join(dirname(pattern), 'x'));
      if (folder === undefined) return { refused: outside };
      return namesIn(dirname(folder))
        .filter((name) => fits(name, basename(pattern)))
        .sort()
        .slice(0, limits.matching)
        .map((name) => join(dirname(pattern), name));
    },
  };
}

/** Names in a directory; none when it cannot be read. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Whether a name fits a pattern: `*` stands for any letters, `?` for one. Takes time linear in their product. */
function fits(name: string, pattern: string): boolean {
  let [at, next] = [0, 0];
  let [star, resumed] = [-1, 0];
  while (at < name.length)
    if (pattern[next] === '*') {
      star = next++;
      resumed = at;
    } else if (pattern[next] === '?' || pattern[next] === name[at]) {
      at++;
      next++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++resumed;
    } else return false;
  while (pattern[next] === '*') next++;
  return next === pattern.length;
}
