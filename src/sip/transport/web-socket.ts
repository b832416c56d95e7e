import { isUtf8 } from 'node:buffer';
import { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { Frame } from '../message/stream-framer.ts';
import type { Framer } from './connection.ts';

/** The sub-protocol of SIP (RFC 7118 4.1). */
export const sipSubProtocol = 'sip';

/** A WebSocket as a stream of messages: each that comes in is one chunk, each chunk written is one message. */
export class WebSocketStream extends Duplex {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super({ readableObjectMode: true, allowHalfOpen: false, decodeStrings: false });
    this.#socket = socket;
    socket.on('message', (data) => {
      if (!this.push(data as Buffer)) this.#whenOpen(() => socket.pause());
    });
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#whenOpen(() => this.#socket.resume());
  }

  /** As text where it is text: a browser that expects text would be handed something else otherwise. */
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.send(chunk, { binary: !isUtf8(chunk) }, done);
  }

  override _final(done: () => void): void {
    this.#socket.close(1000);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.terminate();
    done(error);
  }

  #whenOpen(act: () => void): void {
    if (this.#socket.readyState === WebSocket.OPEN) act();
  }
}

const ping: readonly Frame[] = [{ type: 'ping' }];

/** SIP over WebSocket: each message is whole (RFC 7118 5), Content-Length or not; line ends alone are a keep-alive. */
export class MessageFramer implements Framer {
  readonly isPartial = false;

  push(message: Buffer): Frame[] {
    let start = 0;
    while (start < message.length && (message[start] === 13 || message[start] === 10)) start++;
    if (start < message.length) return [{ type: 'message', bytes: start === 0 ? message : message.subarray(start) }];
    // A single line end is the answer to a keep-alive (RFC 5626 3.5.1).
    return start >= 4 ? [...ping] : [];
  }
}
