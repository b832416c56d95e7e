/** What may go out at once beyond the rate, in s of it: a key frame is larger than others. */
const burstSeconds = 1;

/**
 * How much a far side takes (RFC 3556, RFC 3890, RFC 5104 4.2.1). Frames that have begun are not cut: what one was too large is taken from
 * those that follow, so that on average no more goes out.
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
    // What was used up stays so, but is owed for no longer than it takes to send as much.
    this.#left = next === Number.POSITIVE_INFINITY ? 0 : Math.min(this.#most, Math.max(-this.#most, left));
  }

  /** Whether another frame may begin. */
  admits(now: number): boolean {
    if (this.#octetsPerMs === Number.POSITIVE_INFINITY) return true;
    this.#left = this.#leftAt(now);
    this.#at = now;
    return this.#left > 0;
  }

  /** Whether there is room for a key frame again. */
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
