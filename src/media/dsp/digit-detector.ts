import { Goertzel } from './goertzel.ts';

/** Frequencies of the rows and columns, in Hz (ITU-T Q.23). */
const rows = [697, 770, 852, 941];
const columns = [1209, 1336, 1477, 1633];
const digits = ['123A', '456B', '789C', '*0#D'];

/** Length of a block in ms: long enough to separate 697 from 770 Hz, short enough for two in a digit of 40 ms. */
const blockMs = 12.75;
/** Blocks in a row that begin a digit, and blocks in a row without it that end it. */
const blocksToBegin = 2;
const blocksToEnd = 2;
/** Weakest tone, as amplitude: about −36 dBm0. */
const weakest = 350;
/** How much louder a column may be than its row, and a row than its column, as power (ITU-T Q.24: 4 and 8 dB, and some). */
const normalTwist = 10 ** (6.5 / 10);
const reverseTwist = 10 ** (9 / 10);
/** How much louder each of the two tones must be than the others of its group, as power (8 dB). */
const aboveOthers = 10 ** (8 / 10);
/** How much of all that sounds the two tones must be, as power. Speech has much beside. */
const leastShare = 0.68;
/** A voice has harmonics, a keypad has none: the highest share of a tone's second harmonic. */
const mostHarmonic = 0.1;
/** Filters of one block tell frequencies apart that are this far from each other, in Hz. */
const apart = 130;

/** A digit that has ended. */
export type DetectedDigit = { digit: string; durationMs: number };

/**
 * Detects digits in audio (ITU-T Q.23 and Q.24): eight Goertzel filters, and two for the harmonics of the loudest two.
 * Each digit is reported once, at its end.
 */
export class DigitDetector {
  readonly #block: number;
  readonly #blockMs: number;
  readonly #tones: readonly Goertzel[];
  readonly #harmonics: readonly Goertzel[];
  readonly #powers = new Float64Array(8);
  readonly #samples: Int16Array;
  #filled = 0;
  #energy = 0;
  /** The digit of the last blocks; '' for none. */
  #candidate = '';
  #count = 0;
  #digit = '';
  #heardBlocks = 0;
  #missedBlocks = 0;

  /** @param sampleRate in Hz, 8000 or more. */
  constructor(sampleRate: number) {
    this.#block = Math.round((sampleRate * blockMs) / 1000);
    this.#blockMs = (this.#block * 1000) / sampleRate;
    this.#tones = [...rows, ...columns].map((hertz) => new Goertzel(hertz, sampleRate));
    this.#harmonics = [...rows, ...columns].map((hertz) => new Goertzel(2 * hertz, sampleRate));
    this.#samples = new Int16Array(this.#block);
  }

  /** The digit that sounds now, '' = none: its audio can be kept from others. */
  get sounding(): string {
    return this.#digit;
  }

  /** Takes the next samples; tells the digit that has ended in them, if one has. Two never end within 50 ms. */
  take(samples: Int16Array): DetectedDigit | undefined {
    let ended: DetectedDigit | undefined;
    for (let from = 0; from < samples.length; ) {
      const to = Math.min(samples.length, from + this.#block - this.#filled);
      this.#hear(samples, from, to);
      from = to;
      if (this.#filled === this.#block) ended = this.#judge(this.#classify()) ?? ended;
    }
    return ended;
  }

  /** Silence from here on, for instance because packets stopped: a digit under way has ended. */
  end(): DetectedDigit | undefined {
    this.#filled = 0;
    this.#energy = 0;
    for (const tone of this.#tones) tone.power();
    this.#count = 0;
    this.#candidate = '';
    return this.#digit === '' ? undefined : this.#finished();
  }

  #hear(samples: Int16Array, from: number, to: number): void {
    for (const tone of this.#tones) tone.take(samples, from, to);
    for (let index = from; index < to; index++) {
      const sample = samples[index]!;
      this.#energy += sample * sample;
      this.#samples[this.#filled++] = sample;
    }
  }

  /** The digit of the block that is full now, '' = none. */
  #classify(): string {
    const powers = this.#powers;
    for (let index = 0; index < 8; index++) powers[index] = this.#tones[index]!.power();
    const energy = this.#energy;
    this.#filled = 0;
    this.#energy = 0;
    const row = loudest(powers, 0);
    const column = loudest(powers, 4);
    const low = powers[row]!;
    const high = powers[column]!;
    // A sine of amplitude a has the power (a n / 2)² in a filter, and the energy n a² / 2 in the block.
    const least = (weakest * this.#block * 0.5) ** 2;
    if (low < least || high < least) return '';
    if (high > low * normalTwist || low > high * reverseTwist) return '';
    if (low + high < leastShare * energy * this.#block * 0.5) return '';
    for (let index = 0; index < 8; index++)
      if (index !== row && index !== column && powers[index]! * aboveOthers > (index < 4 ? low : high)) return '';
    // The second harmonic of a row can lie next to the column that sounds with it, and then says nothing.
    const told = Math.abs(2 * rows[row]! - columns[column - 4]!) > apart;
    if ((told && this.#harmonic(row) > low * mostHarmonic) || this.#harmonic(column) > high * mostHarmonic) return '';
    return digits[row]![column - 4]!;
  }

  #harmonic(tone: number): number {
    const filter = this.#harmonics[tone]!;
    filter.take(this.#samples, 0, this.#block);
    return filter.power();
  }

  #judge(heard: string): DetectedDigit | undefined {
    this.#count = heard === this.#candidate ? this.#count + 1 : 1;
    this.#candidate = heard;
    if (this.#digit !== '' && heard === this.#digit) {
      this.#heardBlocks += 1 + this.#missedBlocks;
      this.#missedBlocks = 0;
      return undefined;
    }
    let ended: DetectedDigit | undefined;
    if (this.#digit !== '' && ++this.#missedBlocks >= blocksToEnd) ended = this.#finished();
    if (this.#digit === '' && heard !== '' && this.#count >= blocksToBegin) {
      this.#digit = heard;
      this.#heardBlocks = this.#count;
      this.#missedBlocks = 0;
    }
    return ended;
  }

  #finished(): DetectedDigit {
    const ended = { digit: this.#digit, durationMs: Math.round(this.#heardBlocks * this.#blockMs) };
    this.#digit = '';
    this.#heardBlocks = 0;
    this.#missedBlocks = 0;
    return ended;
  }
}

/** Which of the four powers from `first` on is the largest. */
function loudest(powers: Float64Array, first: number): number {
  let best = first;
  for (let index = first + 1; index < first + 4; index++) if (powers[index]! > powers[best]!) best = index;
  return best;
}
