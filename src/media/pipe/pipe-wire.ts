import type { Frame } from '../frame.ts';
import type { DigitWay } from '../rtp/telephone-event.ts';
import type { WakeUps } from './wake-up.ts';
import { Wire, type WirePlan } from './wire.ts';

/** One side of a pipe, which joins an end in one thread with a mix in another. */
export type PipePlan = WirePlan & {
  /** Its number in its thread. */
  pipe: number;
};

/** Control messages between the two sides. */
export type PipeMessage =
  /** From the end: its packet format for forwarding, and its far side's rate. */
  | ({ type: 'offer' } & PipeOffer)
  /** Of the mix: whether packets are passed on as they are, or frames are mixed. */
  | { type: 'mode'; mode: PipeMode }
  /** Of the mix: whether frames are passed when they come, of what the end says and of what it hears. */
  | { type: 'atOnce'; speaks: boolean; hears: boolean }
  | { type: 'digit'; digit: string; durationMs: number; by: DigitWay };

export type PipeOffer = {
  takesEvents: boolean;
  forwardable?: string;
  sampleRate?: number;
  /** Whether frames can be passed when they come: see `End`. */
  speaksAtOnce: boolean;
  hearsAtOnce: boolean;
};

export type PipeMode = 'forwarding' | 'mixing';

/** Hears what the other side sent, in its order. */
export interface PipeListener {
  /** Its audio of one tick; undefined: none. */
  hearFrame(frame: Frame | undefined): void;
  /** A packet as it came; it may be changed. */
  hearPacket(packet: Uint8Array, isEvent: boolean): void;
  hearMessage(message: PipeMessage): void;
}

const kinds = { frame: 1, nothing: 2, packet: 3, message: 4 } as const;
const none = new Uint8Array(0);
/** Messages that wait for room, at most: what they say replaces what others said. */
const mostWaiting = 64;

/** Transfers frames, packets and messages between threads, in order. Audio without space is lost. */
export class PipeWire {
  readonly #wire: Wire<PipeMessage>;

  constructor(plan: PipePlan, wakeUps: WakeUps) {
    this.#wire = new Wire(plan, wakeUps, { messageKind: kinds.message, mostWaiting });
  }

  /** Says a frame; the other side looks for it in its tick. */
  frame(frame: Frame | undefined): void {
    if (!frame) this.#wire.write(kinds.nothing, false, none);
    else this.#wire.write(kinds.frame, false, octetsOf(frame));
  }

  /** Says a frame that the other side says at once. */
  frameAtOnce(frame: Frame): void {
    this.#wire.send(kinds.frame, false, octetsOf(frame));
  }

  /** Sends a packet without delay. */
  packet(packet: Uint8Array, isEvent: boolean): void {
    this.#wire.send(kinds.packet, isEvent, packet);
  }

  /** Sends a message, or queues it until there is space. */
  tell(message: PipeMessage): void {
    this.#wire.tell(message);
  }

  /** Hands out everything that has come. */
  read(listener: PipeListener): void {
    const wire = this.#wire;
    for (let record = wire.read(); record; record = wire.read()) {
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
          listener.hearMessage(wire.messageOf(record));
          break;
      }
    }
  }
}

const octetsOf = ({ samples: { buffer, byteOffset, byteLength } }: Frame): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
