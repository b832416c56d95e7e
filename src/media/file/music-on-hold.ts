import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { Resampler } from '../dsp/resampler.ts';
import { formatOfExtension } from './formats.ts';
import type { PcmReader } from './pcm-reader.ts';
import { atRate } from './resampled-reader.ts';

/** Sources of music. */
type MusicOptions = {
  /** Directories whose sub-directories are classes; of two classes of one name that in the earlier directory is meant. */
  directories: readonly string[];
  /** Rate of stored music in Hz; other rates are resampled once for all listeners. */
  sampleRate?: number;
};

/** Why there is no music, in words for the log. */
class MusicError extends Error {
  override readonly name = 'MusicError';
}

const defaultRate = 16_000;
/** A longer file would fill the memory. */
const maximumFileOctets = 64 * 1024 * 1024;
/** Files of one class at most. */
const maximumFiles = 1000;

/** The classes of music on hold. Every listener of a class hears the same at the same time, as of a radio. */
export class MusicOnHold {
  readonly #directories: readonly string[];
  readonly #rate: number;
  readonly #sources = new Map<string, MusicSource>();
  /** Classes being opened: parallel requests share one. */
  readonly #opening = new Map<string, Promise<MusicSource>>();

  constructor({ directories, sampleRate = defaultRate }: MusicOptions) {
    this.#directories = directories.map((directory) => resolve(directory));
    this.#rate = sampleRate;
  }

  /**
   * The music of a class, the same for all who ask. Each must {@link MusicSource.release} it once.
   * @throws (rejects with) MusicError when there is no such class, or nothing in it can be played.
   */
  async open(name: string): Promise<MusicSource> {
    let source = this.#sources.get(name);
    // Another waiting listener may have released it already.
    while (!source || source.released) source = await this.#openOnce(name);
    source.listeners++;
    return source;
  }

  /** Names of the classes there are, sorted. */
  async classes(): Promise<string[]> {
    const found = await Promise.all(this.#directories.map((each) => entries(each)));
    const names = found.flat().filter((entry) => entry.isDirectory() && isClassName(entry.name));
    return [...new Set(names.map((entry) => entry.name))].sort();
  }

  #openOnce(name: string): Promise<MusicSource> {
    const opening = this.#opening.get(name) ?? this.#open(name);
    this.#opening.set(name, opening);
    return opening;
  }

  async #open(name: string): Promise<MusicSource> {
    try {
      const source = new MusicSource(await this.#files(name), this.#rate, () => this.#sources.delete(name));
      await source.begin();
      this.#sources.set(name, source);
      return source;
    } finally {
      this.#opening.delete(name);
    }
  }

  async #files(name: string): Promise<string[]> {
    if (!isClassName(name)) throw new MusicError(`'${name}' is not the name of a class of music`);
    for (const directory of this.#directories) {
      const files = (await entries(join(directory, name)))
        .filter((entry) => !entry.isDirectory() && formatOfExtension.has(extname(entry.name).slice(1)))
        .map((entry) => join(directory, name, entry.name));
      if (files.length > 0) return files.sort().slice(0, maximumFiles);
    }
    throw new MusicError(`there is no music of class '${name}'`);
  }
}

/** The endless music of one class: its files one after another, then again. */
export class MusicSource {
  /** Number of listeners; counted by {@link MusicOnHold.open}. */
  listeners = 0;
  readonly #files: readonly string[];
  readonly #rate: number;
  readonly #ended: () => void;
  readonly #samples: Int16Array;
  readonly #outlets = new Map<number, Outlet>();
  #reader: PcmReader | undefined;
  #file = 0;
  #loading: Promise<void> | undefined;
  #next: PcmReader | undefined;
  #tick: number | undefined;
  #released = false;

  /** Use {@link MusicOnHold.open}. */
  constructor(files: readonly string[], rate: number, ended: () => void) {
    this.#files = files;
    this.#rate = rate;
    this.#ended = ended;
    this.#samples = new Int16Array(rate / 50);
  }

  /** Loads the first file that can be played. @throws MusicError when none can. */
  async begin(): Promise<void> {
    this.#reader = await this.#load();
  }

  /**
   * The music of a tick at a rate in Hz, 20 ms; valid until the next tick. Ticks are numbered. Music continues without
   * listeners, so a new listener joins at the present position.
   */
  frame(tick: number, sampleRate: number): Int16Array {
    if (this.#tick === undefined || tick > this.#tick) this.#advance(tick);
    if (sampleRate === this.#rate) return this.#samples;
    let outlet = this.#outlets.get(sampleRate);
    if (!outlet) this.#outlets.set(sampleRate, (outlet = new Outlet(this.#rate, sampleRate)));
    return outlet.frame(this.#tick ?? tick, this.#samples);
  }

  /** Without listeners its files are closed. */
  get released(): boolean {
    return this.#released;
  }

  /** Removes a listener; with the last one the files are closed. */
  release(): void {
    if (--this.listeners > 0 || this.#released) return;
    this.#released = true;
    this.#ended();
    this.#reader?.close();
    this.#next?.close();
    this.#reader = undefined;
    this.#next = undefined;
  }

  #advance(tick: number): void {
    const missed = this.#tick === undefined ? 0 : tick - this.#tick - 1;
    this.#tick = tick;
    const reader = this.#reader;
    if (missed > 0 && reader) reader.seek((reader.position + missed * this.#samples.length) % reader.length);
    let filled = 0;
    // A file that cannot be read on, twice in a row, leaves silence instead of a loop without an end.
    for (let turns = 0; filled < this.#samples.length && turns < 2; turns++) {
      filled += this.#reader?.read(this.#samples.subarray(filled)) ?? 0;
      if (filled < this.#samples.length) this.#turn();
    }
    this.#samples.fill(0, filled);
  }

  /** The file is over: the next one when it is there, otherwise the same again. */
  #turn(): void {
    if (this.#next) {
      this.#reader?.close();
      this.#reader = this.#next;
      this.#next = undefined;
    } else this.#reader?.seek(0);
    this.#prepare();
  }

  /** Loads the next file while this one plays. */
  #prepare(): void {
    if (this.#files.length < 2 || this.#loading) return;
    this.#loading = this.#load()
      .then(
        (reader) => {
          if (!this.#released) this.#next = reader;
          else reader.close();
        },
        () => undefined,
      )
      .finally(() => {
        this.#loading = undefined;
      });
  }

  /** The next file that can be played. @throws MusicError when none can. */
  async #load(): Promise<PcmReader> {
    let problem: unknown;
    for (let tried = 0; tried < this.#files.length; tried++) {
      const path = this.#files[this.#file]!;
      this.#file = (this.#file + 1) % this.#files.length;
      try {
        return await openFile(path, this.#rate);
      } catch (error) {
        problem = error;
      }
    }
    const words = problem instanceof Error ? problem.message : 'there are no files';
    throw new MusicError(`no music can be played: ${words}`, { cause: problem });
  }
}

/** The music at another rate. */
class Outlet {
  readonly #resampler: Resampler;
  readonly #target: Int16Array;
  #tick = -1;
  #count = 0;

  constructor(from: number, to: number) {
    this.#resampler = new Resampler(from, to);
    this.#target = new Int16Array(this.#resampler.most(from / 50));
  }

  frame(tick: number, samples: Int16Array): Int16Array {
    if (tick !== this.#tick) {
      if (tick !== this.#tick + 1) this.#resampler.reset();
      this.#tick = tick;
      this.#count = this.#resampler.process(samples, this.#target);
    }
    return this.#target.subarray(0, this.#count);
  }
}

async function openFile(path: string, rate: number): Promise<PcmReader> {
  if ((await stat(path)).size > maximumFileOctets) throw new MusicError(`${path} is too long to be played`);
  const reader = atRate(await formatOfExtension.get(extname(path).slice(1))!.open(await readFile(path), rate), rate);
  if (reader.length > 0) return reader;
  reader.close();
  throw new MusicError(`${path} is empty`);
}

const isClassName = (name: string): boolean => /^[A-Za-z0-9][\w-]{0,63}$/.test(name);

async function entries(directory: string) {
  return readdir(directory, { withFileTypes: true }).catch(() => []);
}
