import type { Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import { type Frame, StreamFramer } from '../message/stream-framer.ts';
import type { SendFailure, Source } from './transport.ts';

/** Limits of a connection, in ms and bytes. */
export type ConnectionLimits = {
  /** How long opening may take. */
  readonly connectTimeout: number;
  /** How long nothing but silence may last; keep-alives are no silence. */
  readonly idleTimeout: number;
  /** How long the rest of a message may be waited for. */
  readonly partialTimeout: number;
  /** What may wait to be read by the peer. */
  readonly maxQueuedBytes: number;
};

export type ConnectionOptions = {
  readonly socket: Socket;
  /** The peer, with the number of this connection in `connection`. */
  readonly source: Source;
  /** False while the connection we asked for is not there yet. */
  readonly connected: boolean;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  readonly onFrame: (frame: Frame, connection: TcpConnection) => void;
  readonly onClosed: (connection: TcpConnection) => void;
};

const pong = Buffer.from('\r\n');

/** One TCP connection: frames in, bytes out, and the timers that end it. It never throws; its end is told once. */
export class TcpConnection {
  readonly source: Source;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #framer = new StreamFramer();
  readonly #onFrame: ConnectionOptions['onFrame'];
  /** Who to tell when the connection never comes about. */
  readonly #waiting: ((failure: SendFailure) => void)[] = [];
  #connected: boolean;
  #ended = false;
  #timedOut = false;
  #error: unknown;
  #lastUse: number;
  #connectTimer: unknown;
  #idleTimer: unknown;
  #partialTimer: unknown;

  constructor({ socket, source, connected, clock, limits, onFrame, onClosed }: ConnectionOptions) {
    this.source = source;
    this.#socket = socket;
    this.#clock = clock;
    this.#limits = limits;
    this.#onFrame = onFrame;
    this.#connected = connected;
    this.#lastUse = clock.monotonic();
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('close', () => {
      this.#release();
      onClosed(this);
    });
    if (connected) this.#watchIdle(limits.idleTimeout);
    else this.#awaitConnection();
  }

  /** True while bytes can be sent. */
  get isOpen(): boolean {
    return !this.#ended && !this.#socket.destroyed;
  }

  /** Sends or queues bytes; a failure is reported once, perhaps at once. */
  send(bytes: Buffer, onFailure: (failure: SendFailure) => void): void {
    if (this.#socket.writableLength + bytes.length > this.#limits.maxQueuedBytes) {
      this.#socket.destroy();
      onFailure({ reason: 'overload', target: this.source });
      return;
    }
    this.#lastUse = this.#clock.monotonic();
    if (!this.#connected) {
      this.#waiting.push(onFailure);
      this.#socket.write(bytes);
      return;
    }
    this.#socket.write(bytes, (cause) => {
      if (cause) onFailure({ reason: 'closed', target: this.source, cause: this.#error ?? cause });
    });
  }

  /** Sends what is queued, then closes. Nothing more is received. */
  end(): void {
    this.#ended = true;
    // A peer that reads nothing would hold the connection open for ever.
    this.#connectTimer ??= this.#clock.setTimeout(() => this.#socket.destroy(), this.#limits.connectTimeout);
    this.#socket.end();
  }

  /** Closes at once; what is queued is lost. */
  destroy(): void {
    this.#ended = true;
    this.#socket.destroy();
  }

  #awaitConnection(): void {
    this.#connectTimer = this.#clock.setTimeout(() => {
      this.#timedOut = true;
      this.#socket.destroy();
    }, this.#limits.connectTimeout);
    this.#socket.once('connect', () => {
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
      this.#partialTimer ??= this.#clock.setTimeout(() => this.#socket.destroy(), this.#limits.partialTimeout);
    }
    for (const frame of frames) {
      if (frame.type === 'ping') this.send(pong, () => {});
      else this.#onFrame(frame, this);
    }
  }

  #watchIdle(after: number): void {
    this.#idleTimer = this.#clock.setTimeout(() => {
      const left = this.#lastUse + this.#limits.idleTimeout - this.#clock.monotonic();
      if (left > 0) this.#watchIdle(left);
      else this.end();
    }, after);
  }

  #release(): void {
    for (const timer of [this.#connectTimer, this.#idleTimer, this.#partialTimer]) this.#clock.clearTimeout(timer);
    const reason = this.#timedOut ? 'timeout' : 'connect';
    for (const tell of this.#waiting.splice(0)) tell({ reason, target: this.source, cause: this.#error });
  }
}
