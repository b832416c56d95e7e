import { Goertzel } from './goertzel.ts';

/** A single tone to listen for. */
type ToneDetection = {
  /** In Hz, below half the sampling rate. */
  hertz: number;
  /** Time that it must sound before it is reported, in ms. */
  durationMs: number;
  /** Sampling rate in Hz. */
  sampleRate: number;
  /** How far it must be above all else that sounds, in dB; 2 where left out. */
  thresholdDb?: number | undefined;
};

/** Time of a block, in ms: filters some 50 Hz apart. */
const blockMs = 20;
/** How much of all that sounds the tone must be where nothing is said of that, as power. */
const usualShare = 0.6;
/** Weakest tone, as amplitude. */
const weakest = 250;
/** Blocks without the tone that are skipped, so that a click does not restart detection. */
const forgiven = 1;

/** Tells when a tone of one frequency (a fax's, a modem's, a beep) has sounded long enough. */
export class ToneDetector {
  readonly #filter: Goertzel;
  readonly #block: number;
  readonly #blocksNeeded: number;
  readonly #leastShare: number;
  #filled = 0;
  #energy = 0;
  #heard = 0;
  #missed = 0;

  constructor({ hertz, durationMs, sampleRate, thresholdDb }: ToneDetection) {
    this.#filter = new Goertzel(hertz, sampleRate);
    this.#block = Math.round((sampleRate * blockMs) / 1000);
    const above = 10 ** ((thresholdDb ?? 0) / 10);
    this.#leastShare = thresholdDb === undefined ? usualShare : above / (1 + above);
    this.#blocksNeeded = Math.max(1, Math.floor(durationMs / blockMs));
  }

  /** Takes the next samples. @returns whether the tone has just lasted long enough: once for each time it sounds. */
  take(samples: Int16Array): boolean {
    let detected = false;
    for (let from = 0; from < samples.length; ) {
      const to = Math.min(samples.length, from + this.#block - this.#filled);
      this.#filter.take(samples, from, to);
      for (let index = from; index < to; index++) this.#energy += samples[index]! * samples[index]!;
      this.#filled += to - from;
      from = to;
      if (this.#filled === this.#block && this.#judge()) detected = true;
    }
    return detected;
  }

  #judge(): boolean {
    const power = this.#filter.power();
    const sounds =
      power >= (weakest * this.#block * 0.5) ** 2 && power >= this.#leastShare * this.#energy * this.#block * 0.5;
    this.#filled = 0;
    this.#energy = 0;
    if (sounds) {
      this.#missed = 0;
      return ++this.#heard === this.#blocksNeeded;
    }
    if (++this.#missed > forgiven) this.#heard = 0;
    return false;
  }
}
