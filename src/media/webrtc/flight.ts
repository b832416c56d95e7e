import { fragmentsOf, type HandshakeMessage } from './fragments.ts';
import { contentType, sealRecord, writeRecord } from './records.ts';
import type { RecordKey } from './secrets.ts';

/** Octets of the longest fragment, and of a datagram that takes several records: it passes any path. */
const longestFragment = 1100;
const longestDatagram = 1200;

type Part = { readonly type: number; readonly epoch: 0 | 1; readonly content: Uint8Array };

/** What we send in DTLS: a flight of messages, kept to be sent again with other record numbers (RFC 6347 4.2.4). */
export class Flight {
  readonly #send: (datagram: Uint8Array) => void;
  readonly #next = [0, 0];
  #key: RecordKey | undefined;
  #parts: readonly Part[] = [];
  /** Number of our next handshake message. */
  nextSequence = 0;

  constructor(send: (datagram: Uint8Array) => void) {
    this.#send = send;
  }

  /** The next record in the clear gets the number of the client's: so we keep nothing before the cookie (RFC 6347 4.2.1). */
  numberFrom(record: number): void {
    this.#next[0] = record;
  }

  /** Sends a message that is never sent again, if it has no more octets than that. @returns how many were sent. */
  sendAtMost({ octets }: HandshakeMessage, most: number): number {
    const record = writeRecord(contentType.handshake, this.#next[0]!, octets);
    if (record.length > most) return 0;
    this.#next[0]!++;
    this.#send(record);
    return record.length;
  }

  /** Sends a flight in the clear. */
  begin(messages: readonly HandshakeMessage[]): void {
    this.nextSequence = messages.at(-1)!.sequence + 1;
    this.#parts = messages.flatMap((message) => partsOf(message, 0));
    this.resend();
  }

  /** Sends the last flight: messages in the clear, and then all is encrypted. */
  finish(plain: readonly HandshakeMessage[], finished: HandshakeMessage, key: RecordKey): void {
    this.#key = key;
    const change: Part = { type: contentType.changeCipherSpec, epoch: 0, content: Buffer.of(1) };
    this.#parts = [...plain.flatMap((message) => partsOf(message, 0)), change, ...partsOf(finished, 1)];
    this.resend();
  }

  /** Sends the flight again. */
  resend(): void {
    let datagram: Buffer[] = [];
    let length = 0;
    for (const part of this.#parts) {
      const record = this.#record(part);
      if (length > 0 && length + record.length > longestDatagram) {
        this.#send(Buffer.concat(datagram));
        [datagram, length] = [[], 0];
      }
      datagram.push(record);
      length += record.length;
    }
    if (length > 0) this.#send(Buffer.concat(datagram));
  }

  /** Sends an alert, encrypted once there is a key. */
  sendAlert(level: number, description: number): void {
    const epoch = this.#key ? 1 : 0;
    this.#send(this.#record({ type: contentType.alert, epoch, content: Buffer.of(level, description) }));
  }

  #record({ type, epoch, content }: Part): Buffer {
    const sequence = this.#next[epoch]!++;
    if (epoch === 0 || !this.#key) return writeRecord(type, sequence, content);
    return sealRecord(this.#key, { type, epoch, sequence, content });
  }
}

const partsOf = (message: HandshakeMessage, epoch: 0 | 1): Part[] =>
  fragmentsOf(message, longestFragment).map((content) => ({ type: contentType.handshake, epoch, content }));
