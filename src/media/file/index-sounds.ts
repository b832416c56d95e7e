import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { formatOfExtension } from './formats.ts';

/** The directories that cannot be read, as they were named. */
export async function unreadableDirectories(directories: readonly string[]): Promise<string[]> {
  const tried = directories.map((directory) =>
    readdir(resolve(directory)).then(
      () => [],
      () => [directory],
    ),
  );
  return (await Promise.all(tried)).flat();
}

/** A sound as the interface lists it. */
type IndexedSound = {
  id: string;
  /** Its text, if known. */
  text?: string;
  formats: { language: string; format: string }[];
};

const languageName = /^[a-z]{2,3}(?:[_-][A-Za-z0-9_-]+)?$/;
const maximumDepth = 8;
const maximumTextOctets = 4 * 1024 * 1024;

/**
 * Lists what can be played from the directories: `<directory>/<language>/<name>.<extension>`. Sorted by name; texts
 * come from `<language>/texts.yaml` (lines `name: text`; English first) or from the text lists of Asterisk's sound
 * packages (`core-sounds-en.txt`, the same form with `;` comments). Directories that cannot be read are left out.
 */
export async function indexSounds(directories: readonly string[]): Promise<IndexedSound[]> {
  const sounds = new Map<string, IndexedSound>();
  const english = new Map<string, string>();
  const others = new Map<string, string>();
  for (const directory of directories.map((each) => resolve(each))) {
    for (const entry of await entries(directory)) {
      if (!entry.isDirectory() || !languageName.test(entry.name)) continue;
      await walk(join(directory, entry.name), entry.name, sounds);
      await readTexts(join(directory, entry.name), entry.name.startsWith('en') ? english : others);
    }
  }
  for (const sound of sounds.values()) {
    const text = english.get(sound.id) ?? others.get(sound.id);
    if (text !== undefined) sound.text = text;
    sound.formats.sort((a, b) => compare(a.language, b.language) || compare(a.format, b.format));
  }
  return [...sounds.values()].sort((a, b) => compare(a.id, b.id));
}

/** Adds the sounds of a directory; `path` says how its parents below the language are called. */
async function walk(
  directory: string,
  language: string,
  sounds: Map<string, IndexedSound>,
  path: readonly string[] = [],
): Promise<void> {
  for (const entry of await entries(directory)) {
    if (entry.isDirectory() && path.length < maximumDepth)
      await walk(join(directory, entry.name), language, sounds, [...path, entry.name]);
    const dot = entry.name.lastIndexOf('.');
    const format = dot > 0 ? formatOfExtension.get(entry.name.slice(dot + 1)) : undefined;
    if (!format || entry.isDirectory()) continue;
    const id = [...path, entry.name.slice(0, dot)].join('/');
    const sound = sounds.get(id) ?? { id, formats: [] };
    sounds.set(id, sound);
    if (!sound.formats.some((each) => each.language === language && each.format === format.name))
      sound.formats.push({ language, format: format.name });
  }
}

/** Adds the texts of one language; the first text of a name stays, and `texts.yaml` comes before other lists. */
async function readTexts(directory: string, texts: Map<string, string>): Promise<void> {
  const names = (await entries(directory)).map((entry) => entry.name);
  const lists = names.filter((name) => /^[\w-]+\.txt$/.test(name) && name.indexOf('-sounds-') > 0).sort();
  for (const list of names.includes('texts.yaml') ? ['texts.yaml', ...lists] : lists) {
    const content = await readFile(join(directory, list), 'utf8').catch(() => '');
    if (content.length > maximumTextOctets) continue;
    for (const line of content.split('\n')) {
      const [name, text] = nameAndText(line) ?? [];
      if (name !== undefined && text !== undefined && !texts.has(name)) texts.set(name, text);
    }
  }
}

/** Name and unquoted text of a line `name: text`; undefined for comments and other lines. */
function nameAndText(line: string): [name: string, text: string] | undefined {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon)).trim();
  if (name === '' || name.startsWith('#') || name.startsWith(';') || !/^\s/.test(line.slice(colon + 1)))
    return undefined;
  const text = line.slice(colon + 1).trim();
  const isQuoted = text.length > 1 && /^["']/.test(text) && text.endsWith(text[0]!);
  return [name, isQuoted ? text.slice(1, -1) : text];
}

async function entries(directory: string): Promise<Dirent[]> {
  return readdir(directory, { withFileTypes: true }).catch(() => []);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
