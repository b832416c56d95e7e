import { sourceNetwork } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { type LimitHit, uncounted } from '../../lib/limit-counts.ts';
import type { Logger } from '../../lib/log.ts';
import type { KnownPeers } from './known-peers.ts';
import type { Source } from './transport.ts';

/** How many messages of unknown peers are parsed. */
export type RateLimits = {
  /** Messages per second of one address (of IPv6: of one /64 network), and the burst. */
  readonly sourceRate: number;
  readonly sourceBurst: number;
  /** Messages per second of all such addresses together that have no known neighbour. */
  readonly strangerRate: number;
  /** Tracked addresses; beyond it the one that was quiet longest is dropped. */
  readonly sources: number;
};

export const defaultRateLimits: RateLimits = {
  sourceRate: 50,
  sourceBurst: 200,
  strangerRate: 2_000,
  sources: 20_000,
};

/** Decides whether a message is parsed. */
export interface RateLimiter {
  admits(source: Source): boolean;
  /** Sets the one test for addresses that shall not be heard at all, unless they are known. */
  ignore(isIgnored: (address: string) => boolean): void;
  /** Applies other limits; the counts of strangers start again. */
  reconfigure(limits: RateLimits): void;
  /** Messages that were not read since the start. */
  readonly refused: number;
}

type RateLimiterOptions = {
  readonly limits?: Partial<RateLimits> | undefined;
  readonly peers: KnownPeers;
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts limits that were reached. */
  readonly hit?: LimitHit | undefined;
};

/** A sender below this rate is quiet, and has a share of its own. */
const QUIET = 10;
const REPORT_EVERY_MS = 60_000;

/**
 * Lets known peers pass and limits the rate of unknown ones. Half of their total rate is reserved for quiet addresses,
 * so that a new phone gets through during a flood.
 */
export function createRateLimiter({
  limits: start,
  peers,
  clock,
  log,
  hit = uncounted,
}: RateLimiterOptions): RateLimiter {
  let limits: RateLimits = { ...defaultRateLimits, ...start };
  /** In the order of last use. */
  const buckets = new Map<string, Bucket>();
  const half = (): Bucket => new Bucket(limits.strangerRate / 2, limits.strangerRate / 2, clock.monotonic());
  let quiet = half();
  let loud = half();
  let isIgnored = (_address: string) => false;
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  let told = 0;

  const bucketOf = (address: string, now: number): Bucket => {
    const network = sourceNetwork(address);
    const bucket = buckets.get(network) ?? new Bucket(limits.sourceRate, limits.sourceBurst, now);
    buckets.delete(network);
    buckets.set(network, bucket);
    if (buckets.size > limits.sources) {
      buckets.delete(buckets.keys().next().value!);
      hit('sip.limits.sources');
    }
    return bucket;
  };

  const refuse = (source: Source, now: number, limit?: string): false => {
    refused++;
    if (limit !== undefined) hit(limit);
    if (now - toldAt >= REPORT_EVERY_MS) {
      log.warn(
        { messages: refused - told, last: source.address },
        'dropped SIP messages of unknown peers over the rate limit',
      );
      toldAt = now;
      told = refused;
    }
    return false;
  };

  return {
    admits(source) {
      if (peers.isKnown(source)) return true;
      const now = clock.monotonic();
      if (isIgnored(source.address)) return refuse(source, now);
      const own = bucketOf(source.address, now);
      const isQuiet = own.left(now) >= limits.sourceBurst - QUIET;
      if (!own.take(now)) return refuse(source, now, 'sip.limits.source_rate');
      if (peers.hasNeighbour(source.address) || (isQuiet ? quiet : loud).take(now)) return true;
      return refuse(source, now, 'sip.limits.stranger_rate');
    },
    ignore(test) {
      isIgnored = test;
    },
    reconfigure(next) {
      limits = next;
      buckets.clear();
      quiet = half();
      loud = half();
    },
    get refused() {
      return refused;
    },
  };
}

/** A token bucket: tokens per second, and burst. */
class Bucket {
  readonly #perMs: number;
  readonly #most: number;
  #tokens: number;
  #at: number;

  constructor(perSecond: number, most: number, now: number) {
    this.#perMs = perSecond / 1000;
    this.#most = most;
    this.#tokens = most;
    this.#at = now;
  }

  left(now: number): number {
    this.#tokens = Math.min(this.#most, this.#tokens + (now - this.#at) * this.#perMs);
    this.#at = now;
    return this.#tokens;
  }

  take(now: number): boolean {
    if (this.left(now) < 1) return false;
    this.#tokens--;
    return true;
  }
}
