/** Magnitude up to which a sum is passed unchanged; above it is bent towards the end of the scale. */
const knee = 24_576;
const top = 32_767;
const room = top - knee;

/**
 * A sum of voices as a 16-bit sample. Up to three quarters of the scale it is unchanged, then compressed, so that it
 * never exceeds the scale. The curve has no corner: loud parties are compressed without distortion.
 */
export function limit(sum: number): number {
  if (sum > knee) return top - Math.ceil((room * room) / (sum - knee + room));
  if (sum < -knee) return Math.ceil((room * room) / (room - knee - sum)) - top;
  return sum;
}

/**
 * The sum of all members in one tick, from which each hears all but itself. Frames hold 16-bit samples of one rate;
 * shorter ones end with silence. The sums suffice for 65,536 members.
 */
export class MixBuffer {
  readonly #sums: Int32Array;
  #used = 0;

  /** @param samples of the longest frame. */
  constructor(samples: number) {
    this.#sums = new Int32Array(samples);
  }

  /** Samples of the longest frame. */
  get length(): number {
    return this.#sums.length;
  }

  /** Begins the next tick. */
  clear(): void {
    this.#sums.fill(0, 0, this.#used);
    this.#used = 0;
  }

  /** Adds what a member says. */
  add(frame: Int16Array): void {
    const sums = this.#sums;
    const count = Math.min(frame.length, sums.length);
    for (let index = 0; index < count; index++) sums[index]! += frame[index]!;
    if (count > this.#used) this.#used = count;
  }

  /** Fills `target` with the sum of all. */
  all(target: Int16Array): void {
    const sums = this.#sums;
    const count = Math.min(target.length, sums.length);
    for (let index = 0; index < count; index++) target[index] = limit(sums[index]!);
  }

  /** Fills `target` with the sum of all but a member's own frame, which must have been added; the two may be the same. */
  others(own: Int16Array, target: Int16Array): void {
    const sums = this.#sums;
    const count = Math.min(target.length, sums.length);
    const said = Math.min(count, own.length);
    for (let index = 0; index < said; index++) target[index] = limit(sums[index]! - own[index]!);
    for (let index = said; index < count; index++) target[index] = limit(sums[index]!);
  }
}

/** Adds `frame` to `target` in place, limited in the same way: an announcement over music, a whisper over speech. */
export function addInto(target: Int16Array, frame: Int16Array): void {
  const count = Math.min(target.length, frame.length);
  for (let index = 0; index < count; index++) target[index] = limit(target[index]! + frame[index]!);
}
