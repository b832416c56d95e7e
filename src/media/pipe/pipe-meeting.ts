import type { Clock } from '../../lib/clock.ts';
import type { End, Meeting, PacketTaker } from '../end.ts';
import type { Frame } from '../frame.ts';
import { emptyHeader, type RtpHeader, readHeader } from '../rtp/header.ts';
import { FrameQueue } from './frame-queue.ts';
import { type PipeListener, type PipeMessage, type PipeMode, type PipePlan, PipeWire } from './pipe-wire.ts';
import type { WakeUps } from './wake-up.ts';

/** Is to an end what a mix in another thread is to its members. */
export class PipeMeeting implements Meeting, PacketTaker, PipeListener {
  /** Its number. */
  readonly pipe: number;
  readonly end: End;
  readonly mix: undefined;
  readonly isElsewhere = true;
  readonly #clock: Clock;
  readonly #wire: PipeWire;
  readonly #queue = new FrameQueue();
  readonly #header = emptyHeader();
  #mode: PipeMode | undefined;
  #offered: string | undefined;

  constructor(end: End, plan: PipePlan, { clock, wakeUps }: { clock: Clock; wakeUps: WakeUps }) {
    this.pipe = plan.pipe;
    this.end = end;
    this.#clock = clock;
    this.#wire = new PipeWire(plan, wakeUps);
    end.mix = this;
    end.passAudio = true;
    end.passDigits = true;
    this.reconsider();
  }

  /** Tells the mix what has changed with the end. */
  reconsider(): void {
    const { forwardable, sampleRate, takesEvents } = this.end;
    const offer = `${forwardable} ${sampleRate} ${takesEvents}`;
    if (offer === this.#offered) return;
    this.#offered = offer;
    this.#wire.tell({
      type: 'offer',
      takesEvents,
      ...(forwardable !== undefined && { forwardable }),
      ...(sampleRate !== undefined && { sampleRate }),
    });
  }

  digit(_from: End, digit: string, durationMs: number): void {
    this.#wire.tell({ type: 'digit', digit, durationMs });
  }

  forward(packet: Uint8Array, header: RtpHeader, isEvent: boolean): void {
    this.#wire.packet(packet.subarray(0, header.payloadEnd), isEvent);
  }

  get takesEvents(): boolean {
    return true;
  }

  /** What is in another thread cannot be looked at while something changes in this one. */
  beyond(): undefined {
    return undefined;
  }

  sayAtOnce(): void {}

  /** Takes what has come meanwhile. */
  wake(): void {
    this.#wire.read(this);
  }

  /** Second phase of a tick: what the end said goes to the mix, and what the mix said to the end. */
  tick(): void {
    this.wake();
    if (this.#mode !== 'mixing') return;
    this.#wire.frame(this.end.heard);
    this.end.mixed = this.#queue.take();
  }

  hearFrame(frame: Frame | undefined): void {
    if (this.#mode === 'mixing') this.#queue.put(frame);
    else if (frame) this.end.sayAtOnce(frame, this.#clock.monotonic());
  }

  hearPacket(packet: Uint8Array, isEvent: boolean): void {
    if (readHeader(packet, this.#header)) this.end.forward(packet, this.#header, isEvent, this.#clock.monotonic());
  }

  hearMessage(message: PipeMessage): void {
    switch (message.type) {
      case 'mode':
        if (message.mode === 'mixing') this.#mix();
        else this.#forward();
        return;
      case 'digit':
        this.end.sendDigit(message.digit, message.durationMs);
        return;
    }
  }

  /** The end is in no mix any more. */
  close(): void {
    this.end.forwardTo(undefined);
    this.#endFrames();
    this.end.mix = undefined;
  }

  #mix(): void {
    const { end } = this;
    this.#mode = 'mixing';
    end.forwardTo(undefined);
    if (end.inMix) return;
    end.inMix = true;
    end.mixed = undefined;
    end.listen();
  }

  #forward(): void {
    const { end } = this;
    const before = this.#mode;
    this.#mode = 'forwarding';
    end.forwardTo(this);
    if (before !== 'mixing') return;
    for (const frame of this.#queue.flush()) end.sayAtOnce(frame, this.#clock.monotonic());
    end.forwardHeld();
    this.#endFrames();
  }

  #endFrames(): void {
    const { end } = this;
    if (!end.inMix) return;
    end.inMix = false;
    end.mixed = undefined;
    end.unlisten();
  }
}
