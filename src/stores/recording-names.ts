import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

/** Most bytes of a part of a name: what file systems take, less room for suffixes. */
const longestPart = 200;
/** Most parts of a name. */
const mostParts = 8;

/** Characters that hide what a name is: controls, format characters, lone surrogates, unassigned ones. */
const hidden = /\p{C}/u;
/** What a careless reader of names would take for a separator or a dot. */
const encoded = /%(2e|2f|5c|00)/i;

/**
 * Whether a recording may have this name: a path within the directory of recordings, in plain Unicode (NFKC), no part
 * of it empty or beginning with a dot. Pure: nothing is looked at.
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
 * Whether a path leads out of a directory by a link: itself a link, or within a directory that really is elsewhere.
 * What is not there yet leads nowhere.
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

/** Where the nearest directory of a path that exists really is. */
function nearest(path: string): string | undefined {
  const real = reality(path);
  if (real !== undefined) return real;
  const above = dirname(path);
  return above === path ? undefined : nearest(above);
}

/** The path of a recording's file. */
export const recordingPath = (directory: string, name: string, format: string): string =>
  join(directory, `${name}.${format}`);
