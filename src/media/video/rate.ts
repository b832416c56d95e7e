/** Burst beyond the rate, in seconds of it: a key frame is larger than others. */
const burstSeconds = 1;

/**
 * Rate limit of a far side (RFC 3556, RFC 3890, RFC 5104 4.2.1). Frames are never cut: the excess of one is taken from
 * the next, so that the average holds.
 */
export class Rate {
  #octetsPerMs = Number.POSITIVE_INFINITY;
  #left = 0;
  #at = 0;

  /** @param bitsPerSecond undefined = as much as there is. @param now monotonic ms. */
  limit(bitsPerSecond: number | undefined, now: number): void {
    const before = this.#octetsPerMs;
    const next = bitsPerSecond === undefined ? Number.POSITIVE_INFINITY : bitsPerSecond / 8000;
    if (before === next) return;
    const left = before === Number.POSITIVE_INFINITY ? Number.POSITIVE_INFINITY : this.#leftAt(now);
    this.#octetsPerMs = next;
    this.#at = now;
    // Debt stays, but for no longer than sending that much takes.
    this.#left = next === Number.POSITIVE_INFINITY ? 0 : Math.min(this.#most, Math.max(-this.#most, left));
  }

  /** Whether another frame may begin. */
  admits(now: number): boolean {
    if (this.#octetsPerMs === Number.POSITIVE_INFINITY) return true;
    this.#left = this.#leftAt(now);
    this.#at = now;
    return this.#left > 0;
  }

  /** Whether a key frame fits again. */
  recovered(now: number): boolean {
    return this.admits(now) && (this.#octetsPerMs === Number.POSITIVE_INFINITY || this.#left >= this.#most / 2);
  }

  took(octets: number): void {
    this.#left -= octets;
  }

  #leftAt(now: number): number {
    return Math.min(this.#most, this.#left + (now - this.#at) * this.#octetsPerMs);
  }

  get #most(): number {
    return burstSeconds * 1000 * this.#octetsPerMs;
  }
}
