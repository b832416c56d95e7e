import { parseDecimal } from './scan.ts';

/**
 * The longest accepted time of a peer, in seconds: about 24 days, which fit a timer in ms (2^31 − 1). All times in
 * messages are read by `deltaSeconds`, so none is longer.
 */
const MAX_DELTA_SECONDS = 2_147_483;

/**
 * Reads `delta-seconds` (RFC 3261 25.1: Expires, Min-SE, Session-Expires, Retry-After, `expires` of contacts and
 * subscriptions): digits only, up to 2^32 − 1. Longer times count as our longest.
 * @returns undefined for anything else: it counts as left out (RFC 4475 3.1.2.4).
 */
export function deltaSeconds(text: string | undefined): number | undefined {
  const seconds = parseDecimal(text ?? '', 2 ** 32 - 1);
  return seconds < 0 ? undefined : Math.min(seconds, MAX_DELTA_SECONDS);
}
