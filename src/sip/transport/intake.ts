import type { Clock } from '../../lib/clock.ts';
import type { Source } from './transport.ts';

type IntakeOptions = {
  clock: Pick<Clock, 'monotonic' | 'soon'>;
  /** Datagrams that may wait. Beyond this new ones are dropped; peers retransmit. */
  most: number;
  take(bytes: Buffer, source: Source): void;
  /** A datagram was dropped. */
  full(): void;
};

type Waiting = { bytes: Buffer; source: Source; at: number };

/** Time that datagrams may take in one turn of the event loop, in ms. */
const turnMs = 2;
/** Datagrams belong to one turn if they follow each other within this, in ms. */
const gapMs = 0.05;

/**
 * Takes datagrams as they come, and lets them wait while there are more than can be handled. Reading them from the socket is
 * cheap. In the socket's own buffer nobody could see how long they wait, and the kernel would drop what does not fit.
 */
export class Intake {
  readonly #options: IntakeOptions;
  #queue: Waiting[] = [];
  /** Index in the queue of the oldest one that waits. */
  #next = 0;
  /** When datagrams began to follow each other, and when the last one was handled. */
  #began = 0;
  #ended = Number.NEGATIVE_INFINITY;
  #closed = false;

  /** How long the datagram waited that is being handled, in ms. */
  waitedMs = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Takes a datagram that was read: at once, or later in its turn. */
  arrived(bytes: Buffer, source: Source): void {
    const now = this.#options.clock.monotonic();
    const waiting = this.#queue.length - this.#next;
    if (waiting === 0) {
      if (now - this.#ended > gapMs) this.#began = now;
      if (now - this.#began <= turnMs) {
        this.#options.take(bytes, source);
        this.#ended = this.#options.clock.monotonic();
        return;
      }
      this.#options.clock.soon(() => this.#goOn());
    }
    if (waiting >= this.#options.most) this.#options.full();
    else this.#queue.push({ bytes, source, at: now });
  }

  /** Drops what waits. */
  close(): void {
    this.#closed = true;
    this.#queue = [];
    this.#next = 0;
  }

  #goOn(): void {
    const { clock } = this.#options;
    const began = clock.monotonic();
    for (let now = began; now - began <= turnMs && this.#next < this.#queue.length; now = clock.monotonic()) {
      const { bytes, source, at } = this.#queue[this.#next++]!;
      this.waitedMs = now - at;
      this.#options.take(bytes, source);
    }
    this.waitedMs = 0;
    this.#ended = clock.monotonic();
    this.#began = this.#ended;
    if (this.#closed) return;
    const isEmpty = this.#next === this.#queue.length;
    // Half of the list at a time, so that each is moved once.
    if (isEmpty || this.#next > this.#queue.length / 2) {
      this.#queue = isEmpty ? [] : this.#queue.slice(this.#next);
      this.#next = 0;
    }
    if (!isEmpty) clock.soon(() => this.#goOn());
  }
}
