import { closeSync, fstatSync } from 'node:fs';

/** Words of an entry: the descriptor plus 1 (0: free), and the inode it had then. */
const entryWords = 2;
/** As many as there are ports: more UDP sockets than that no address has. */
const entries = 65_536;

/** Memory in which a thread lists its open descriptors, so that the main thread can close them after a crash. */
export function newDescriptorTable(): SharedArrayBuffer {
  return new SharedArrayBuffer(entries * entryWords * Float64Array.BYTES_PER_ELEMENT);
}

/**
 * Descriptors that a thread opened by system calls. Nothing closes them when the thread is terminated, so they are
 * listed in memory that survives it.
 */
export class Descriptors {
  readonly #words: Float64Array;
  readonly #free: number[] = [];
  #used = 0;

  constructor(table: SharedArrayBuffer) {
    this.#words = new Float64Array(table);
  }

  /** Lists a new descriptor; undefined: no space. @returns its entry. */
  note(descriptor: number): number | undefined {
    const entry = this.#free.pop() ?? (this.#used < entries ? this.#used++ : undefined);
    if (entry === undefined) return undefined;
    this.#words[entry * entryWords + 1] = fstatSync(descriptor).ino;
    this.#words[entry * entryWords] = descriptor + 1;
    return entry;
  }

  /** Its descriptor is closed. */
  forget(entry: number): void {
    this.#words[entry * entryWords] = 0;
    this.#free.push(entry);
  }
}

/**
 * The descriptors of a terminated thread, and its list is empty. A number that now means another file (the thread had just
 * closed it) is left alone.
 */
export function leftOpen(table: SharedArrayBuffer): number[] {
  const words = new Float64Array(table);
  const left: number[] = [];
  for (let at = 0; at < words.length; at += entryWords) {
    const descriptor = words[at]! - 1;
    // Entries are used from the first on: behind one that never was there is none.
    if (words[at + 1] === 0) break;
    if (descriptor < 0) continue;
    words[at] = 0;
    if (inodeOf(descriptor) === words[at + 1]) left.push(descriptor);
  }
  return left;
}

/** Closes the descriptors of a terminated thread. */
export function closeLeft(table: SharedArrayBuffer): void {
  for (const descriptor of leftOpen(table)) closeSync(descriptor);
}

function inodeOf(descriptor: number): number | undefined {
  try {
    return fstatSync(descriptor).ino;
  } catch {
    return undefined;
  }
}
