import type { HandoverCalls } from './handover-calls.ts';

/** Numbers of Linux, of socket(2), recv(2) and unix(7). */
const unix = 1;
const sequencedPackets = 5;
const closeOnExec = 0o2000000;
const dontWait = 0x40;
const noSignal = 0x4000;
const receivedCloseOnExec = 0x40000000;
const socketLevel = 1;
const rights = 1;

/** Offsets in a msghdr, an iovec and a cmsghdr of 64-bit Linux. */
const header = { iov: 16, iovLength: 24, control: 32, controlLength: 40, octets: 56 } as const;
const iovOctets = 16;
const controlHead = 16;

/** Most descriptors of one message; the kernel takes 253. */
export const mostDescriptors = 250;
const mostText = 8_192;
/** Failures in a row after which nothing is expected any more. */
const mostFailures = 10;

/** A message with the descriptors that came along. They are the receiver's to close. */
export type LinkMessage = { text: string; descriptors: number[] };

/**
 * One end of a pair of sockets over which two processes pass messages and copies of their descriptors. Messages stay
 * whole and in order. Sent messages arrive even if the sender was killed meanwhile.
 */
export class DescriptorLink {
  readonly descriptor: number;
  readonly #calls: HandoverCalls;
  readonly #out: Message;
  readonly #in: Message;

  constructor(calls: HandoverCalls, descriptor: number) {
    this.descriptor = descriptor;
    this.#calls = calls;
    this.#out = new Message(calls);
    this.#in = new Message(calls);
  }

  /** Sends a message, whose text is not empty; false: the other end is gone, or has more waiting than it may. Never blocks. */
  send(text: string, descriptors: readonly number[] = []): boolean {
    this.#out.put(text, descriptors);
    return this.#calls.sendmsg(this.descriptor, this.#out.at, dontWait | noSignal) >= 0;
  }

  /** The next message that waits; undefined: there is none. */
  receive(): LinkMessage | undefined {
    this.#in.empty();
    const length = this.#calls.recvmsg(this.descriptor, this.#in.at, dontWait | receivedCloseOnExec);
    return length > 0 ? this.#in.take(length) : undefined;
  }

  /** Tells every message as it comes, and undefined when the other end is closed and everything is received. */
  listen(told: (message: LinkMessage | undefined) => void): void {
    let failures = 0;
    const next = (): void => {
      this.#in.empty();
      this.#calls.receiveLater(this.descriptor, this.#in.at, receivedCloseOnExec, (length) => {
        failures = length < 0 ? failures + 1 : 0;
        if (length === 0 || failures > mostFailures) return told(undefined);
        if (length > 0) told(this.#in.take(length));
        next();
      });
    };
    next();
  }
}

/** A pair: our end, and the descriptor of the other one, which a child process inherits. @throws Error */
export function openLink(calls: HandoverCalls): { link: DescriptorLink; other: number } {
  const pair = new Int32Array(2);
  if (calls.socketpair(unix, sequencedPackets | closeOnExec, 0, pair) < 0)
    throw new Error('a pair of sockets cannot be opened');
  return { link: new DescriptorLink(calls, pair[0]!), other: pair[1]! };
}

/** A msghdr with its text and descriptors, in one piece of memory. */
class Message {
  readonly at: number;
  readonly #view: DataView;
  readonly #octets: Buffer;
  static readonly #controlAt = header.octets + iovOctets;
  static readonly #textAt = Message.#controlAt + controlHead + 4 * mostDescriptors;

  constructor(calls: HandoverCalls) {
    const memory = new ArrayBuffer(Message.#textAt + mostText);
    this.#octets = Buffer.from(memory);
    this.#view = new DataView(memory);
    this.at = calls.addressOf(new Uint8Array(memory));
    this.#point(header.iov, header.octets);
    this.#word(header.iovLength, 1);
    this.#point(header.control, Message.#controlAt);
    this.#point(header.octets, Message.#textAt);
  }

  put(text: string, descriptors: readonly number[]): void {
    this.#word(header.octets + 8, this.#octets.write(text, Message.#textAt));
    const length = descriptors.length === 0 ? 0 : controlHead + 4 * descriptors.length;
    this.#word(header.controlLength, length);
    if (length === 0) return;
    this.#word(Message.#controlAt, length);
    this.#view.setInt32(Message.#controlAt + 8, socketLevel, true);
    this.#view.setInt32(Message.#controlAt + 12, rights, true);
    descriptors.forEach((each, index) => {
      this.#view.setInt32(Message.#controlAt + controlHead + 4 * index, each, true);
    });
  }

  /** Makes room for the next message. */
  empty(): void {
    this.#word(header.octets + 8, mostText);
    this.#word(header.controlLength, controlHead + 4 * mostDescriptors);
    this.#word(Message.#controlAt, 0);
  }

  take(length: number): LinkMessage {
    const text = this.#octets.toString('utf8', Message.#textAt, Message.#textAt + length);
    const has = this.#view.getBigUint64(header.controlLength, true) >= BigInt(controlHead);
    const control = has ? Number(this.#view.getBigUint64(Message.#controlAt, true)) : 0;
    const descriptors: number[] = [];
    for (let at = controlHead; at < control; at += 4)
      descriptors.push(this.#view.getInt32(Message.#controlAt + at, true));
    return { text, descriptors };
  }

  #word(at: number, value: number): void {
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  #point(at: number, target: number): void {
    this.#word(at, this.at + target);
  }
}
