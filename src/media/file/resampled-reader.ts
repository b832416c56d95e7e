import { Resampler } from '../dsp/resampler.ts';
import type { PcmReader } from './pcm-reader.ts';

/** Samples of the file that are resampled in one step. */
const pieceSamples = 1024;

/** The same audio at another rate; the same reader when it has that rate. */
export function atRate(reader: PcmReader, sampleRate: number): PcmReader {
  return reader.sampleRate === sampleRate ? reader : new ResampledReader(reader, sampleRate);
}

/** Reads at another rate, without the delay that a resampled stream has: a sample stays at its moment. */
class ResampledReader implements PcmReader {
  readonly sampleRate: number;
  readonly length: number;
  readonly #source: PcmReader;
  readonly #resampler: Resampler;
  /** The delay in samples of ours, and how much of it is still to be left out. */
  readonly #delay: number;
  #skip: number;
  readonly #piece = new Int16Array(pieceSamples);
  readonly #ready: Int16Array;
  #from = 0;
  #to = 0;
  #position = 0;

  constructor(source: PcmReader, sampleRate: number) {
    this.#source = source;
    this.sampleRate = sampleRate;
    this.length = Math.round((source.length * sampleRate) / source.sampleRate);
    this.#resampler = new Resampler(source.sampleRate, sampleRate);
    this.#delay = Math.round((this.#resampler.delayMs * sampleRate) / 1000);
    this.#skip = this.#delay;
    this.#ready = new Int16Array(this.#resampler.most(pieceSamples));
  }

  get position(): number {
    return this.#position;
  }

  read(target: Int16Array): number {
    const count = Math.min(target.length, this.length - this.#position);
    for (let done = 0; done < count; ) {
      if (this.#from === this.#to) this.#refill();
      const take = Math.min(count - done, this.#to - this.#from);
      target.set(this.#ready.subarray(this.#from, this.#from + take), done);
      this.#from += take;
      done += take;
    }
    this.#position += count;
    return count;
  }

  seek(sample: number): void {
    this.#position = Math.max(0, Math.min(this.length, Math.trunc(sample) || 0));
    this.#source.seek((this.#position * this.#source.sampleRate) / this.sampleRate);
    this.#resampler.reset();
    this.#skip = this.#delay;
    this.#from = 0;
    this.#to = 0;
  }

  close(): void {
    this.#position = this.length;
    this.#source.close();
  }

  /** Makes the next samples; behind the end of the file silence pushes out what is still in the filter. */
  #refill(): void {
    const read = this.#source.read(this.#piece);
    this.#piece.fill(0, read);
    this.#to = this.#resampler.process(this.#piece, this.#ready);
    this.#from = Math.min(this.#to, this.#skip);
    this.#skip -= this.#from;
  }
}
