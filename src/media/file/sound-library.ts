import { type FileHandle, readFile, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { openWithin } from '../../lib/open-within.ts';
import type { StoredCodec } from '../codec/codecs.ts';
import { extensionsFor, formatOfExtension, payloadOf } from './formats.ts';
import { PayloadCache } from './payload-cache.ts';

type SoundLibraryOptions = {
  soundsDirectories: readonly string[];
  recordingsDirectory: string;
  defaultLanguage: string;
  cacheBytes: number;
};

/** Why something cannot be played, in words for the log. */
export class SoundError extends Error {
  override readonly name = 'SoundError';
}

/** A longer file would fill the memory; an hour of 16-bit audio fits. */
const maximumFileOctets = 64 * 1024 * 1024;

const maximumRemembered = 10_000;

type Found = {
  path: string;
  extension: string;
  version: string;
  size: number;
  /** Of a recording, which is read as it was opened. */
  handle?: FileHandle;
};

/** Finds, reads and keeps sound files and recordings as payload ready to be sent. */
export class SoundLibrary {
  readonly #soundsDirectories: readonly string[];
  readonly #recordingsDirectory: string;
  readonly #defaultLanguage: string;
  readonly #cache: PayloadCache;
  /** Extension of the files found in the place searched first. */
  readonly #extensionAt = new Map<string, string>();
  /** Reads in progress: parallel requests for a file share one. */
  readonly #reading = new Map<string, Promise<Uint8Array>>();

  constructor(options: SoundLibraryOptions) {
    this.#soundsDirectories = options.soundsDirectories.map((directory) => resolve(directory));
    this.#recordingsDirectory = resolve(options.recordingsDirectory);
    this.#defaultLanguage = options.defaultLanguage;
    this.#cache = new PayloadCache(options.cacheBytes);
  }

  /**
   * A sound's payload. Search order: the language, the language without its country, the default language, files
   * without a language. @throws SoundError if no readable file exists.
   */
  async sound(name: string, language: string, codec: StoredCodec): Promise<Uint8Array> {
    const places: string[] = [];
    for (const each of this.#languages(language))
      for (const directory of this.#soundsDirectories) places.push(inside(directory, join(each, safeName(name))));
    const found = await this.#find(places, codec);
    if (!found) throw new SoundError(`no sound file for '${name}' in language '${language || this.#defaultLanguage}'`);
    return this.#payload(found, codec);
  }

  /** A stored recording's payload; links are not followed. @throws SoundError when there is none that can be read. */
  async recording(name: string, codec: StoredCodec): Promise<Uint8Array> {
    const place = inside(this.#recordingsDirectory, safeName(name));
    const known = this.#extensionAt.get(`${codec} ${place}`);
    for (const extension of new Set([...(known === undefined ? [] : [known]), ...extensionsFor(codec)])) {
      const found = await recordingAt(this.#recordingsDirectory, place, extension);
      if (!found) continue;
      this.#remember(place, codec, extension);
      return this.#payload(found, codec).finally(() => found.handle.close());
    }
    throw new SoundError(`no recording '${name}'`);
  }

  #languages(language: string): string[] {
    const plain = /^[A-Za-z0-9_-]+$/.test(language) ? [language, language.split(/[_-]/, 1)[0]!] : [];
    return [...new Set([...plain, this.#defaultLanguage, ''])];
  }

  async #find(places: readonly string[], codec: StoredCodec): Promise<Found | undefined> {
    const extensions = extensionsFor(codec);
    const known = await this.#knownAt(places[0]!, codec);
    if (known) return known;
    for (const place of places) {
      const found = await Promise.all(extensions.map((extension) => fileAt(place, extension)));
      const best = found.find((each) => each !== undefined);
      if (!best) continue;
      if (place === places[0]) this.#remember(place, codec, best.extension);
      return best;
    }
    return undefined;
  }

  /**
   * Looks with one question instead of ten where the file was found before. Only the place searched first is
   * remembered: nothing that is added later could come before it.
   */
  async #knownAt(place: string, codec: StoredCodec): Promise<Found | undefined> {
    const extension = this.#extensionAt.get(`${codec} ${place}`);
    return extension === undefined ? undefined : fileAt(place, extension);
  }

  #remember(place: string, codec: StoredCodec, extension: string): void {
    if (this.#extensionAt.size >= maximumRemembered) this.#extensionAt.clear();
    this.#extensionAt.set(`${codec} ${place}`, extension);
  }

  async #payload(found: Found, codec: StoredCodec): Promise<Uint8Array> {
    const key = `${codec} ${found.path}`;
    const cached = this.#cache.get(key, found.version);
    if (cached) return cached;
    const readingKey = `${key} ${found.version}`;
    const underWay = this.#reading.get(readingKey) ?? this.#read(found, codec);
    this.#reading.set(readingKey, underWay);
    try {
      const payload = await underWay;
      this.#cache.set(key, found.version, payload);
      return payload;
    } finally {
      this.#reading.delete(readingKey);
    }
  }

  async #read(found: Found, codec: StoredCodec): Promise<Uint8Array> {
    if (found.size > maximumFileOctets) throw new SoundError(`${found.path} is too long to be played`);
    try {
      const file = await readFile(found.handle ?? found.path);
      // Asking for the file's state takes a turn of the event loop, in which packets get through.
      return await payloadOf(file, formatOfExtension.get(found.extension)!, codec, () => stat(found.path));
    } catch (error) {
      throw new SoundError(`${found.path}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
}

async function recordingAt(directory: string, place: string, extension: string) {
  const path = `${place}.${extension}`;
  const handle = await openWithin(directory, path).catch(() => undefined);
  return handle && { ...foundAs(path, extension, await handle.stat()), handle };
}

async function fileAt(place: string, extension: string): Promise<Found | undefined> {
  const path = `${place}.${extension}`;
  try {
    const status = await stat(path);
    if (!status.isFile()) return undefined;
    return foundAs(path, extension, status);
  } catch {
    return undefined;
  }
}

const foundAs = (path: string, extension: string, { mtimeMs, size }: { mtimeMs: number; size: number }): Found => ({
  ...{ path, extension, size },
  version: `${mtimeMs} ${size}`,
});

/** @throws SoundError for a name that is empty or tries to leave its directory. */
function safeName(name: string): string {
  if (name === '' || name.length > 512) throw new SoundError('a sound without a usable name');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a NUL in a path is exactly what is looked for
  if (/[\u0000\\]/.test(name) || name.startsWith('/') || name.split('/').includes('..'))
    throw new SoundError(`'${name}' is not the name of a sound`);
  return name;
}

/** The path of `name` in `directory`, checked once more after all is put together. */
function inside(directory: string, name: string): string {
  const path = resolve(directory, name);
  if (!path.startsWith(directory.endsWith(sep) ? directory : directory + sep))
    throw new SoundError(`'${name}' is not the name of a sound`);
  return path;
}
