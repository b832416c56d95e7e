type InboxOptions = {
  /** Whether the next one may be dealt with. */
  mayGoOn: () => boolean;
  /** Stops reading the connection; what has been read already still comes. */
  pause: () => void;
  resume: () => void;
};

/** What a server sent, one by one. While it may not be dealt with it waits in order, and the connection is not read. */
export class Inbox {
  readonly #options: InboxOptions;
  #waiting: (() => void)[] = [];
  #closed = false;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** Deals with it at once, or behind what waits. */
  put(dealWith: () => void): void {
    if (this.#closed) return;
    if (this.#waiting.length === 0 && this.#options.mayGoOn()) {
      dealWith();
      return;
    }
    if (this.#waiting.push(dealWith) === 1) this.#options.pause();
  }

  /** Deals with what waits, as far as it may. */
  goOn(): void {
    const { mayGoOn, resume } = this.#options;
    let done = 0;
    while (done < this.#waiting.length && mayGoOn()) this.#waiting[done++]!();
    if (done === 0 || this.#closed) return;
    this.#waiting = this.#waiting.slice(done);
    if (this.#waiting.length === 0) resume();
  }

  /** Forgets what waits. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }
}
