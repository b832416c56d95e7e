/**
 * GSM full rate (ETSI EN 300 961, GSM 06.10), decoding only: 33 octets are 160 samples at 8 kHz. A frame holds eight
 * reflection coefficients and four excitation pulse patterns. Each pattern is added to the excitation one pitch period
 * earlier. Names are the standard's.
 */

/** Octets and samples of a frame. */
export const gsmFrameOctets = 33;
export const gsmFrameSamples = 160;

/** Bits of the coefficients LARc, and how they are expanded (table 4.1). */
const larBits = [6, 6, 5, 5, 4, 4, 3, 3];
const larB = [0, 0, 2048, -2560, 94, -1792, -341, -1144];
const larMinimum = [-32, -32, -16, -16, -8, -8, -4, -4];
const larInverseA = [13_107, 13_107, 13_107, 13_107, 19_223, 17_476, 31_454, 29_708];
/** Gains of the pitch period (table 4.3b) and mantissas of the pulses' largest (table 4.6). */
const pitchGains = [3277, 11_469, 21_299, 32_767];
const pulseFactors = [18_431, 20_479, 22_527, 24_575, 26_623, 28_671, 30_719, 32_767];

const saturate = (value: number): number => (value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value);
/** Product of two fractions, rounded. */
const multiply = (a: number, b: number): number => (Math.imul(a, b) + 16_384) >> 15;

/** Reads the bits of a frame, the highest first. */
class Bits {
  readonly #octets: Uint8Array;
  #at: number;

  constructor(octets: Uint8Array, at: number) {
    this.#octets = octets;
    this.#at = at;
  }

  take(count: number): number {
    let value = 0;
    for (let bit = 0; bit < count; bit++, this.#at++)
      value = (value << 1) | ((this.#octets[this.#at >> 3]! >> (7 - (this.#at & 7))) & 1);
    return value;
  }
}

/** Decodes one stream. */
export class GsmDecoder {
  /** Excitation: 120 samples that a pitch period can reach back to, then a piece of 40. */
  readonly #excitation = new Int16Array(160);
  #pitchLag = 40;
  #lar: Int16Array = new Int16Array(8);
  readonly #v = new Int16Array(9);
  #deemphasis = 0;

  /** Decodes the frame at `at` of `octets` to 160 samples of `target`. @returns false when there is no whole frame. */
  decode(octets: Uint8Array, at: number, target: Int16Array): boolean {
    // Four bits mark a frame.
    if (at + gsmFrameOctets > octets.length || octets[at]! >> 4 !== 0xd) return false;
    const bits = new Bits(octets, at * 8 + 4);
    const lar = Int16Array.from(larBits, (count, index) => expandLar(bits.take(count), index));
    const signal = new Int16Array(gsmFrameSamples);
    for (let piece = 0; piece < 4; piece++) {
      this.#excite(bits);
      signal.set(this.#excitation.subarray(120), piece * 40);
      this.#excitation.copyWithin(0, 40);
    }
    this.#synthesize(lar, signal);
    this.#finish(signal, target);
    return true;
  }

  /** Section 4.3: the pulses of a piece, over the excitation a pitch period ago. */
  #excite(bits: Bits): void {
    const lag = bits.take(7);
    const gain = pitchGains[bits.take(2)]!;
    const grid = bits.take(2);
    const pulses = expandPulses(bits);
    if (lag >= 40 && lag <= 120) this.#pitchLag = lag;
    const excitation = this.#excitation;
    for (let index = 0; index < 40; index++) {
      const pulse = index >= grid && (index - grid) % 3 === 0 ? (pulses[(index - grid) / 3] ?? 0) : 0;
      excitation[120 + index] = saturate(pulse + multiply(gain, excitation[120 + index - this.#pitchLag]!));
    }
  }

  /** Sections 4.2.8 to 4.2.10 and 4.4.2: from one set of coefficients to the next in four steps. */
  #synthesize(lar: Int16Array, signal: Int16Array): void {
    const before = this.#lar;
    const steps: [number, number, (previous: number, current: number) => number][] = [
      [0, 13, (p, c) => (p >> 2) + (c >> 2) + (p >> 1)],
      [13, 27, (p, c) => (p >> 1) + (c >> 1)],
      [27, 40, (p, c) => (p >> 2) + (c >> 2) + (c >> 1)],
      [40, 160, (_, c) => c],
    ];
    for (const [from, to, blend] of steps)
      this.#filter(
        lar.map((current, index) => reflection(saturate(blend(before[index]!, current)))),
        signal.subarray(from, to),
      );
    this.#lar = lar;
  }

  #filter(reflections: Int16Array, signal: Int16Array): void {
    const v = this.#v;
    for (let at = 0; at < signal.length; at++) {
      let sample = signal[at]!;
      for (let index = 7; index >= 0; index--) {
        sample = saturate(sample - multiply(reflections[index]!, v[index]!));
        v[index + 1] = saturate(v[index]! + multiply(reflections[index]!, sample));
      }
      v[0] = sample;
      signal[at] = sample;
    }
  }

  /** Section 4.3.5 and 4.3.6: de-emphasis, upscaling, the lower three bits cut. */
  #finish(signal: Int16Array, target: Int16Array): void {
    for (let index = 0; index < gsmFrameSamples; index++) {
      this.#deemphasis = saturate(signal[index]! + multiply(this.#deemphasis, 28_180));
      target[index] = saturate(this.#deemphasis * 2) & ~7;
    }
  }
}

function expandLar(coded: number, index: number): number {
  const offset = saturate(((coded + larMinimum[index]!) << 10) - larB[index]! * 2);
  return saturate(multiply(larInverseA[index]!, offset) * 2);
}

/** Section 4.2.9.2: a logarithmic area ratio as a reflection coefficient, by three straight lines. */
function reflection(lar: number): number {
  const magnitude = lar === -32_768 ? 32_767 : Math.abs(lar);
  const value =
    magnitude < 11_059 ? magnitude << 1 : magnitude < 20_070 ? magnitude + 11_059 : saturate((magnitude >> 2) + 26_112);
  return lar < 0 ? -value : value;
}

/** Section 4.2.16: thirteen pulses of 3 bits, scaled by the largest of them. */
function expandPulses(bits: Bits): number[] {
  const largest = bits.take(6);
  let exponent = largest > 15 ? (largest >> 3) - 1 : 0;
  let mantissa = largest - (exponent << 3);
  if (mantissa === 0) {
    exponent = -4;
    mantissa = 7;
  } else {
    while (mantissa <= 7) {
      mantissa = (mantissa << 1) | 1;
      exponent--;
    }
    mantissa -= 8;
  }
  const factor = pulseFactors[mantissa]!;
  const shift = 6 - exponent;
  const rounding = shift > 0 ? 1 << (shift - 1) : 0;
  return Array.from({ length: 13 }, () => {
    const pulse = (bits.take(3) * 2 - 7) << 12;
    return saturate(multiply(factor, pulse) + rounding) >> shift;
  });
}
