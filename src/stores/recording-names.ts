import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

/** Longest part of a name in bytes: the file system's limit, less suffixes. */
const longestPart = 200;
/** Most parts of a name. */
const mostParts = 8;

/** Characters that hide what a name is: controls, format characters, lone surrogates, unassigned ones. */
const hidden = /\p{C}/u;
/** Encoded separators or dots, which careless readers would decode. */
const encoded = /%(2e|2f|5c|00)/i;

/**
 * Whether a recording may have this name: a path within the directory of recordings, in plain Unicode (NFKC), without
 * empty parts or leading dots. Pure: no file access.
 */
export function isRecordingName(name: string): boolean {
  if (name === '' || hidden.test(name) || encoded.test(name) || name.includes('\\')) return false;
  if (name !== name.normalize('NFKC')) return false;
  const parts = name.split('/');
  return parts.length <= mostParts && parts.every(isPart);
}

const isPart = (part: string): boolean =>
  part !== '' && !part.startsWith('.') && part.trim() === part && Buffer.byteLength(part) <= longestPart;

/**
 * Whether a path leaves a directory by a link: it is a link, or is in a directory that really is elsewhere. Missing
 * files leave nothing.
 */
export function leavesByLink(directory: string, path: string): boolean {
  if (isLink(path)) return true;
  const root = reality(directory);
  const place = nearest(dirname(path));
  if (root === undefined || place === undefined) return false;
  const way = relative(root, place);
  return way === '..' || way.startsWith(`..${sep}`);
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

function reality(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** The real path of the nearest existing directory of a path. */
function nearest(path: string): string | undefined {
  const real = reality(path);
  if (real !== undefined) return real;
  const above = dirname(path);
  return above === path ? undefined : nearest(above);
}

/** The path of a recording's file. */
export const recordingPath = (directory: string, name: string, format: string): string =>
  join(directory, `${name}.${format}`);
