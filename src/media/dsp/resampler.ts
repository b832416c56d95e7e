/**
 * Resampling by a fixed rational ratio: every output sample is a weighted sum of input samples (a polyphase FIR filter,
 * Kaiser window). Tones up to 0.42 of the lower rate (3.4 of 8 kHz) pass unchanged. Tones above 0.58 are attenuated by
 * 80 dB.
 */

/** Input samples around an output sample that count, where the input is the lower rate. */
const tapsAtLowerRate = 32;
/** Of the Kaiser window: 80 dB. */
const beta = 7.86;
/** Longest piece processed in one step, in input samples. */
const longestPiece = 2048;

/** The filter of one ratio: shared by all streams that have it. */
type Filter = {
  /** Output samples for each `down` input samples. */
  up: number;
  down: number;
  taps: number;
  /** Weights, `taps` for each of the `up` moments between two input samples. */
  weights: Float64Array;
};

/** Filters are made when first used: what a ratio needs never changes. */
const filters = new Map<string, Filter>();

/** One stream on its way from one sampling rate to another; what it remembers joins the pieces without a seam. */
export class Resampler {
  readonly from: number;
  readonly to: number;
  readonly #filter: Filter;
  /** The last `taps - 1` input samples, then the piece being worked on. */
  readonly #line: Float64Array;
  /** The next output's first input sample, and the fraction behind it, in 1 / `up` of a sample. */
  #at = 0;
  #phase = 0;

  /** Rates in Hz; any whole numbers, though each new ratio costs a filter of `to / gcd` × 32 or more weights. */
  constructor(from: number, to: number) {
    this.from = from;
    this.to = to;
    this.#filter = filterOf(from, to);
    this.#line = new Float64Array(this.#filter.taps - 1 + longestPiece);
  }

  /** How much later the output sounds, in ms. */
  get delayMs(): number {
    return ((this.#filter.taps / 2) * 1000) / this.from;
  }

  /** The most samples that `count` input samples can give. */
  most(count: number): number {
    return Math.ceil((count * this.#filter.up) / this.#filter.down) + 1;
  }

  /**
   * Resamples `samples` to the beginning of `target`, which must hold {@link most} of them. 20 ms of any telephone rate
   * give exactly 20 ms of any other.
   * @returns samples written.
   */
  process(samples: Int16Array, target: Int16Array): number {
    let written = 0;
    for (let at = 0; at < samples.length; at += longestPiece) {
      const piece = samples.length <= longestPiece ? samples : samples.subarray(at, at + longestPiece);
      written += this.#piece(piece, target, written);
    }
    return written;
  }

  /** Forgets what went before: another stream begins. */
  reset(): void {
    this.#line.fill(0);
    this.#at = 0;
    this.#phase = 0;
  }

  #piece(samples: Int16Array, target: Int16Array, start: number): number {
    const { up, down, taps } = this.#filter;
    const line = this.#line;
    const kept = taps - 1;
    for (let index = 0; index < samples.length; index++) line[kept + index] = samples[index]!;
    let at = this.#at;
    let phase = this.#phase;
    let written = start;
    while (at < samples.length) {
      const sum = Math.round(weighted(line, at, this.#filter, phase));
      target[written++] = sum > 32_767 ? 32_767 : sum < -32_768 ? -32_768 : sum;
      for (phase += down; phase >= up; phase -= up) at++;
    }
    this.#at = at - samples.length;
    this.#phase = phase;
    line.copyWithin(0, samples.length, samples.length + kept);
    return written - start;
  }
}

/** The sum of the filter's products, four in parallel, because each addition waits for the previous one. */
function weighted(line: Float64Array, from: number, { weights, taps }: Filter, phase: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let weight = phase * taps;
  for (let at = from; at < from + taps; at += 4, weight += 4) {
    a += line[at]! * weights[weight]!;
    b += line[at + 1]! * weights[weight + 1]!;
    c += line[at + 2]! * weights[weight + 2]!;
    d += line[at + 3]! * weights[weight + 3]!;
  }
  return a + b + (c + d);
}

function filterOf(from: number, to: number): Filter {
  const divisor = greatestCommonDivisor(from, to);
  const [up, down] = [to / divisor, from / divisor];
  const key = `${up}/${down}`;
  const filter = filters.get(key) ?? design(up, down);
  filters.set(key, filter);
  return filter;
}

function design(up: number, down: number): Filter {
  // A lower output rate needs a lower edge and so, measured in input samples, a longer filter.
  const stretch = Math.max(1, down / up);
  const taps = Math.ceil((tapsAtLowerRate * stretch) / 4) * 4;
  const weights = new Float64Array(up * taps);
  const half = taps / 2;
  for (let phase = 0; phase < up; phase++) {
    let sum = 0;
    for (let tap = 0; tap < taps; tap++) {
      const distance = tap - (half - 1) - phase / up;
      const weight = sinc(distance / stretch) * kaiser(distance / half);
      weights[phase * taps + tap] = weight;
      sum += weight;
    }
    // Every phase passes a constant unchanged, or the moments between samples would sound as a tone.
    for (let tap = 0; tap < taps; tap++) weights[phase * taps + tap]! /= sum;
  }
  return { up, down, taps, weights };
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const kaiser = (x: number): number => (Math.abs(x) >= 1 ? 0 : bessel(beta * Math.sqrt(1 - x * x)) / bessel(beta));

/** Modified Bessel function of the first kind, order 0, by its series. */
function bessel(x: number): number {
  let [sum, term] = [1, 1];
  for (let k = 1; term > sum * 1e-16; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));
