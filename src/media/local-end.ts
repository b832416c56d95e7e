import type { Codec, SessionCommand } from '../telephony/media.ts';
import { anyCodec, End, type PacketTaker, type Passing } from './end.ts';
import { emptyFrame, type Frame } from './frame.ts';
import { emptyHeader, type RtpHeader, readHeader } from './rtp/header.ts';
import { digitOfEvent } from './rtp/telephone-event.ts';
import { tickMs } from './ticker.ts';

/** Packets that may wait while both sides of a pair change to forwarding. */
const mostHeld = 8;

/**
 * Half of a local pair. Its far side is the other half, which hears its audio one tick later. Without a listener
 * playbacks only take their time; digits are reported after sending. If both halves are bridged with one other end
 * each, packets are forwarded unchanged.
 */
export class LocalEnd extends End {
  #peer: LocalEnd | undefined;
  #muted = { in: false, out: false };
  #heardFrame: Frame | undefined;
  /** Targets of the other half's packets, and waiting packets. */
  #partner: PacketTaker | undefined;
  #held: Uint8Array[] = [];
  readonly #header = emptyHeader();
  #asking = false;
  #beyond: string | undefined;
  #sounded = false;
  /** The other half whose packets are looked at. */
  #watchedPeer: LocalEnd | undefined;
  readonly #unheard = new Uint8Array(tickMs * 8 * 2);

  override get sampleRate(): undefined {
    return undefined;
  }

  /** Joins two halves. */
  pair(peer: LocalEnd): void {
    this.#peer = peer;
    peer.#peer = this;
    if (this.listened) peer.overhear();
    if (peer.listened) this.overhear();
    this.#changed();
  }

  override get forwardable(): string | undefined {
    const peer = this.#peer;
    // A circle has no answer: both halves in one bridge, or a ring of bridges joined by pairs.
    if (!peer || this.#asking || !this.#isOpen || !peer.#isOpen) return undefined;
    // The mix in the other thread checks its own side; it asks this one if necessary.
    if (this.mix?.isElsewhere) return undefined;
    this.#asking = true;
    try {
      return peer.mix ? peer.mix.beyond(peer) : anyCodec;
    } finally {
      this.#asking = false;
    }
  }

  override get takesEvents(): boolean {
    return false;
  }

  override forwardTo(partner: PacketTaker | undefined): void {
    this.#partner = partner;
    for (const packet of this.#held.splice(0))
      if (partner && readHeader(packet, this.#header)) this.#arrive(packet, this.#header, this.clock.monotonic());
  }

  override forward(packet: Uint8Array, header: RtpHeader, _isEvent: boolean, now: number): void {
    this.forwardedAt = now;
    this.passingLevel.look(packet, header.payloadStart, header.payloadEnd);
    const peer = this.#peer;
    if (peer) peer.#arrive(packet, header, now);
  }

  override meetingChanged(): void {
    const beyond = this.#asking ? this.#beyond : this.mix?.beyond(this);
    if (beyond === this.#beyond) return;
    this.#beyond = beyond;
    this.#peer?.mix?.reconsider();
  }

  override apply(command: SessionCommand): void {
    if (command.type === 'mute') this.#muted = { in: command.in, out: command.out };
    else super.apply(command);
    this.#changed();
  }

  /** Sends what it hears back, as audio. The listener for digits echoes them. */
  echo(on: boolean): void {
    if (on === this.echoing) return;
    this.echoing = on;
    this.followEcho();
  }

  override watchPassing(on: boolean): void {
    super.watchPassing(on);
    if (on) this.#watchedPeer = this.#peer;
    this.#watchedPeer?.passingLevel.watch(on, this.#watchedPeer.passingCodec);
  }

  override get passing(): Passing {
    const peer = this.#peer;
    return { heard: peer && !this.#muted.in ? peer.#saying : undefined, said: this.#saying };
  }

  get #saying(): number | undefined {
    return super.passing.said;
  }

  protected override get passingCodec(): Codec | undefined {
    return this.#beyond === anyCodec ? undefined : (this.#beyond as Codec | undefined);
  }

  override receive(): void {
    if (this.listened) this.setHeard(this.#muted.in ? undefined : this.#copyOf(this.#peer?.said));
  }

  override send(): void {
    if (this.player.active !== this.#sounded) {
      this.#sounded = this.player.active;
      this.#changed();
    }
    const step = this.digits.tick();
    if (step?.ended) {
      const digit = digitOfEvent[step.event]!;
      this.report({ type: 'digitSent', session: this.session, digit, durationMs: step.durationMs });
      this.#peer?.pressed(digit, step.durationMs);
    }
    if (this.framed) this.#say(step ? undefined : this.echoing ? this.heard : this.inMix ? this.mixed : undefined);
    else if (!step) this.player.fill(this.#unheard, 0, tickMs * 8);
  }

  override close(reason: string): void {
    super.close(reason);
    const peer = this.#peer;
    this.#peer = undefined;
    if (!peer) return;
    peer.#peer = undefined;
    if (peer.listened) peer.setHeard(undefined);
    if (this.listened) peer.unoverhear();
    peer.#changed();
  }

  protected override get ownOverhearers(): number {
    return this.#peer?.listened ? 1 : 0;
  }

  protected override listenedChanged(): void {
    if (!this.listened) this.setHeard(undefined);
    if (this.listened) this.#peer?.overhear();
    else this.#peer?.unoverhear();
  }

  /** The other half reuses the frame for its next audio. */
  #copyOf(frame: Frame | undefined): Frame | undefined {
    if (!frame) return undefined;
    if (this.#heardFrame?.sampleRate !== frame.sampleRate) this.#heardFrame = emptyFrame(frame.sampleRate);
    this.#heardFrame.samples.set(frame.samples);
    return this.#heardFrame;
  }

  /** An echo forwards no packets. */
  protected override followEcho(): void {
    this.#changed();
    super.followEcho();
  }

  /** Nothing happens on this half that packets could not pass by. */
  get #isOpen(): boolean {
    return !this.tapped && !this.echoing && !this.player.active && !this.#muted.in && !this.#muted.out;
  }

  /** Forwarding depends on both sides. */
  #changed(): void {
    this.mix?.reconsider();
    this.#peer?.mix?.reconsider();
  }

  #arrive(packet: Uint8Array, header: RtpHeader, now: number): void {
    if (!this.passAudio) return;
    if (this.#partner) this.#partner.forward(packet, header, false, now);
    else if (this.mix && !this.inMix && this.#held.length < mostHeld) this.#held.push(packet);
  }

  #say(frame: Frame | undefined): void {
    if (this.#muted.out) this.saySilence();
    else this.compose(frame);
  }
}
