/**
 * G.722 at 64 kbit/s (mode 1): 16 kHz audio in two bands of 8 kHz. Each octet has 6 bits of the lower band and 2 of the
 * upper, both adaptive differences. (ITU-T G.722, sections 3 to 6; block and table names are the recommendation's.) All
 * values are integers: products of two 16-bit values fit into 32 bits.
 */

/** Coefficients of the quadrature mirror filter, one half; the other half is their mirror (table 11). */
const mirrorFilter = Int32Array.of(3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11);

/** Decision levels of the lower band's 6-bit quantizer (table 14). */
const decisions6 = Int32Array.of(
  ...[0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121, 1219],
  ...[1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919],
);

/** Output of the 6-bit inverse quantizer, by code (table 17). */
const positive6 = [
  ...[24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576, 6000, 5456],
  ...[4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136],
];
const inverse6 = Int32Array.of(
  ...[-136, -136, -136, -136],
  ...positive6.slice(0, 28).map((value) => -value),
  ...positive6,
  ...[-432, -136],
);

/** Output of the 4-bit inverse quantizer, which adapts the lower band on both sides (table 16). */
const positive4 = [20456, 12896, 8968, 6288, 4240, 2584, 1200];
const inverse4 = Int32Array.of(0, ...positive4.map((value) => -value), ...positive4, 0);
/** Output of the 2-bit inverse quantizer of the upper band (table 19). */
const inverse2 = Int32Array.of(-7408, -1616, 7408, 1616);

/** Logarithmic steps of the scale factors, by 4-bit and 2-bit code (tables 18 and 20 with the code's magnitude). */
const magnitudeSteps = [-60, -30, 58, 172, 334, 538, 1198, 3042];
const lowSteps = Int32Array.from([0, 7, 6, 5, 4, 3, 2, 1, 7, 6, 5, 4, 3, 2, 1, 0], (each) => magnitudeSteps[each]!);
const highSteps = Int32Array.of(798, -214, 798, -214);
const largestLow = 18_432;
const largestHigh = 22_528;

/** 2048 × 2^(index / 32): the scale factor's mantissa (table 21). */
const mantissas = Int32Array.from({ length: 32 }, (_, index) => Math.round(2048 * 2 ** (index / 32)));

/** Decision level of the upper band's 2-bit quantizer (table 15). */
const decision2 = 564;

const saturate = (value: number): number => (value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value);

/** The adaptive predictor and scale factor of one band: the same in encoder and decoder. */
class Band {
  /** The predictor's estimate of the next sample. */
  estimate = 0;
  /** Scale factor of the quantizer. */
  scale: number;
  readonly #largest: number;
  readonly #shift: number;
  #logarithm = 0;
  #zeros = 0;
  /** Reconstructed signal and partially reconstructed signal of the last two samples. */
  #r1 = 0;
  #p1 = 0;
  #p2 = 0;
  #a1 = 0;
  #a2 = 0;
  /** The last six quantized differences, the newest first, and the coefficients of the zeros that weigh them. */
  private d1 = 0;
  private d2 = 0;
  private d3 = 0;
  private d4 = 0;
  private d5 = 0;
  private d6 = 0;
  private b1 = 0;
  private b2 = 0;
  private b3 = 0;
  private b4 = 0;
  private b5 = 0;
  private b6 = 0;

  constructor(scale: number, largest: number, shift: number) {
    this.scale = scale;
    this.#largest = largest;
    this.#shift = shift;
  }

  /** Adapts scale and predictor to a quantized difference (`step`: how the scale's logarithm moves). */
  adapt(difference: number, step: number): void {
    this.#rescale(step);
    // RECONS, PARREC
    const r0 = saturate(this.estimate + difference);
    const p0 = saturate(this.#zeros + difference);
    this.#adaptPoles(p0);
    const zeros = this.#adaptZeros(difference);
    // FILTEP
    const first = Math.imul(this.#a1, saturate(r0 + r0)) >> 15;
    const second = Math.imul(this.#a2, saturate(this.#r1 + this.#r1)) >> 15;
    const poles = saturate(first + second);
    this.#r1 = r0;
    this.#zeros = zeros;
    this.estimate = saturate(poles + zeros);
  }

  /** LOGSCL, SCALEL and their likes of the upper band. */
  #rescale(step: number): void {
    let logarithm = (Math.imul(this.#logarithm, 127) >> 7) + step;
    if (logarithm < 0) logarithm = 0;
    else if (logarithm > this.#largest) logarithm = this.#largest;
    this.#logarithm = logarithm;
    const mantissa = mantissas[(logarithm >> 6) & 31]!;
    const shift = this.#shift - (logarithm >> 11);
    this.scale = (shift < 0 ? mantissa << -shift : mantissa >> shift) << 2;
  }

  /** UPPOL2, UPPOL1. */
  #adaptPoles(p0: number): void {
    const same1 = (p0 ^ this.#p1) >= 0;
    const same2 = (p0 ^ this.#p2) >= 0;
    const scaled = saturate(this.#a1 << 2);
    const signed = same1 ? (0 - scaled) | 0 : scaled;
    let a2 = ((signed > 32_767 ? 32_767 : signed) >> 7) + (same2 ? 128 : -128) + (Math.imul(this.#a2, 32_512) >> 15);
    if (a2 > 12_288) a2 = 12_288;
    else if (a2 < -12_288) a2 = -12_288;
    let a1 = saturate((same1 ? 192 : -192) + (Math.imul(this.#a1, 32_640) >> 15));
    const bound = (15_360 - a2) | 0;
    if (a1 > bound) a1 = bound;
    else if (a1 < ((0 - bound) | 0)) a1 = (0 - bound) | 0;
    this.#a1 = a1;
    this.#a2 = a2;
    this.#p2 = this.#p1;
    this.#p1 = p0;
  }

  /** UPZERO, DELAYA, FILTEZ. Written out, because a loop over two arrays takes half as long again. */
  #adaptZeros(d0: number): number {
    const { d1, d2, d3, d4, d5, d6 } = this;
    const gain = d0 === 0 ? 0 : 128;
    const minus = (0 - gain) | 0;
    const b1 = saturate(((d1 ^ d0) >= 0 ? gain : minus) + (Math.imul(this.b1, 32_640) >> 15));
    const b2 = saturate(((d2 ^ d0) >= 0 ? gain : minus) + (Math.imul(this.b2, 32_640) >> 15));
    const b3 = saturate(((d3 ^ d0) >= 0 ? gain : minus) + (Math.imul(this.b3, 32_640) >> 15));
    const b4 = saturate(((d4 ^ d0) >= 0 ? gain : minus) + (Math.imul(this.b4, 32_640) >> 15));
    const b5 = saturate(((d5 ^ d0) >= 0 ? gain : minus) + (Math.imul(this.b5, 32_640) >> 15));
    const b6 = saturate(((d6 ^ d0) >= 0 ? gain : minus) + (Math.imul(this.b6, 32_640) >> 15));
    this.b1 = b1;
    this.b2 = b2;
    this.b3 = b3;
    this.b4 = b4;
    this.b5 = b5;
    this.b6 = b6;
    this.d6 = d5;
    this.d5 = d4;
    this.d4 = d3;
    this.d3 = d2;
    this.d2 = d1;
    this.d1 = d0;
    return saturate(
      (Math.imul(b6, saturate(d5 + d5)) >> 15) +
        (Math.imul(b5, saturate(d4 + d4)) >> 15) +
        (Math.imul(b4, saturate(d3 + d3)) >> 15) +
        (Math.imul(b3, saturate(d2 + d2)) >> 15) +
        (Math.imul(b2, saturate(d1 + d1)) >> 15) +
        (Math.imul(b1, saturate(d0 + d0)) >> 15),
    );
  }
}

const lowBand = () => new Band(32, largestLow, 8);
const highBand = () => new Band(8, largestHigh, 10);

/** The last 24 samples of a mirror filter, stored twice so that any 24 are contiguous. */
class Delay {
  readonly line = new Int32Array(48);
  at = 0;

  /** Takes two samples in; the 24 newest then begin at the returned index, the oldest first. */
  push(first: number, second: number): number {
    const { line, at } = this;
    line[at] = first;
    line[at + 24] = first;
    line[at + 1] = second;
    line[at + 25] = second;
    this.at = at === 22 ? 0 : at + 2;
    return this.at;
  }
}

/** Encodes one stream. */
export class G722Encoder {
  readonly #low = lowBand();
  readonly #high = highBand();
  readonly #delay = new Delay();

  /**
   * Encodes an even number of 16 kHz samples to half as many octets at the beginning of `target`.
   * @returns octets written; an odd last sample is left out.
   */
  encode(samples: Int16Array, target: Uint8Array): number {
    const octets = samples.length >> 1;
    const line = this.#delay.line;
    for (let octet = 0; octet < octets; octet++) {
      const start = this.#delay.push(samples[octet * 2]!, samples[octet * 2 + 1]!);
      let odd = 0;
      let even = 0;
      for (let tap = 0; tap < 12; tap++) {
        const at = start + tap + tap;
        odd = (odd + Math.imul(line[at]!, mirrorFilter[tap]!)) | 0;
        even = (even + Math.imul(line[at + 1]!, mirrorFilter[11 - tap]!)) | 0;
      }
      target[octet] = (this.#encodeHigh((even - odd) >> 14) << 6) | this.#encodeLow((even + odd) >> 14);
    }
    return octets;
  }

  /** Adapts as if it had made these octets, so that what it makes next goes on where they end. */
  follow(octets: Uint8Array): void {
    for (const octet of octets) {
      const coarse = (octet & 0x3f) >> 2;
      const fine = octet >> 6;
      this.#low.adapt(Math.imul(this.#low.scale, inverse4[coarse]!) >> 15, lowSteps[coarse]!);
      this.#high.adapt(Math.imul(this.#high.scale, inverse2[fine]!) >> 15, highSteps[fine]!);
    }
  }

  #encodeLow(sample: number): number {
    const band = this.#low;
    const difference = saturate(sample - band.estimate);
    const magnitude = difference >= 0 ? difference : ~difference;
    const scale = band.scale;
    // The levels rise: the quarters that cannot hold the magnitude are left out of the search.
    let level = magnitude < Math.imul(decisions6[15]!, scale) >> 12 ? 1 : 15;
    if (magnitude >= Math.imul(decisions6[level + 7]!, scale) >> 12) level += 7;
    while (level < 30 && magnitude >= Math.imul(decisions6[level]!, scale) >> 12) level++;
    const code = difference < 0 ? (level < 3 ? 64 - level : 34 - level) : 62 - level;
    const coarse = code >> 2;
    band.adapt(Math.imul(scale, inverse4[coarse]!) >> 15, lowSteps[coarse]!);
    return code;
  }

  #encodeHigh(sample: number): number {
    const band = this.#high;
    const difference = saturate(sample - band.estimate);
    const magnitude = difference >= 0 ? difference : ~difference;
    const large = magnitude >= Math.imul(decision2, band.scale) >> 12;
    const code = (difference < 0 ? 0 : 2) | (large ? 0 : 1);
    band.adapt(Math.imul(band.scale, inverse2[code]!) >> 15, highSteps[code]!);
    return code;
  }
}

/** Decodes one stream. */
export class G722Decoder {
  readonly #low = lowBand();
  readonly #high = highBand();
  readonly #delay = new Delay();

  /**
   * Decodes octets to twice as many 16 kHz samples at the beginning of `target`.
   * @returns samples written.
   */
  decode(octets: Uint8Array, target: Int16Array): number {
    const line = this.#delay.line;
    for (let octet = 0; octet < octets.length; octet++) {
      const low = this.#decodeLow(octets[octet]! & 0x3f);
      const high = this.#decodeHigh(octets[octet]! >> 6);
      const start = this.#delay.push(low + high, low - high);
      let odd = 0;
      let even = 0;
      for (let tap = 0; tap < 12; tap++) {
        const at = start + tap + tap;
        even = (even + Math.imul(line[at]!, mirrorFilter[tap]!)) | 0;
        odd = (odd + Math.imul(line[at + 1]!, mirrorFilter[11 - tap]!)) | 0;
      }
      target[octet * 2] = saturate(odd >> 11);
      target[octet * 2 + 1] = saturate(even >> 11);
    }
    return octets.length * 2;
  }

  #decodeLow(code: number): number {
    const band = this.#low;
    const sample = limit(band.estimate + (Math.imul(band.scale, inverse6[code]!) >> 15));
    const coarse = code >> 2;
    band.adapt(Math.imul(band.scale, inverse4[coarse]!) >> 15, lowSteps[coarse]!);
    return sample;
  }

  #decodeHigh(code: number): number {
    const band = this.#high;
    const difference = Math.imul(band.scale, inverse2[code]!) >> 15;
    const sample = limit(band.estimate + difference);
    band.adapt(difference, highSteps[code]!);
    return sample;
  }
}

/** LIMIT: the bands carry 15 bits. */
const limit = (value: number): number => (value > 16_383 ? 16_383 : value < -16_384 ? -16_384 : value);
