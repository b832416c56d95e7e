import type { Frame } from '../frame.ts';
import { type Bells, ringFor } from './bell.ts';
import { Ring, writeWaiting } from './ring.ts';

/** One side of a tie, which joins an end in one thread with a mix in another. */
export type TiePlan = {
  /** Its number in its thread. */
  tie: number;
  /** What it writes, and what it reads. */
  outgoing: SharedArrayBuffer;
  incoming: SharedArrayBuffer;
  /** Bell of the other thread, and the number of the other side there. */
  farBell: SharedArrayBuffer;
  farTie: number;
};

/** What the sides tell each other besides audio. */
export type TieMessage =
  /** Of the end: what its packets can be passed on as, and the rate its far side speaks at. */
  | { type: 'offer'; takesEvents: boolean; forwardable?: string; sampleRate?: number }
  /** Of the mix: whether packets are passed on as they are, or frames are mixed. */
  | { type: 'mode'; mode: TieMode }
  | { type: 'digit'; digit: string; durationMs: number };

export type TieMode = 'forwarding' | 'mixing';

/** Hears what the other side sent, in its order. */
export interface TieListener {
  /** What it says in one of its ticks; undefined = nothing. */
  hearFrame(frame: Frame | undefined): void;
  /** A packet as it came; it may be changed. */
  hearPacket(packet: Uint8Array, isEvent: boolean): void;
  hearMessage(message: TieMessage): void;
}

const kinds = { frame: 1, nothing: 2, packet: 3, message: 4 } as const;
const none = new Uint8Array(0);
/** Messages that wait for room, at most: what they say replaces what others said. */
const mostWaiting = 64;

/** Carries frames, packets and messages to and from another thread, in order. Audio that finds no room is lost. */
export class TieWire {
  readonly #out: Ring;
  readonly #in: Ring;
  readonly #bells: Bells;
  readonly #farBell: Int32Array;
  readonly #farTie: number;
  #waiting: TieMessage[] = [];

  constructor({ outgoing, incoming, farBell, farTie }: TiePlan, bells: Bells) {
    this.#out = new Ring(outgoing);
    this.#in = new Ring(incoming);
    this.#bells = bells;
    this.#farBell = new Int32Array(farBell);
    this.#farTie = farTie;
  }

  /** Says a frame; the other side looks for it in its tick. */
  frame(frame: Frame | undefined): void {
    if (!this.#clear()) return;
    if (!frame) this.#out.write(kinds.nothing, false, none);
    else {
      const { buffer, byteOffset, byteLength } = frame.samples;
      this.#out.write(kinds.frame, false, new Uint8Array(buffer, byteOffset, byteLength));
    }
  }

  /** Passes a packet on at once. */
  packet(packet: Uint8Array, isEvent: boolean): void {
    if (this.#clear() && this.#out.write(kinds.packet, isEvent, packet)) this.#ring();
  }

  /** Tells the other side at once, or as soon as there is room. */
  tell(message: TieMessage): void {
    if (this.#waiting.length < mostWaiting) this.#waiting.push(message);
    this.#clear();
  }

  /** Hands out everything that has come. */
  read(listener: TieListener): void {
    this.#clear();
    for (let record = this.#in.read(); record; record = this.#in.read()) {
      const { kind, flag, octets } = record;
      switch (kind) {
        case kinds.frame: {
          const samples = new Int16Array(octets.buffer, octets.byteOffset, octets.length >> 1);
          listener.hearFrame({ samples, sampleRate: samples.length * 50 });
          break;
        }
        case kinds.nothing:
          listener.hearFrame(undefined);
          break;
        case kinds.packet:
          listener.hearPacket(octets, flag);
          break;
        case kinds.message:
          listener.hearMessage(JSON.parse(Buffer.from(octets).toString()) as TieMessage);
          break;
      }
    }
  }

  /** Writes the messages that wait; false while one does: nothing may overtake it. */
  #clear(): boolean {
    if (this.#waiting.length === 0) return true;
    if (writeWaiting(this.#out, kinds.message, this.#waiting) > 0) this.#ring();
    return this.#waiting.length === 0;
  }

  #ring(): void {
    ringFor(this.#bells, this.#farBell, this.#farTie);
  }
}
