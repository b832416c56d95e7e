/**
 * Packet loss concealment: the last pitch period is repeated and faded (after ITU-T G.711 appendix I, for any sampling
 * rate). It adds no delay. It holds no samples back for a cross-fade. It spreads the step between the last sample and
 * the next period over its beginning.
 */

/** Longest and shortest period of a voice, in ms: 66 to 400 Hz. */
const longestPeriodMs = 15;
const shortestPeriodMs = 2.5;
/** How much is compared to find the period, in ms. */
const comparedMs = 20;
/** The period is compared at about this rate, in Hz: what is above says nothing about it. */
const comparedRate = 8000;
/** End of full volume, and begin of silence of concealed audio, in ms. */
const fullUntilMs = 10;
const silentAfterMs = 60;
/** How long what arrives again is faded in over what was made up, in ms. */
const backMs = 5;
/** Share of the period that is blended with the samples before it. */
const blendShare = 0.25;

/** Space behind the history before it is moved, in ms. */
const roomMs = 100;

/** Conceals losses of one stream. */
export class Concealer {
  readonly #perMs: number;
  /** The last audio, up to {@link #end}, with space behind it so that it is seldom moved. */
  readonly #history: Int16Array;
  /** Samples of it that are looked at. */
  readonly #remembered: number;
  #end: number;
  readonly #period: Float64Array;
  /** Samples of the period found, and where in it the next one is. */
  #length = 0;
  #at = 0;
  /** The step at the seam, spread over its first samples. */
  #step = 0;
  #stepSamples = 0;
  /** Samples made up since the last that was heard; 0 = nothing is lost. */
  #lost = 0;

  /** @param sampleRate in Hz. */
  constructor(sampleRate: number) {
    this.#perMs = sampleRate / 1000;
    this.#remembered = Math.ceil((longestPeriodMs * (1 + blendShare) + comparedMs) * this.#perMs);
    this.#history = new Int16Array(this.#remembered + Math.ceil(roomMs * this.#perMs));
    this.#end = this.#remembered;
    this.#period = new Float64Array(Math.ceil(longestPeriodMs * this.#perMs));
  }

  /**
   * Takes samples that arrived. After a loss their beginning is changed in place: faded in over what was made up, so that
   * nothing clicks.
   */
  heard(samples: Int16Array): void {
    if (this.#lost > 0) this.#fadeBack(samples);
    this.#lost = 0;
    this.#remember(samples);
  }

  /** The audio breaks off here without a loss: the next audio is faded in over its continuation. */
  interrupted(): void {
    if (this.#lost > 0) return;
    this.#findPeriod();
    this.#lost = 1;
  }

  /** Fills `target` with what a lost packet most likely sounded like; after 60 ms without packets with silence. */
  conceal(target: Int16Array): void {
    if (this.#lost === 0) this.#findPeriod();
    for (let index = 0; index < target.length; index++) target[index] = Math.round(this.#next());
    // Packets may be lost in turn: the one between two losses is too short to find a period in.
    this.#remember(target);
  }

  /** Forgets the stream: another one begins. */
  reset(): void {
    this.#history.fill(0);
    this.#lost = 0;
  }

  #next(): number {
    const elapsed = this.#lost++;
    const fade = this.#gain(elapsed / this.#perMs);
    if (fade === 0) return 0;
    const sample = this.#period[this.#at]!;
    this.#at = this.#at + 1 === this.#length ? 0 : this.#at + 1;
    const step = elapsed < this.#stepSamples ? this.#step * (1 - elapsed / this.#stepSamples) : 0;
    const value = (sample + step) * fade;
    return value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value;
  }

  #gain(ms: number): number {
    if (ms <= fullUntilMs) return 1;
    return ms >= silentAfterMs ? 0 : (silentAfterMs - ms) / (silentAfterMs - fullUntilMs);
  }

  #fadeBack(samples: Int16Array): void {
    const count = Math.min(samples.length, Math.round(backMs * this.#perMs));
    for (let index = 0; index < count; index++) {
      const share = (index + 1) / (count + 1);
      samples[index] = Math.round(samples[index]! * share + this.#next() * (1 - share));
    }
  }

  #remember(samples: Int16Array): void {
    const history = this.#history;
    const most = this.#remembered;
    if (samples.length >= most) {
      history.set(samples.subarray(samples.length - most));
      this.#end = most;
      return;
    }
    if (this.#end + samples.length > history.length) {
      const kept = most - samples.length;
      history.copyWithin(0, this.#end - kept, this.#end);
      this.#end = kept;
    }
    history.set(samples, this.#end);
    this.#end += samples.length;
  }

  /** Finds the period that the history ends with and makes it a loop. */
  #findPeriod(): void {
    const history = this.#history;
    const length = this.#bestLag();
    const end = this.#end;
    const start = end - length;
    const blend = Math.floor(length * blendShare);
    for (let index = 0; index < length; index++) this.#period[index] = history[start + index]!;
    // Blends the end into the samples before the beginning, so that the period can repeat.
    for (let index = 0; index < blend; index++) {
      const share = (index + 1) / (blend + 1);
      const at = length - blend + index;
      this.#period[at] = this.#period[at]! * (1 - share) + history[start - blend + index]! * share;
    }
    this.#length = length;
    this.#at = 0;
    this.#step = history[end - 1]! - history[start - 1]!;
    this.#stepSamples = Math.max(1, blend);
  }

  /** The lag at which the end of the history resembles what came before, in samples. */
  #bestLag(): number {
    const every = Math.max(1, Math.floor((this.#perMs * 1000) / comparedRate));
    const shortest = Math.round(shortestPeriodMs * this.#perMs);
    const longest = Math.floor(longestPeriodMs * this.#perMs);
    let best = shortest;
    let bestLikeness = Number.NEGATIVE_INFINITY;
    for (let lag = shortest; lag <= longest; lag += every) {
      const likeness = this.#likeness(lag, every);
      if (likeness <= bestLikeness) continue;
      best = lag;
      bestLikeness = likeness;
    }
    if (every === 1) return best;
    let finest = best;
    bestLikeness = Number.NEGATIVE_INFINITY;
    for (let lag = Math.max(shortest, best - every + 1); lag < Math.min(longest, best + every); lag++) {
      const likeness = this.#likeness(lag, 1);
      if (likeness <= bestLikeness) continue;
      finest = lag;
      bestLikeness = likeness;
    }
    return finest;
  }

  /** Normalized correlation of the end of the history with itself `lag` samples earlier, by every so many samples. */
  #likeness(lag: number, every: number): number {
    const history = this.#history;
    let product = 0;
    let power = 1;
    const end = this.#end;
    for (let at = end - Math.floor(comparedMs * this.#perMs); at < end; at += every) {
      const before = history[at - lag]!;
      product += history[at]! * before;
      power += before * before;
    }
    return product <= 0 ? 0 : (product * product) / power;
  }
}
