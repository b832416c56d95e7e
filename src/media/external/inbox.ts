type InboxOptions = {
  /** Whether the next message may be dealt with. */
  mayGoOn: () => boolean;
  /** Stops reading the connection; what has been read already still comes. */
  pause: () => void;
  resume: () => void;
};

/** Deals with the next message of something that was read. @returns whether it may hold another one. */
type Work = () => boolean;

/** What was read from a server, in order. While its messages must wait the connection is not read. */
export class Inbox {
  readonly #options: InboxOptions;
  #waiting: Work[] = [];
  #closed = false;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** Processes a message, or queues it behind what waits. */
  put(dealWith: () => void): void {
    this.putAll(() => {
      dealWith();
      return false;
    });
  }

  /** Processes what was read, message by message, or queues the rest behind what waits. */
  putAll(work: Work): void {
    if (this.#closed) return;
    if (this.#waiting.length === 0 && this.#finishes(work)) return;
    if (this.#waiting.push(work) === 1) this.#options.pause();
  }

  /** Processes what waits, as far as allowed. */
  goOn(): void {
    let done = 0;
    while (done < this.#waiting.length && this.#finishes(this.#waiting[done]!)) done++;
    if (done === 0 || this.#closed) return;
    this.#waiting = this.#waiting.slice(done);
    if (this.#waiting.length === 0) this.#options.resume();
  }

  /** Forgets what waits. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  #finishes(work: Work): boolean {
    while (!this.#closed && this.#options.mayGoOn()) if (!work()) return true;
    return this.#closed;
  }
}
