import type { Clock } from '../../lib/clock.ts';
import type { End, Meeting, PacketTaker, PressedDigit } from '../end.ts';
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
  readonly #queue: FrameQueue;
  readonly #header = emptyHeader();
  #mode: PipeMode | undefined;
  #offered: string | undefined;
  /** Audio of the end is passed on when it arrives. */
  #speaksAtOnce = false;

  constructor(end: End, plan: PipePlan, { clock, wakeUps }: { clock: Clock; wakeUps: WakeUps }) {
    this.pipe = plan.pipe;
    this.end = end;
    this.#clock = clock;
    this.#queue = new FrameQueue(clock);
    this.#wire = new PipeWire(plan, wakeUps);
    end.mix = this;
    end.passAudio = true;
    end.passDigits = true;
    this.reconsider();
  }

  /** Tells the mix what has changed with the end. */
  reconsider(): void {
    const { forwardable, sampleRate, takesEvents, speaksAtOnce, hearsAtOnce } = this.end;
    const offer = `${forwardable} ${sampleRate} ${takesEvents} ${speaksAtOnce} ${hearsAtOnce}`;
    if (offer === this.#offered) return;
    this.#offered = offer;
    this.#wire.tell({
      type: 'offer',
      ...{ takesEvents, speaksAtOnce, hearsAtOnce },
      ...(forwardable !== undefined && { forwardable }),
      ...(sampleRate !== undefined && { sampleRate }),
    });
  }

  digit(_from: End, { digit, durationMs, by }: PressedDigit): void {
    this.#wire.tell({ type: 'digit', digit, durationMs, by });
  }

  forward(packet: Uint8Array, header: RtpHeader, isEvent: boolean): void {
    this.#wire.packet(packet.subarray(0, header.payloadEnd), isEvent);
  }

  get takesEvents(): boolean {
    return true;
  }

  /** A mix in another thread cannot be inspected synchronously. */
  beyond(): undefined {
    return undefined;
  }

  sayAtOnce(frame: Frame): void {
    if (this.#speaksAtOnce) this.#wire.frameAtOnce(frame);
  }

  /** Takes what has come meanwhile. */
  wake(): void {
    this.#wire.read(this);
  }

  /** Second phase of a tick: exchanges audio between the end and the mix. */
  tick(now: number): void {
    this.wake();
    if (this.#mode !== 'mixing') return;
    if (!this.#speaksAtOnce) this.#wire.frame(this.end.heard);
    if (!this.end.saidAtOnce) this.end.mixed = this.#queue.take(now);
  }

  hearFrame(frame: Frame | undefined): void {
    if (this.#mode === 'mixing' && !this.end.saidAtOnce) this.#queue.put(frame);
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
      case 'atOnce':
        this.#turnAtOnce(message);
        return;
      case 'digit':
        this.end.sendDigit(message.digit, message.durationMs);
        return;
    }
  }

  /** The end has left the mix. */
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

  #turnAtOnce({ speaks, hears }: { speaks: boolean; hears: boolean }): void {
    const { end } = this;
    if (this.#mode !== 'mixing') return;
    if (hears && !end.saidAtOnce)
      for (const frame of this.#queue.flush()) end.sayAtOnce(frame, this.#clock.monotonic());
    end.saidAtOnce = hears;
    this.#speaksAtOnce = speaks;
    end.sayTo(speaks ? this : undefined);
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
    this.#speaksAtOnce = false;
    end.sayTo(undefined);
    end.saidAtOnce = false;
    end.inMix = false;
    end.mixed = undefined;
    end.unlisten();
  }
}
