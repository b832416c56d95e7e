import type { Clock } from '../../lib/clock.ts';
import type { Source } from './transport.ts';

type IntakeOptions = {
  clock: Pick<Clock, 'monotonic' | 'soon'>;
  /** Datagrams that may wait. Beyond this new ones are dropped; peers retransmit. */
  most: number;
  take(bytes: Buffer, source: Source): void;
  /** A new call begins to wait behind others that have waited for {@link tryingMs}. */
  callWaits(bytes: Buffer, source: Source): void;
  /** A datagram was dropped. */
  full(): void;
};

type Datagram = { bytes: Buffer; source: Source; at: number };

/** Time that datagrams may take in one turn of the event loop, in ms. */
const turnMs = 2;
/** Datagrams belong to one turn if they follow each other within this, in ms. */
const gapMs = 0.05;

/** RFC 3261 17.2.1: a server that does not answer an INVITE within 200 ms sends 100, so that it is not sent again. */
const tryingMs = 100;

/** Whether a datagram asks for a new call, or takes that back: a CANCEL may not overtake its INVITE. */
function isNewCall(bytes: Buffer): boolean {
  if (bytes[0] === 67) return bytes.toString('latin1', 0, 7) === 'CANCEL ';
  if (bytes[0] !== 73 || bytes.toString('latin1', 0, 7) !== 'INVITE ') return false;
  const [, to = ''] = /\r\n(?:to|t)[ \t]*:([^\r\n]*)/i.exec(bytes.toString('latin1', 0, 4_096)) ?? [];
  return !/;[ \t]*tag[ \t]*=/i.test(to);
}

/** Datagrams in the order in which they came. */
class Waiting {
  #list: Datagram[] = [];
  #next = 0;

  get size(): number {
    return this.#list.length - this.#next;
  }

  get oldest(): Datagram | undefined {
    return this.#list[this.#next];
  }

  push(datagram: Datagram): void {
    this.#list.push(datagram);
  }

  shift(): Datagram | undefined {
    const first = this.#list[this.#next];
    if (!first) return undefined;
    this.#next++;
    // Half of the list at a time, so that each is moved once.
    if (this.#next > this.#list.length / 2) {
      this.#list = this.#list.slice(this.#next);
      this.#next = 0;
    }
    return first;
  }

  clear(): void {
    this.#list = [];
    this.#next = 0;
  }
}

/**
 * Takes datagrams as they come, and lets them wait while there are more than can be handled. Reading them from the
 * socket is cheap. The socket's own buffer does not tell how long they wait, and the kernel drops what does not fit.
 * New calls wait behind all other messages, so that calls that exist go on.
 */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #others = new Waiting();
  readonly #calls = new Waiting();
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
    const waiting = this.#others.size + this.#calls.size;
    if (waiting === 0) {
      if (now - this.#ended > gapMs) this.#began = now;
      if (now - this.#began <= turnMs) {
        this.#options.take(bytes, source);
        this.#ended = this.#options.clock.monotonic();
        return;
      }
      this.#options.clock.soon(() => this.#goOn());
    }
    if (waiting >= this.#options.most) {
      this.#options.full();
      return;
    }
    const datagram = { bytes, source, at: now };
    if (!isNewCall(bytes)) {
      this.#others.push(datagram);
      return;
    }
    const { oldest } = this.#calls;
    this.#calls.push(datagram);
    if (oldest && now - oldest.at >= tryingMs) this.#options.callWaits(bytes, source);
  }

  /** Drops what waits. */
  close(): void {
    this.#closed = true;
    this.#others.clear();
    this.#calls.clear();
  }

  #goOn(): void {
    const { clock } = this.#options;
    const began = clock.monotonic();
    for (let now = began; now - began <= turnMs; now = clock.monotonic()) {
      const datagram = this.#others.shift() ?? this.#calls.shift();
      if (!datagram) break;
      this.waitedMs = now - datagram.at;
      this.#options.take(datagram.bytes, datagram.source);
    }
    this.waitedMs = 0;
    this.#ended = clock.monotonic();
    this.#began = this.#ended;
    if (this.#closed) return;
    if (this.#others.size + this.#calls.size > 0) clock.soon(() => this.#goOn());
  }
}
