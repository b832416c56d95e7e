/** Requests key frames for many viewers, within the allowed rate: requests in between become one. */
export class KeyFrameRequester {
  readonly #everyMs: number;
  readonly #send: () => boolean;
  #at = Number.NEGATIVE_INFINITY;
  #wanted = false;
  /** How often it was asked. */
  asked = 0;

  /** @param perSecond highest rate of requests. @param send sends one; false if that is impossible (yet). */
  constructor(perSecond: number, send: () => boolean) {
    this.#everyMs = 1000 / perSecond;
    this.#send = send;
  }

  /** @param now monotonic ms. */
  ask(now: number): void {
    this.#wanted = true;
    this.tick(now);
  }

  /** A key frame has come: it answers all earlier requests. */
  arrived(): void {
    this.#wanted = false;
  }

  tick(now: number): void {
    if (!this.#wanted || now - this.#at < this.#everyMs || !this.#send()) return;
    this.#wanted = false;
    this.#at = now;
    this.asked++;
  }
}
