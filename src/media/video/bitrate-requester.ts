import type { LimitHit } from '../../lib/limit-counts.ts';
import { mostBitrate } from './feedback.ts';

type BitrateAskerOptions = {
  /** How often the source is told another bit rate, at most, in ms. */
  everyMs: number;
  /** Bit/s that it is asked for at least. */
  lowest: number;
  /** Hears that it was asked for more than somebody takes. */
  hit: LimitHit;
  /** Asks the source to send no more bit/s than these; false where that cannot be done (yet). */
  send: (bitrate: number) => boolean;
};

/** How often a bound that holds is said once more, in ms: what was lost, or forgotten by the source, is mended by that. */
const repeatMs = 5000;
/** How often a source is told that it may send as it likes. */
const freedTimes = 3;

/**
 * How it stands with a source. It is `free` until somebody takes less than all; `bound` is said again and again; `freed` a few
 * times, as it may be lost. By what is wanted (`all`, `less`), and by `said`: the last time of being freed was said.
 */
const bitrateStates = {
  free: { all: 'free', less: 'bound', said: 'free' },
  bound: { all: 'freed', less: 'bound', said: 'bound' },
  freed: { all: 'freed', less: 'bound', said: 'free' },
} as const;

type BitrateState = keyof typeof bitrateStates;

/** Asks a source to send no more than those take who are shown it: the least of all, not more often than is allowed. */
export class BitrateRequester {
  readonly #options: BitrateAskerOptions;
  #state: BitrateState = 'free';
  #wanted = mostBitrate;
  /** What it was told last, when, and how often since. */
  #said = mostBitrate;
  #at = Number.NEGATIVE_INFINITY;
  #times = 0;
  /** What viewers take may be another than what was wanted last. */
  isChanged = false;

  constructor(options: BitrateAskerOptions) {
    this.#options = options;
  }

  get state(): BitrateState {
    return this.#state;
  }

  /** Bit/s that the source is asked for; undefined while it may send as it likes. */
  get told(): number | undefined {
    return this.#said === mostBitrate ? undefined : this.#said;
  }

  changed(): void {
    this.isChanged = true;
  }

  /** @param bitrate what those take who are shown the source, in bit/s; Infinity = all there is. */
  want(bitrate: number): void {
    const { lowest, hit } = this.#options;
    this.isChanged = false;
    const wanted = Math.min(mostBitrate, Math.max(lowest, bitrate));
    if (wanted === this.#wanted) return;
    if (wanted > bitrate) hit('media.video.lowest_bitrate');
    this.#wanted = wanted;
    this.#times = 0;
    this.#state = bitrateStates[this.#state][wanted === mostBitrate ? 'all' : 'less'];
  }

  /** The source may not know it (any more). */
  again(): void {
    this.#times = 0;
  }

  /** @param now monotonic ms. */
  tick(now: number): void {
    if (this.#state === 'free') return;
    const { everyMs, send } = this.#options;
    const sinceMs = now - this.#at;
    if (sinceMs < everyMs || (this.#times > 0 && sinceMs < repeatMs) || !send(this.#wanted)) return;
    this.#said = this.#wanted;
    this.#at = now;
    this.#times++;
    if (this.#state === 'freed' && this.#times >= freedTimes) this.#state = bitrateStates.freed.said;
  }
}
