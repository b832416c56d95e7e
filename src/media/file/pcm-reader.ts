/** Linear audio of a file, read piece by piece. */
export interface PcmReader {
  /** In Hz. */
  readonly sampleRate: number;
  /** In samples. */
  readonly length: number;
  /** The sample that is read next. */
  readonly position: number;
  /** Fills `target` with the next samples. @returns how many; fewer only at the end. Never throws. */
  read(target: Int16Array): number;
  /** Goes on at a sample; before the start at the start, behind the end at the end. */
  seek(sample: number): void;
  /** Closes decoders. Idempotent; nothing is read afterwards. */
  close(): void;
}

/** Reads samples that lie in the file one by one: `sampleAt` gives the sample of a place. */
export class SampleReader implements PcmReader {
  readonly sampleRate: number;
  readonly length: number;
  readonly #sampleAt: (index: number) => number;
  #position = 0;

  constructor(sampleRate: number, length: number, sampleAt: (index: number) => number) {
    this.sampleRate = sampleRate;
    this.length = length;
    this.#sampleAt = sampleAt;
  }

  get position(): number {
    return this.#position;
  }

  read(target: Int16Array): number {
    const count = Math.min(target.length, this.length - this.#position);
    for (let index = 0; index < count; index++) target[index] = this.#sampleAt(this.#position + index);
    this.#position += count;
    return count;
  }

  seek(sample: number): void {
    this.#position = within(sample, this.length);
  }

  close(): void {
    this.#position = this.length;
  }
}

/** A format of dependent blocks. */
type Blocks = {
  readonly count: number;
  /** Samples of the longest block. */
  readonly longest: number;
  /** The first sample of a block; may lie before 0 for blocks that only prepare the decoder. */
  start(block: number): number;
  /** Decodes a block to the beginning of `target`. @returns samples written. */
  decode(block: number, target: Int16Array): number;
  /** The next block to be decoded is this one, not the one behind the last. */
  reset(block: number): void;
  close(): void;
  /** Blocks that a decoder needs before what it says is right. */
  readonly preparation: number;
};

/** Reads audio that is decoded block by block. */
export class BlockReader implements PcmReader {
  readonly sampleRate: number;
  readonly length: number;
  readonly #blocks: Blocks;
  readonly #decoded: Int16Array;
  /** The block in `decoded`, and how many samples of it there are; -1 = none. */
  #block = -1;
  #samples = 0;
  #position = 0;

  constructor(sampleRate: number, length: number, blocks: Blocks) {
    this.sampleRate = sampleRate;
    this.length = length;
    this.#blocks = blocks;
    this.#decoded = new Int16Array(blocks.longest);
  }

  get position(): number {
    return this.#position;
  }

  read(target: Int16Array): number {
    const count = Math.min(target.length, this.length - this.#position);
    for (let done = 0; done < count; ) {
      this.#decodeAt(this.#position);
      const offset = this.#position - this.#blocks.start(this.#block);
      const take = Math.max(1, Math.min(count - done, this.#blockSamples() - offset));
      const held = Math.max(0, Math.min(take, this.#samples - offset));
      target.set(this.#decoded.subarray(offset, offset + held), done);
      // A block that could not be decoded is silent.
      target.fill(0, done + held, done + take);
      done += take;
      this.#position += take;
    }
    return count;
  }

  seek(sample: number): void {
    this.#position = within(sample, this.length);
  }

  close(): void {
    this.#position = this.length;
    this.#blocks.close();
  }

  /** How many samples the block has until the next begins. */
  #blockSamples(): number {
    const next = this.#block + 1;
    const end = next < this.#blocks.count ? this.#blocks.start(next) : this.length;
    return end - this.#blocks.start(this.#block);
  }

  #decodeAt(position: number): void {
    const wanted = this.#find(position);
    if (wanted === this.#block) return;
    if (wanted !== this.#block + 1) {
      const from = Math.max(0, wanted - this.#blocks.preparation);
      if (this.#block >= 0 || from > 0) this.#blocks.reset(from);
      for (let block = from; block < wanted; block++) this.#blocks.decode(block, this.#decoded);
    }
    this.#block = wanted;
    this.#samples = this.#blocks.decode(wanted, this.#decoded);
  }

  /** The block that holds a sample: mostly the one at hand or the next, otherwise by halving. */
  #find(position: number): number {
    const { count } = this.#blocks;
    let low = 0;
    let high = count - 1;
    if (this.#block >= 0 && this.#blocks.start(this.#block) <= position) {
      low = this.#block;
      if (low + 2 < count && position < this.#blocks.start(low + 2)) high = low + 1;
    }
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#blocks.start(middle) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function within(sample: number, length: number): number {
  return Math.max(0, Math.min(length, Math.trunc(sample) || 0));
}

/** All samples of a reader from where it is, which is closed then. */
export function readAll(reader: PcmReader): Int16Array {
  const samples = new Int16Array(reader.length - reader.position);
  reader.read(samples);
  reader.close();
  return samples;
}
