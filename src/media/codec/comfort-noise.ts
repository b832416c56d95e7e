/** Reflection coefficients beyond these say nothing a telephone could sound (RFC 3389 section 3.3 leaves it open). */
const mostCoefficients = 12;
/** A reflection of 1 would never decay. */
const strongestReflection = 0.97;
/** Amplitude of 0 dBov: a square wave at the end of the scale (RFC 3389 section 3.1). */
const overload = 32_768;

/**
 * Noise in place of packets that a far side with silence suppression does not send (RFC 3389). White, or coloured if
 * the far side described its spectrum. Samples at any rate.
 */
export class ComfortNoise {
  #state: number;
  #amplitude = 0;
  #reflections = new Float64Array(0);
  #lattice = new Float64Array(1);

  /** @param seed of the pseudo-random numbers, any integer. */
  constructor(seed = 1) {
    this.#state = seed | 0 || 1;
  }

  /** Takes over what a packet of comfort noise describes: its level in −dBov (0 to 127), then reflections. */
  update(payload: Uint8Array): void {
    if (payload.length === 0) return;
    const count = Math.min(payload.length - 1, mostCoefficients);
    this.#reflections = Float64Array.from({ length: count }, (_, index) => {
      const reflection = (payload[index + 1]! - 127) / 128;
      return Math.max(-strongestReflection, Math.min(strongestReflection, reflection));
    });
    this.#lattice = new Float64Array(count + 1);
    // Each reflection of the synthesis filter raises the power by 1 / (1 − k²).
    let gain = 1;
    for (const k of this.#reflections) gain *= Math.sqrt(1 - k * k);
    const rms = overload * 10 ** (-(payload[0]! & 0x7f) / 20);
    // Evenly distributed numbers between −1 and 1 have an RMS of 1 / √3.
    this.#amplitude = rms * gain * Math.sqrt(3);
  }

  /** Fills `count` samples of `target` from `at` with noise. */
  fill(target: Int16Array, at: number, count: number): void {
    for (let index = 0; index < count; index++) {
      const sample = Math.round(this.#shape(this.#random() * this.#amplitude));
      target[at + index] = sample > 32_767 ? 32_767 : sample < -32_768 ? -32_768 : sample;
    }
  }

  /** The all-pole lattice of the reflections. */
  #shape(excitation: number): number {
    const reflections = this.#reflections;
    const lattice = this.#lattice;
    let forward = excitation;
    for (let index = reflections.length - 1; index >= 0; index--) {
      forward -= reflections[index]! * lattice[index]!;
      lattice[index + 1] = lattice[index]! + reflections[index]! * forward;
    }
    lattice[0] = forward;
    return forward;
  }

  /** Between −1 and 1 (xorshift, 32 bits). */
  #random(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return state / 2 ** 31;
  }
}
