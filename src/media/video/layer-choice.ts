import type { Layer } from './layers.ts';

/**
 * What is known of the bit rate that a viewer can take. `open`: it has never complained. `bounded`: no more than it has
 * proved. `trying`: the next larger size is shown, to see whether it complains: estimates of receivers grow only with
 * what they receive. Inputs: `complained` (its estimate fell below what it gets, or it lost much), `due`: time for the next
 * step.
 */
const choiceStates = {
  open: { complained: 'bounded', due: 'open' },
  bounded: { complained: 'bounded', due: 'trying' },
  trying: { complained: 'bounded', due: 'bounded' },
} as const;

type ChoiceState = keyof typeof choiceStates;

/** Times of tries in ms: how long one takes, and how long the first and the last of several that fail are waited for. */
const tries = { takesMs: 4000, firstMs: 5000, lastMs: 80_000 };
/** What was sent before a smaller size came says nothing for so long, in ms. */
const settlingMs = 2000;
/** Shares of packets that are lost: from here on nothing is tried, and it is a complaint. */
const lossy = { careful: 0.02, complains: 0.1 };
/** How far a measured rate may be above a bound: for a size that is shown, and for another one. */
const tolerance = { shown: 1.1, other: 0.95 };

/** Chooses the largest size of a picture that a viewer can take: by its description, its estimates and its losses. */
export class LayerChoice {
  #state: ChoiceState = 'open';
  /** Bit/s that it has taken without complaint. */
  #proved = Number.POSITIVE_INFINITY;
  #estimate = Number.POSITIVE_INFINITY;
  /** When the next step is due, and when it complained last, monotonic ms. */
  #dueAt = Number.POSITIVE_INFINITY;
  #complainedAt = Number.NEGATIVE_INFINITY;
  #waitMs = tries.firstMs;
  /** The size that is being tried. */
  #tried: number | undefined;

  get state(): ChoiceState {
    return this.#state;
  }

  /** Its estimate of what it can receive. @param sent what it is sent, in bit/s. @param now monotonic ms. */
  estimated(bitrate: number, sent: number, now: number): void {
    const fell = bitrate < this.#estimate;
    this.#estimate = bitrate;
    if (fell && bitrate < sent) this.#complain(bitrate, now);
    else if (this.#state === 'bounded' && bitrate > this.#proved) this.#proved = bitrate;
  }

  /** It has lost a share of what it was sent, from 0 to 1. @param sent and now: as above. */
  lost(share: number, sent: number, now: number): void {
    if (share >= lossy.complains) this.#complain(sent * (1 - share), now);
    else if (share >= lossy.careful && this.#state === 'bounded')
      this.#dueAt = Math.max(this.#dueAt, now + this.#waitMs);
  }

  /**
   * The size that is to be shown; undefined while none is measured.
   * @param ranked sizes from the lowest bit rate to the highest. @param shown the present one. @param most bit/s that it accepts
   * by its own words. @param now monotonic ms.
   */
  choose(ranked: readonly Layer[], shown: number | undefined, most: number, now: number): number | undefined {
    const present = ranked.find(({ layer }) => layer === shown);
    if (present && this.#state !== 'open' && now - this.#complainedAt > settlingMs && this.#tried === undefined)
      this.#proved = Math.max(this.#proved, present.bitrate);
    if (now >= this.#dueAt) this.#step(ranked, present, most, now);
    const tried = this.#state === 'trying' && ranked.find(({ layer }) => layer === this.#tried);
    if (tried && tried.bitrate <= most) return tried.layer;
    const bound = Math.min(this.#proved, most);
    const fits = ({ layer, bitrate }: Layer): boolean =>
      bitrate <= bound * (layer === shown ? tolerance.shown : tolerance.other);
    return (ranked.findLast(fits) ?? ranked[0])?.layer;
  }

  #step(ranked: readonly Layer[], present: Layer | undefined, most: number, now: number): void {
    const before = this.#state;
    const next = present && ranked[ranked.indexOf(present) + 1];
    if (before === 'bounded' && !(next && next.bitrate <= most)) return;
    this.#state = choiceStates[before].due;
    if (this.#state === 'trying') {
      this.#tried = next?.layer;
      this.#dueAt = now + tries.takesMs;
      return;
    }
    // It took the size that was tried.
    if (present && present.layer === this.#tried) {
      this.#proved = Math.max(this.#proved, present.bitrate);
      this.#waitMs = tries.firstMs;
    }
    this.#tried = undefined;
    this.#dueAt = now + this.#waitMs;
  }

  #complain(bitrate: number, now: number): void {
    if (this.#state === 'trying') this.#waitMs = Math.min(tries.lastMs, 2 * this.#waitMs);
    this.#state = choiceStates[this.#state].complained;
    this.#tried = undefined;
    this.#proved = Math.min(this.#proved, bitrate);
    this.#complainedAt = now;
    this.#dueAt = now + this.#waitMs;
  }
}
