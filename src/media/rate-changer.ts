import { Resampler } from './dsp/resampler.ts';
import { type Frame, frameSamples } from './frame.ts';

/** Converts frames of any rate to one rate. */
export class RateChanger {
  /** Rate of the frames given, in Hz. */
  readonly to: number;
  #resampler: Resampler | undefined;
  #target = new Int16Array(0);

  /** @param to rate of the frames given, in Hz. */
  constructor(to: number) {
    this.to = to;
  }

  /** The samples of a frame at our rate: its own if equal, else ours, valid until the next call. */
  samples(frame: Frame): Int16Array {
    if (frame.sampleRate === this.to) {
      this.#resampler = undefined;
      return frame.samples;
    }
    if (this.#resampler?.from !== frame.sampleRate) {
      this.#resampler = new Resampler(frame.sampleRate, this.to);
      this.#target = new Int16Array(this.#resampler.most(frameSamples(frame.sampleRate)));
    }
    const count = this.#resampler.process(frame.samples, this.#target);
    return this.#target.subarray(0, count);
  }
}
