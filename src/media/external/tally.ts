/** Fixed cost of a message, so that many small ones count, too. */
const messageCost = 64;

/** Cost of a message between threads, in octets. */
export function weightOf(message: Uint8Array | string): number {
  return messageCost + message.length;
}

/** Reports accepted data to the other thread, in batches, before the sender has to wait. */
export class Tally {
  readonly #most: number;
  readonly #tell: (octets: number) => void;
  #octets = 0;

  /** @param bound octets that may be under way. */
  constructor(bound: number, tell: (octets: number) => void) {
    this.#most = bound / 4;
    this.#tell = tell;
  }

  add(octets: number): void {
    this.#octets += octets;
    if (this.#octets < this.#most) return;
    const told = this.#octets;
    this.#octets = 0;
    this.#tell(told);
  }
}
