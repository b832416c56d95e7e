/** How strongly one frequency sounds in a block of samples (Goertzel's algorithm): one multiplication a sample. */
export class Goertzel {
  readonly #coefficient: number;
  #s1 = 0;
  #s2 = 0;

  /** Frequency and sampling rate in Hz. */
  constructor(hertz: number, sampleRate: number) {
    this.#coefficient = 2 * Math.cos((2 * Math.PI * hertz) / sampleRate);
  }

  /** Takes samples `from` to `to` of a block. */
  take(samples: Int16Array, from: number, to: number): void {
    const coefficient = this.#coefficient;
    let s1 = this.#s1;
    let s2 = this.#s2;
    for (let index = from; index < to; index++) {
      const s0 = samples[index]! + coefficient * s1 - s2;
      s2 = s1;
      s1 = s0;
    }
    this.#s1 = s1;
    this.#s2 = s2;
  }

  /** Ends the block. @returns the squared amplitude times a quarter of the squared number of samples. */
  power(): number {
    const power = this.#s1 * this.#s1 + this.#s2 * this.#s2 - this.#coefficient * this.#s1 * this.#s2;
    this.#s1 = 0;
    this.#s2 = 0;
    return power;
  }
}
