/** Positions of reading and writing, in 32-bit words, and the start of the data, in octets. */
const readWord = 0;
const writeWord = 16;
const dataAt = 128;
/** Skips the rest of the buffer: the next entry is at its beginning. */
const skip = 0;

/** A record of a ring: kind 1 to 255, a flag, and octets that are valid until the next call. */
export type RingRecord = { kind: number; flag: boolean; octets: Uint8Array };

/** Memory for a ring. @param octets for records; rounded up to a power of two. */
export function newRing(octets: number): SharedArrayBuffer {
  return new SharedArrayBuffer(dataAt + 2 ** Math.ceil(Math.log2(Math.max(octets, 64))));
}

/**
 * Records from one thread to another, in order, in shared memory. Neither side waits: records without space are
 * dropped. An unfinished write of a dead thread has no effect.
 */
export class Ring {
  readonly #words: Int32Array;
  readonly #octets: Uint8Array;
  readonly #size: number;
  readonly #record: RingRecord = { kind: 0, flag: false, octets: new Uint8Array(0) };
  /** Records that did not fit. */
  leftOut = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#octets = new Uint8Array(memory);
    this.#size = memory.byteLength - dataAt;
  }

  /** Nothing waits to be read. */
  get empty(): boolean {
    return Atomics.load(this.#words, readWord) === Atomics.load(this.#words, writeWord);
  }

  /** Adds a record; false when it does not fit. @param kind 1 to 255. @param length below 2^16. */
  write(kind: number, flag: boolean, octets: Uint8Array): boolean {
    const words = this.#words;
    const end = Atomics.load(words, writeWord);
    const free = this.#size - ((end - Atomics.load(words, readWord)) | 0);
    const needed = 4 + ((octets.length + 3) & ~3);
    let at = end & (this.#size - 1);
    const left = this.#size - at;
    const skipped = left < needed ? left : 0;
    if (needed + skipped > free) {
      this.leftOut++;
      return false;
    }
    if (skipped > 0) {
      words[(dataAt + at) >> 2] = skip;
      at = 0;
    }
    words[(dataAt + at) >> 2] = (octets.length << 16) | (flag ? 0x100 : 0) | kind;
    this.#octets.set(octets, dataAt + at + 4);
    Atomics.store(words, writeWord, (end + skipped + needed) | 0);
    return true;
  }

  /** Takes the next record; undefined when there is none. The object is used again by the next call. */
  read(): RingRecord | undefined {
    const words = this.#words;
    let begin = Atomics.load(words, readWord);
    const end = Atomics.load(words, writeWord);
    if (begin === end) return undefined;
    let at = begin & (this.#size - 1);
    if (words[(dataAt + at) >> 2] === skip) {
      begin = (begin + this.#size - at) | 0;
      at = 0;
    }
    const header = words[(dataAt + at) >> 2]!;
    const length = header >>> 16;
    const record = this.#record;
    record.kind = header & 0xff;
    record.flag = (header & 0x100) !== 0;
    // A copy: the place is the writer's again.
    record.octets = this.#octets.slice(dataAt + at + 4, dataAt + at + 4 + length);
    Atomics.store(words, readWord, (begin + 4 + ((length + 3) & ~3)) | 0);
    return record;
  }
}
