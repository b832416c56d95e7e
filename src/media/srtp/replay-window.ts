/** Replay window of 64 packets, the minimum of RFC 3711 3.3.2. */
export class ReplayWindow {
  static readonly size = 64;
  /** The largest index that was taken; -1 before the first. */
  #highest = -1;
  /** Bit n: the index n below the largest one was taken. Two halves, as numbers have 32 bits here. */
  #near = 0;
  #far = 0;

  /** @param highest the largest index that was taken before: nothing up to it is admitted. */
  constructor(highest = -1) {
    this.#highest = highest;
    if (highest < 0) return;
    this.#near = -1;
    this.#far = -1;
  }

  /** Whether an index is neither too old nor already received. */
  admits(index: number): boolean {
    const behind = this.#highest - index;
    if (behind < 0) return true;
    if (behind >= ReplayWindow.size) return false;
    return behind < 32 ? (this.#near & (1 << behind)) === 0 : (this.#far & (1 << (behind - 32))) === 0;
  }

  /** Notes one that is proved. */
  take(index: number): void {
    const ahead = index - this.#highest;
    if (ahead > 0) {
      this.#shift(ahead);
      this.#highest = index;
      this.#near |= 1;
      return;
    }
    const behind = -ahead;
    if (behind < 32) this.#near |= 1 << behind;
    else if (behind < ReplayWindow.size) this.#far |= 1 << (behind - 32);
  }

  #shift(by: number): void {
    if (by >= ReplayWindow.size) {
      this.#near = 0;
      this.#far = 0;
    } else if (by >= 32) {
      this.#far = by === 32 ? this.#near : this.#near << (by - 32);
      this.#near = 0;
    } else {
      this.#far = (this.#far << by) | (this.#near >>> (32 - by));
      this.#near <<= by;
    }
  }
}
