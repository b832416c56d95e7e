import { closeSync, fstatSync } from 'node:fs';

/** Words of an entry: the descriptor with 1 added (0 = free), and the number of what it stood for then. */
const entryWords = 2;
/** As many as there are ports: more UDP sockets than that no address has. */
const entries = 65_536;

/** Memory in which a thread lists its open descriptors, so that the main thread can close them after a crash. */
export function newDescriptorTable(): SharedArrayBuffer {
  return new SharedArrayBuffer(entries * entryWords * Float64Array.BYTES_PER_ELEMENT);
}

/**
 * The descriptors that a thread has opened with calls of its own. Nobody closes those when it is ended, so they stand in
 * memory that outlives it, until they are closed.
 */
export class Descriptors {
  readonly #words: Float64Array;
  readonly #free: number[] = [];
  #used = 0;

  constructor(table: SharedArrayBuffer) {
    this.#words = new Float64Array(table);
  }

  /** Writes a descriptor down, as soon as it is there; undefined = there is no room for more. @returns its entry. */
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
 * Closes what a thread that is gone has left open. A number that stands for something else by now (the thread was ended
 * between closing it and saying so) is let be.
 */
export function closeLeft(table: SharedArrayBuffer): void {
  const words = new Float64Array(table);
  for (let at = 0; at < words.length; at += entryWords) {
    const descriptor = words[at]! - 1;
    // Entries are used from the first on: behind one that never was there is none.
    if (words[at + 1] === 0) return;
    if (descriptor < 0) continue;
    words[at] = 0;
    if (inodeOf(descriptor) === words[at + 1]) closeSync(descriptor);
  }
}

function inodeOf(descriptor: number): number | undefined {
  try {
    return fstatSync(descriptor).ino;
  } catch {
    return undefined;
  }
}
