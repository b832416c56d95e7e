import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock } from '../lib/clock.ts';

/** Writes messages to one WebSocket: those of one turn of the event loop leave in one system call. */
export interface MessageWriter {
  /** Sends a text message when the turn is over; nothing if the WebSocket is not open. */
  send(message: string): void;
  /** Characters of messages that wait for the end of the turn. */
  readonly waiting: number;
  /** Closes the WebSocket (RFC 6455 7.1.2) behind all messages that were sent. */
  close(code: number, reason: string): void;
}

/** Makes the writers of WebSockets. */
interface MessageWriters {
  /** Of a WebSocket that a client has opened. @param socket what it runs over */
  ofServer(raw: WebSocket, socket: Socket): MessageWriter;
  /** Of one that this server has opened, whose messages have to be masked. */
  ofClient(raw: WebSocket, socket: Socket): MessageWriter;
}

const atOnce: Leave = (output) => output();

type Flushed = { flush(): void };

/** Destination of a writer, and its flush at the end of the turn. */
type Destination = { raw: WebSocket; socket: Socket; flushLater(writer: Flushed): void; leave: Leave };

/** Characters after which messages leave before the turn is over. */
const mostWaiting = 64 * 1024;

/** How often the end of a turn is put off because more was sent meanwhile. */
const mostDelays = 3;

/** Frames are put together here, then copied: a socket that is slow keeps exactly what it has to send. */
const workspace = Buffer.allocUnsafeSlow(128 * 1024);

type Leave = (output: () => void) => void;

/**
 * Makes writers that share the end of a turn.
 * @param leave has messages leave when what they tell of is written
 */
export function createMessageWriters(clock: Pick<Clock, 'soon'>, leave: Leave = atOnce): MessageWriters {
  let ready = new Set<Flushed>();
  let sent = 0;

  const flush = (seen: number, delays: number): void => {
    // A busy loop takes one request a turn: events of several leave together.
    if (sent !== seen && delays < mostDelays) {
      const now = sent;
      clock.soon(() => flush(now, delays + 1));
      return;
    }
    const writers = ready;
    ready = new Set();
    leave(() => {
      for (const writer of writers) writer.flush();
    });
  };
  const flushLater = (writer: Flushed): void => {
    sent++;
    if (ready.has(writer)) return;
    ready.add(writer);
    if (ready.size > 1) return;
    const now = sent;
    // Two turns: work that a request defers behind its answer (dialing) is flushed with the rest.
    clock.soon(() => clock.soon(() => flush(now, 0)));
  };

  return {
    ofServer: (raw, socket) => new FrameWriter({ raw, socket, flushLater, leave }),
    ofClient: (raw, socket) => new CorkedWriter({ raw, socket, flushLater, leave }),
  };
}

/** Writes unmasked frames (RFC 6455 5.2) to the socket itself, all of a turn as one piece. */
class FrameWriter implements MessageWriter {
  readonly #to: Destination;
  #messages: string[] = [];
  waiting = 0;

  constructor(to: Destination) {
    this.#to = to;
  }

  send(message: string): void {
    if (this.#to.raw.readyState !== this.#to.raw.OPEN) return;
    this.#messages.push(message);
    this.waiting += message.length;
    if (this.waiting > mostWaiting) this.#to.leave(() => this.flush());
    else this.#to.flushLater(this);
  }

  close(code: number, reason: string): void {
    this.#to.leave(() => {
      this.flush();
      this.#to.raw.close(code, reason);
    });
  }

  flush(): void {
    if (this.#messages.length === 0) return;
    const messages = this.#messages;
    const length = this.waiting;
    this.#messages = [];
    this.waiting = 0;
    if (this.#to.raw.readyState === this.#to.raw.OPEN) this.#to.socket.write(framesOf(messages, length));
  }
}

/** Longest head of a frame, and most octets that a UTF-16 unit takes as UTF-8. */
const headOctets = 10;
const octetsOfUnit = 3;

function framesOf(messages: readonly string[], length: number): Buffer {
  const most = length * octetsOfUnit + messages.length * headOctets;
  const place = most > workspace.length ? Buffer.allocUnsafeSlow(most) : workspace;
  let at = 0;
  for (const message of messages) at = writeFrame(place, at, message);
  return Buffer.from(place.subarray(0, at));
}

const finalText = 0x81;

/** @returns where the next frame begins */
function writeFrame(place: Buffer, at: number, message: string): number {
  const { length } = message;
  // The length decides the head's size: octets are counted only if the number of characters does not decide it.
  const isSure = length * octetsOfUnit <= 125 || (length > 125 && length * octetsOfUnit <= 0xffff);
  const octets = isSure ? length : Buffer.byteLength(message);
  const head = octets <= 125 ? 2 : octets <= 0xffff ? 4 : headOctets;
  const written = place.write(message, at + head, 'utf8');
  place[at] = finalText;
  if (head === 2) place[at + 1] = written;
  else if (head === 4) {
    place[at + 1] = 126;
    place.writeUInt16BE(written, at + 2);
  } else {
    place[at + 1] = 127;
    place.writeBigUInt64BE(BigInt(written), at + 2);
  }
  return at + head + written;
}

/** Leaves framing and masking to the WebSocket, and holds the socket's writes back until the turn is over. */
class CorkedWriter implements MessageWriter {
  readonly #to: Destination;
  #isCorked = false;
  readonly waiting = 0;

  constructor(to: Destination) {
    this.#to = to;
  }

  send(message: string): void {
    if (this.#to.raw.readyState !== this.#to.raw.OPEN) return;
    if (!this.#isCorked) this.#to.socket.cork();
    this.#isCorked = true;
    this.#to.flushLater(this);
    this.#to.raw.send(message);
  }

  close(code: number, reason: string): void {
    this.#to.raw.close(code, reason);
  }

  flush(): void {
    this.#isCorked = false;
    this.#to.socket.uncork();
  }
}
