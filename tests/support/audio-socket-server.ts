import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { untilFound, untilHolds } from './waiting.ts';

/** A frame as it came over the wire. */
export type AudioSocketFrame = { kind: number; payload: Buffer };

/** One call that the server has taken. */
export class AudioSocketCall {
  readonly frames: AudioSocketFrame[] = [];
  readonly socket: Socket;
  isClosed = false;
  #held = Buffer.alloc(0);
  readonly #waiting = new Set<() => void>();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('data', (data) => this.#read(data));
    socket.on('close', () => {
      this.isClosed = true;
      for (const look of [...this.#waiting]) look();
    });
  }

  /** The audio so far, 16 bit. */
  samples(): Int16Array {
    const all = Buffer.concat(
      this.frames.filter(({ kind }) => kind >= 0x10 && kind < 0x20).map(({ payload }) => payload),
    );
    return Int16Array.from({ length: all.length >> 1 }, (_, index) => all.readInt16LE(2 * index));
  }

  send(kind: number, payload: Uint8Array = new Uint8Array(0)): void {
    const head = Buffer.from([kind, payload.length >> 8, payload.length & 0xff]);
    this.socket.write(Buffer.concat([head, payload]));
  }

  /** Resolves once a condition on what was received holds. @throws Error when it does not come to hold. */
  until(holds: () => boolean, what: string): Promise<void> {
    return untilHolds(this.#waiting, holds, () => `${what} did not come; ${this.frames.length} frames did`);
  }

  #read(data: Buffer): void {
    this.#held = Buffer.concat([this.#held, data]);
    while (this.#held.length >= 3 && this.#held.length >= 3 + this.#held.readUInt16BE(1)) {
      const end = 3 + this.#held.readUInt16BE(1);
      this.frames.push({ kind: this.#held[0]!, payload: this.#held.subarray(3, end) });
      this.#held = this.#held.subarray(end);
    }
    for (const look of [...this.#waiting]) look();
  }
}

/** A server that speaks AudioSocket, written against its description alone: it shares no code with ours. */
export class AudioSocketServer {
  readonly calls: AudioSocketCall[] = [];
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.calls.push(new AudioSocketCall(socket));
      for (const look of [...this.#waiting]) look();
    });
  }

  static async open(port = 0): Promise<AudioSocketServer> {
    const server = createServer();
    const opened = new AudioSocketServer(server);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return opened;
  }

  /** `host:port`. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The call of that number, once it has come. */
  call(number = 0): Promise<AudioSocketCall> {
    const late = () => `call ${number} did not come; ${this.calls.length} did`;
    return untilFound(this.#waiting, () => this.calls[number], late);
  }

  /** Takes no more calls; those that it has go on. */
  stopListening(): void {
    this.#server.close();
  }

  close(): void {
    for (const { socket } of this.calls) socket.destroy();
    this.#server.close();
  }
}
