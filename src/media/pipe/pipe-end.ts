import { End, type EndOptions, type PacketTaker } from '../end.ts';
import type { Frame } from '../frame.ts';
import { emptyHeader, type RtpHeader, readHeader } from '../rtp/header.ts';
import { tickMs } from '../ticker.ts';
import { FrameQueue } from './frame-queue.ts';
import { type PipeListener, type PipeMessage, type PipeMode, type PipePlan, PipeWire } from './pipe-wire.ts';
import type { WakeUps } from './wake-up.ts';

/** Stands in a mix for an end that lives in another thread. */
export class PipeEnd extends End implements PipeListener {
  readonly #wire: PipeWire;
  readonly #queue = new FrameQueue();
  readonly #header = emptyHeader();
  #offer: { takesEvents: boolean; forwardable?: string; sampleRate?: number } = { takesEvents: true };
  #mode: PipeMode | undefined;
  /** Where packets go, and where those went that are still on their way. */
  #partner: PacketTaker | undefined;
  #partnerBefore: PacketTaker | undefined;

  constructor(options: EndOptions, plan: PipePlan, wakeUps: WakeUps) {
    super(options);
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
    for (const frame of this.#queue.flush()) this.#sayAtOnce(frame);
  }

  override forward(packet: Uint8Array, header: RtpHeader, isEvent: boolean, now: number): void {
    this.forwardedAt = now;
    this.#wire.packet(packet.subarray(0, header.payloadEnd), isEvent);
  }

  override sendDigit(digit: string, durationMs: number): void {
    this.#wire.tell({ type: 'digit', digit, durationMs });
  }

  /** Takes what has come meanwhile. */
  wake(): void {
    this.#wire.read(this);
  }

  override receive(): void {
    this.wake();
    if (this.listened) this.setHeard(this.#queue.take());
  }

  override send(): void {
    if (this.#mode === 'mixing') this.#wire.frame(this.inMix ? this.mixed : undefined);
  }

  hearFrame(frame: Frame | undefined): void {
    this.#partnerBefore = undefined;
    if (!this.#partner) this.#queue.put(frame);
    else if (frame) this.#sayAtOnce(frame);
  }

  hearPacket(packet: Uint8Array, isEvent: boolean): void {
    const now = this.clock.monotonic();
    if (!(isEvent ? this.passDigits : this.passAudio) || !readHeader(packet, this.#header)) return;
    if (isEvent) {
      this.passEvent(packet, this.#header, this.#partner, now);
      return;
    }
    // What was sent before the other side heard that frames are mixed now is passed on as it was meant to be.
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
        this.pressed(message.digit, message.durationMs);
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
    this.#wire.tell({ type: 'mode', mode });
  }

  /** Frames that were on their way when packets began to be passed on: they come before these. */
  #sayAtOnce(frame: Frame): void {
    if (this.passAudio) this.#partner?.sayAtOnce(frame, this.clock.monotonic());
  }
}
