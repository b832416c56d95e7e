import { closeSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Files } from './source.ts';

/** Bounds on one file, and on all together, in bytes; files that one pattern may fit. */
const limits = { file: 8_388_608, all: 67_108_864, matching: 200 };

/**
 * The files of a directory, and no others: links and `..` that lead out of it are refused, so that what is brought along
 * from elsewhere names no file of this machine.
 * @throws Error when there is no such directory.
 */
export function directoryFiles(directory: string): Files {
  const root = realpathSync(directory);
  if (!statSync(root).isDirectory()) throw Object.assign(new Error('it is no directory'), { code: 'ENOTDIR' });
  let left = limits.all;

  /** Where a file is; undefined when it is outside. */
  const inside = (name: string): string | undefined => {
    // The directory's own usual name stands for the directory, wherever it was brought to.
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
    if (!isBelow(real)) return { refused: 'leads out of the directory: not read' };
    const stat = statSync(real);
    if (!stat.isFile()) return { refused: 'is no file: not read' };
    if (stat.size > limits.file || stat.size > left) return { refused: 'is too large: not read' };
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

  return {
    read(name) {
      const path = inside(name);
      if (path === undefined) return { refused: 'leads out of the directory: not read' };
      try {
        return content(path);
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException;
        return code === 'ENOENT' || code === 'ENOTDIR' ? { missing: true } : { refused: `cannot be read (${code})` };
      }
    },
    matching(pattern) {
      const folder = inside(join(dirname(pattern), 'x'));
      if (folder === undefined) return [];
      const parts = basename(pattern).split('*');
      try {
        const names = readdirSync(dirname(folder)).filter((name) => fits(name, parts));
        return names
          .sort()
          .slice(0, limits.matching)
          .map((name) => join(dirname(pattern), name));
      } catch {
        return [];
      }
    },
  };
}

/** Whether a name consists of these parts with anything between them. */
function fits(name: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
