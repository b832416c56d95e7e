import { Ring, type RingRecord } from './ring.ts';
import { type WakeUps, wakeFor } from './wake-up.ts';

/** Buffers of one side of a wire, and the thread that it wakes. */
export type WirePlan = {
  /** Its outgoing and incoming rings. */
  outgoing: SharedArrayBuffer;
  incoming: SharedArrayBuffer;
  /** WakeUp of the other thread, and the number of the other side there. */
  farWakeUp: SharedArrayBuffer;
  farPipe: number;
};

type WireOptions = {
  /** Kind of the records that are messages, 1 to 255. */
  messageKind: number;
  /** Messages that wait for room, at most; more are dropped. */
  mostWaiting: number;
};

/**
 * A wire between threads: records and messages in both directions, in order. Messages wait for space. A record without
 * space is lost, also behind a waiting message, because order is kept.
 */
export class Wire<Message> {
  readonly #out: Ring;
  readonly #in: Ring;
  readonly #wakeUps: WakeUps;
  readonly #farWakeUp: Int32Array;
  readonly #farPipe: number;
  readonly #options: WireOptions;
  readonly #waiting: Message[] = [];

  constructor({ outgoing, incoming, farWakeUp, farPipe }: WirePlan, wakeUps: WakeUps, options: WireOptions) {
    this.#out = new Ring(outgoing);
    this.#in = new Ring(incoming);
    this.#wakeUps = wakeUps;
    this.#farWakeUp = new Int32Array(farWakeUp);
    this.#farPipe = farPipe;
    this.#options = options;
  }

  /** Adds a record, which the other side finds when it looks next; false when it is lost. */
  write(kind: number, flag: boolean, octets: Uint8Array): boolean {
    return this.#clear() && this.#out.write(kind, flag, octets);
  }

  /** Adds a record and wakes the other side; false when it is lost. */
  send(kind: number, flag: boolean, octets: Uint8Array): boolean {
    const isWritten = this.write(kind, flag, octets);
    if (isWritten) this.#ring();
    return isWritten;
  }

  /** Sends a message, or queues it until there is space. */
  tell(message: Message): void {
    if (this.#waiting.length < this.#options.mostWaiting) this.#waiting.push(message);
    this.#clear();
  }

  /** Takes the next record that has come; undefined when there is none. See {@link Ring.read}. */
  read(): RingRecord | undefined {
    this.#clear();
    return this.#in.read();
  }

  /** The message that a record is. */
  messageOf({ octets }: RingRecord): Message {
    return JSON.parse(Buffer.from(octets).toString()) as Message;
  }

  /** Writes the messages that wait, in their order; false while one does. */
  #clear(): boolean {
    const waiting = this.#waiting;
    if (waiting.length === 0) return true;
    const kind = this.#options.messageKind;
    let written = 0;
    for (const message of waiting) {
      if (!this.#out.write(kind, false, Buffer.from(JSON.stringify(message)))) break;
      written++;
    }
    waiting.splice(0, written);
    if (written > 0) this.#ring();
    return waiting.length === 0;
  }

  #ring(): void {
    wakeFor(this.#wakeUps, this.#farWakeUp, this.#farPipe);
  }
}
