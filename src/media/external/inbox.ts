type InboxOptions = {
  /** Whether the next one may be dealt with. */
  mayGoOn: () => boolean;
  /** Stops reading the connection; what has been read already still comes. */
  pause: () => void;
  resume: () => void;
};

/** Messages of a server, in order. While they must wait the connection is not read. */
export class Inbox {
  readonly #options: InboxOptions;
  #waiting: (() => void)[] = [];
  #closed = false;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** Processes a message, or queues it behind waiting ones. */
  put(dealWith: () => void): void {
    if (this.#closed) return;
    if (this.#waiting.length === 0 && this.#options.mayGoOn()) {
      dealWith();
      return;
    }
    if (this.#waiting.push(dealWith) === 1) this.#options.pause();
  }

  /** Processes waiting messages, as far as allowed. */
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
