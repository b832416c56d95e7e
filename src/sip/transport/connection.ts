import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { cutConnection } from '../../lib/cut-connection.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Frame } from '../message/stream-framer.ts';
import type { SendFailure, Source } from './transport.ts';

/** Limits of a connection, in ms and bytes. */
export type ConnectionLimits = {
  /** How long opening may take. */
  readonly connectTimeout: number;
  /** How long nothing but silence may last; keep-alives are no silence. */
  readonly idleTimeout: number;
  /** Time limit for the rest of a message, and for a peer that reads nothing. */
  readonly partialTimeout: number;
  /** How long a peer that connected to us may take to its first whole message. */
  readonly firstMessageTimeout: number;
  /** Most octets that may wait for the peer to read them. */
  readonly maxQueuedBytes: number;
};

/** Splits input into messages and keep-alives. */
export interface Framer {
  push(chunk: Buffer): Frame[];
  /** The beginning of a message waits for the rest of it. */
  readonly isPartial: boolean;
}

/** Queued bytes of all connections. */
export type QueueBudget = {
  queued: number;
  /** Makes room by cutting off the connection with the longest queue; false when that is the caller. */
  makeRoom(bytes: number, asking: Connection): boolean;
  /** Counts limits that were reached. */
  readonly hit: LimitHit;
};

type ConnectionOptions = {
  /** Octets, or whole messages where the transport keeps them apart. */
  readonly stream: Duplex;
  /** Cuts what comes in into messages. */
  readonly framer: Framer;
  /** The event of the stream that says that a connection of ours is there. */
  readonly connectEvent?: 'connect' | 'secureConnect' | undefined;
  /** The peer, with the number of this connection in `connection`. */
  readonly source: Source;
  /** False while the connection we asked for is not there yet. */
  readonly connected: boolean;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  readonly budget: QueueBudget;
  /** Whether a message may be read now; one that may not waits, and so does all that comes behind it. */
  readonly admits: (source: Source) => boolean;
  readonly onFrame: (frame: Frame, connection: Connection) => void;
  readonly onClosed: (connection: Connection) => void;
};

const pong = Buffer.from('\r\n');

/** With so many bytes before it a peer counts as one that does not read. */
const STALLED_BYTES = 16_384;

/** So many messages are read in one turn of the event loop. */
const FRAMES_PER_TURN = 16;

/** How long a message that may not be read waits before it is asked about again, in ms. */
const ASK_AGAIN_MS = 100;

/**
 * One connection of any transport: frames in, bytes out, and its timers. It never throws; its end is reported once. It
 * does not read while the peer leaves our data unread, or while messages of it wait.
 */
export class Connection {
  readonly source: Source;
  readonly #stream: Duplex;
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #framer: Framer;
  readonly #onFrame: ConnectionOptions['onFrame'];
  /** Callbacks for a connection that fails to open. */
  readonly #waiting: ((failure: SendFailure) => void)[] = [];
  readonly #budget: QueueBudget;
  readonly #admits: ConnectionOptions['admits'];
  /** Messages that came and wait their turn. */
  #frames: Frame[] = [];
  /** Our share of the budget. */
  #queued = 0;
  #isReading = false;
  #connected: boolean;
  #ended = false;
  #timedOut = false;
  #error: unknown;
  #lastUse: number;
  #connectTimer: unknown;
  #idleTimer: unknown;
  #partialTimer: unknown;
  #firstTimer: unknown;
  #turnTimer: unknown;
  #drainTimer: unknown;
  #isProved: boolean;

  constructor(options: ConnectionOptions) {
    const { stream, source, connected, clock, limits, onClosed, connectEvent = 'connect' } = options;
    this.source = source;
    this.#stream = stream;
    this.#framer = options.framer;
    this.#clock = clock;
    this.#limits = limits;
    this.#budget = options.budget;
    this.#admits = options.admits;
    this.#onFrame = options.onFrame;
    this.#isProved = !connected;
    this.#connected = connected;
    this.#lastUse = clock.monotonic();
    stream.on('data', (chunk) => this.#receive(chunk));
    stream.on('error', (error) => {
      this.#error = error;
    });
    stream.on('close', () => {
      this.#release();
      onClosed(this);
    });
    if (connected) {
      this.#firstTimer = clock.setTimeout(() => this.#tooSlow('first_message'), limits.firstMessageTimeout);
      this.#watchIdle(limits.idleTimeout);
    } else this.#awaitConnection(connectEvent);
  }

  /** False until the peer has sent a message that makes sense; those we connected to need not. */
  get isProved(): boolean {
    return this.#isProved;
  }

  /** The peer has sent a message that makes sense. */
  prove(): void {
    if (this.#isProved) return;
    this.#isProved = true;
    this.#clock.clearTimeout(this.#firstTimer);
  }

  /** True while bytes can be sent. */
  get isOpen(): boolean {
    return !this.#ended && !this.#stream.destroyed;
  }

  /** Sends or queues bytes; a failure is reported once, possibly synchronously. */
  send(bytes: Buffer, onFailure: (failure: SendFailure) => void): void {
    const length = this.#stream.writableLength + bytes.length;
    const isTooMuch = length > this.#limits.maxQueuedBytes;
    if (isTooMuch) this.#budget.hit('sip.limits.connection_queue');
    if (isTooMuch || !this.#budget.makeRoom(bytes.length, this)) {
      this.destroy();
      onFailure({ reason: 'overload', target: this.source });
      return;
    }
    this.#lastUse = this.#clock.monotonic();
    if (!this.#connected) {
      this.#waiting.push(onFailure);
      this.#write(bytes, () => {});
      return;
    }
    this.#write(bytes, (cause) => {
      if (cause) onFailure({ reason: 'closed', target: this.source, cause: this.#error ?? cause });
    });
  }

  #write(bytes: Buffer, done: (cause: Error | null | undefined) => void): void {
    this.#count(bytes.length);
    this.#stream.write(bytes, (cause) => {
      // After the end all is given back already.
      if (this.#queued > 0) this.#count(-bytes.length);
      done(cause);
      this.#drained();
    });
    if (!this.#isStalled()) return;
    this.#stream.pause();
    this.#drainTimer ??= this.#clock.setTimeout(() => this.#tooSlow('partial_message'), this.#limits.partialTimeout);
  }

  #isStalled(): boolean {
    return this.#queued >= STALLED_BYTES;
  }

  #drained(): void {
    if (this.#drainTimer === undefined || this.#isStalled()) return;
    this.#clock.clearTimeout(this.#drainTimer);
    this.#drainTimer = undefined;
    this.#readOn();
  }

  /** Bytes that wait to be read by the peer. */
  get queued(): number {
    return this.#queued;
  }

  #count(bytes: number): void {
    this.#queued += bytes;
    this.#budget.queued += bytes;
  }

  /** Sends what is queued, then closes. Nothing more is received. */
  end(): void {
    this.#ended = true;
    // A peer that reads nothing would keep the connection open.
    this.#connectTimer ??= this.#clock.setTimeout(() => this.#stream.destroy(), this.#limits.connectTimeout);
    this.#stream.end();
  }

  /** The peer had its time. */
  #tooSlow(limit: 'first_message' | 'partial_message'): void {
    this.#budget.hit(`sip.limits.${limit}`);
    this.destroy();
  }

  /** Closes it; queued data is lost. */
  destroy(): void {
    this.#ended = true;
    this.#count(-this.#queued);
    this.#stream.destroy();
  }

  /** Closes it without a turn of the event loop. */
  cut(): void {
    cutConnection(this.#stream);
  }

  #awaitConnection(event: string): void {
    this.#connectTimer = this.#clock.setTimeout(() => {
      this.#timedOut = true;
      this.#stream.destroy();
    }, this.#limits.connectTimeout);
    this.#stream.once(event, () => {
      this.#clock.clearTimeout(this.#connectTimer);
      this.#connectTimer = undefined;
      this.#connected = true;
      this.#waiting.length = 0;
      this.#watchIdle(this.#limits.idleTimeout);
    });
  }

  #receive(chunk: Buffer): void {
    if (this.#ended) return;
    const frames = this.#framer.push(chunk);
    if (frames.length > 0) {
      this.#lastUse = this.#clock.monotonic();
      this.#clock.clearTimeout(this.#partialTimer);
      this.#partialTimer = undefined;
    }
    if (this.#framer.isPartial) {
      this.#partialTimer ??= this.#clock.setTimeout(
        () => this.#tooSlow('partial_message'),
        this.#limits.partialTimeout,
      );
    }
    // One answer for all: the queue of a peer that does not read must not grow by its input.
    if (frames.some(({ type }) => type === 'ping')) this.send(pong, () => {});
    this.#frames = this.#frames.concat(frames.filter(({ type }) => type !== 'ping'));
    this.#takeTurn();
  }

  /** Hands on as many messages as one turn may take; the rest waits for the next turn. */
  #takeTurn(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    let taken = 0;
    let refused = false;
    while (taken < FRAMES_PER_TURN && this.#frames.length > taken && !this.#mustWait()) {
      refused = !this.#admits(this.source);
      if (refused) break;
      this.#onFrame(this.#frames[taken++]!, this);
    }
    this.#frames.splice(0, taken);
    this.#isReading = false;
    if (this.#ended || this.#frames.length === 0) {
      this.#readOn();
      return;
    }
    this.#stream.pause();
    if (refused) this.#askAgain();
    else if (!this.#mustWait()) this.#clock.soon(() => this.#takeTurn());
  }

  #askAgain(): void {
    this.#clock.clearTimeout(this.#turnTimer);
    this.#turnTimer = this.#clock.setTimeout(() => this.#takeTurn(), ASK_AGAIN_MS);
  }

  /** The peer does not read, or is gone. */
  #mustWait(): boolean {
    return this.#ended || this.#stream.destroyed || this.#isStalled();
  }

  /** Reads on, when nothing is left to do first. */
  #readOn(): void {
    if (this.#isReading || this.#mustWait()) return;
    if (this.#frames.length > 0) this.#takeTurn();
    else if (this.#stream.isPaused()) this.#stream.resume();
  }

  #watchIdle(after: number): void {
    this.#idleTimer = this.#clock.setTimeout(() => {
      const left = this.#lastUse + this.#limits.idleTimeout - this.#clock.monotonic();
      if (left > 0) this.#watchIdle(left);
      else this.end();
    }, after);
  }

  #release(): void {
    const waiting = [this.#connectTimer, this.#idleTimer, this.#partialTimer];
    for (const timer of [...waiting, this.#firstTimer, this.#turnTimer, this.#drainTimer])
      this.#clock.clearTimeout(timer);
    this.#count(-this.#queued);
    this.#frames = [];
    this.#ended = true;
    const reason = this.#timedOut ? 'timeout' : 'connect';
    for (const tell of this.#waiting.splice(0)) tell({ reason, target: this.source, cause: this.#error });
  }
}
