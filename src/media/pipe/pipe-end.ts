import { End, type EndOptions, type Hearer, type PacketTaker } from '../end.ts';
import type { Frame } from '../frame.ts';
import { emptyHeader, type RtpHeader, readHeader } from '../rtp/header.ts';
import { tickMs } from '../ticker.ts';
import { FrameQueue } from './frame-queue.ts';
import {
  type PipeListener,
  type PipeMessage,
  type PipeMode,
  type PipeOffer,
  type PipePlan,
  PipeWire,
} from './pipe-wire.ts';
import type { WakeUps } from './wake-up.ts';

/** Stands in a mix for an end that lives in another thread. */
export class PipeEnd extends End implements PipeListener {
  readonly #wire: PipeWire;
  readonly #queue: FrameQueue;
  readonly #header = emptyHeader();
  #offer: PipeOffer = { takesEvents: true, speaksAtOnce: false, hearsAtOnce: false };
  #mode: PipeMode | undefined;
  /** Present target of packets, and the previous one for packets in transit. */
  #partner: PacketTaker | undefined;
  #partnerBefore: PacketTaker | undefined;
  /** The receiver of incoming data, and the last state that the other side got of it. */
  #hearer: Hearer | undefined;
  #told = { speaks: false, hears: false };
  /** Something was given on since the last tick. */
  #spoke = false;

  constructor(options: EndOptions, plan: PipePlan, wakeUps: WakeUps) {
    super(options);
    this.#queue = new FrameQueue(options.clock);
    this.#wire = new PipeWire(plan, wakeUps);
  }

  override get sampleRate(): number | undefined {
    return this.#offer.sampleRate;
  }

  override get takesEvents(): boolean {
    return this.#offer.takesEvents;
  }

  override get delayMs(): number {
    return tickMs;
  }

  override get forwardable(): string | undefined {
    return this.tapped ? undefined : this.#offer.forwardable;
  }

  override forwardTo(partner: PacketTaker | undefined): void {
    if (partner === this.#partner) return;
    this.#partnerBefore = this.#partner;
    this.#partner = partner;
    if (!partner) return;
    this.#turn('forwarding');
    for (const frame of this.#queue.flush()) this.#passFrame(frame);
  }

  override get speaksAtOnce(): boolean {
    return this.hearsAtOnce && this.#offer.speaksAtOnce;
  }

  override get hearsAtOnce(): boolean {
    return this.#offer.hearsAtOnce && !this.tapped;
  }

  override sayTo(hearer: Hearer | undefined): void {
    if (hearer === this.#hearer) return;
    this.#hearer = hearer;
    this.#tellAtOnce();
    if (hearer) for (const frame of this.#queue.flush()) this.#hear(frame);
  }

  override sayAtOnce(frame: Frame): void {
    this.#tellAtOnce();
    this.#wire.frameAtOnce(frame);
  }

  override forward(packet: Uint8Array, header: RtpHeader, isEvent: boolean, now: number): void {
    this.forwardedAt = now;
    this.#wire.packet(packet.subarray(0, header.payloadEnd), isEvent);
  }

  override sendDigit(digit: string, durationMs: number): void {
    this.#wire.tell({ type: 'digit', digit, durationMs, by: 'signalling' });
  }

  /** Takes what has come meanwhile. */
  wake(): void {
    this.#wire.read(this);
  }

  override receive(now: number): void {
    this.wake();
    if (this.#hearer && !this.#spoke) this.setHeard(undefined);
    this.#spoke = false;
    if (this.listened && !this.#hearer) this.setHeard(this.#queue.take(now));
  }

  override send(): void {
    this.#tellAtOnce();
    if (this.#mode === 'mixing' && !this.saidAtOnce) this.#wire.frame(this.inMix ? this.mixed : undefined);
  }

  hearFrame(frame: Frame | undefined): void {
    this.#partnerBefore = undefined;
    if (this.#partner) {
      if (frame) this.#passFrame(frame);
    } else if (!this.#hearer) this.#queue.put(frame);
    else if (frame) this.#hear(frame);
  }

  hearPacket(packet: Uint8Array, isEvent: boolean): void {
    const now = this.clock.monotonic();
    if (!(isEvent ? this.passDigits : this.passAudio) || !readHeader(packet, this.#header)) return;
    if (isEvent) {
      this.passEvent(packet, this.#header, this.#partner, now);
      return;
    }
    // Packets sent before the other side switched to mixing are still forwarded.
    const partner = this.#partner ?? this.#partnerBefore;
    if (partner && partner.mix === this.mix) partner.forward(packet, this.#header, false, now);
  }

  hearMessage(message: PipeMessage): void {
    switch (message.type) {
      case 'offer':
        this.#offer = message;
        this.mix?.reconsider();
        return;
      case 'digit':
        this.pressed(message.digit, message.durationMs, message.by);
        return;
    }
  }

  protected override listenedChanged(): void {
    if (this.listened) this.#turn('mixing');
    else this.setHeard(undefined);
  }

  #turn(mode: PipeMode): void {
    if (mode === this.#mode) return;
    this.#mode = mode;
    // The other side restarts as well.
    this.#told = { speaks: false, hears: false };
    this.#wire.tell({ type: 'mode', mode });
  }

  /** Gives a frame to who hears it at once. */
  #hear(frame: Frame): void {
    this.#spoke = true;
    this.setHeard(frame);
    this.#hearer?.sayAtOnce(frame, this.clock.monotonic());
  }

  /** Tells the other side which frames are passed when they come, if that has changed. */
  #tellAtOnce(): void {
    const told = { speaks: this.#hearer !== undefined, hears: this.saidAtOnce };
    if (told.speaks === this.#told.speaks && told.hears === this.#told.hears) return;
    this.#told = told;
    this.#wire.tell({ type: 'atOnce', ...told });
  }

  /** Frames that were on their way when packets began to be passed on: they come before these. */
  #passFrame(frame: Frame): void {
    if (this.passAudio) this.#partner?.sayAtOnce(frame, this.clock.monotonic());
  }
}
