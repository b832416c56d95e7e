import type { LimitHit } from '../../lib/limit-counts.ts';
import { mostBitrate } from './feedback.ts';

type BitrateRequesterOptions = {
  /** Shortest interval between different bit rates, in ms. */
  everyMs: number;
  /** Bit/s that it is asked for at least. */
  lowest: number;
  /** Counts requests below a viewer's rate. */
  hit: LimitHit;
  /** Requests a bit rate in bit/s; false if that is impossible (yet). */
  send: (bitrate: number) => boolean;
};

/** Interval of repeating a bound, in ms: it repairs lost or forgotten requests. */
const repeatMs = 5000;
/** Number of messages that lift a bound. */
const freedTimes = 3;

/**
 * State of the requests to a source. `free`: no bound. `bound`: repeated. `freed`: lifting the bound is repeated a few
 * times, as messages may be lost. Inputs: the wanted rate (`all`, `less`), and `said`: the last message of lifting.
 */
const bitrateStates = {
  free: { all: 'free', less: 'bound', said: 'free' },
  bound: { all: 'freed', less: 'bound', said: 'bound' },
  freed: { all: 'freed', less: 'bound', said: 'free' },
} as const;

type BitrateState = keyof typeof bitrateStates;

/** Requests the lowest bit rate that the viewers accept, within the allowed rate of requests. */
export class BitrateRequester {
  readonly #options: BitrateRequesterOptions;
  #state: BitrateState = 'free';
  #wanted = mostBitrate;
  /** Last requested rate, its time, and its repetitions. */
  #said = mostBitrate;
  #at = Number.NEGATIVE_INFINITY;
  #times = 0;
  /** Whether the viewers' lowest rate may have changed. */
  isChanged = false;

  constructor(options: BitrateRequesterOptions) {
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

  /** The source may have lost the request. */
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
