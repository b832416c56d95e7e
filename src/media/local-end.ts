import { End } from './end.ts';
import { emptyFrame, type Frame } from './frame.ts';
import { digitOfEvent } from './rtp/telephone-event.ts';
import { tickMs } from './ticker.ts';

/**
 * Half of a local pair. Its far side is the other half: what one says the other hears a tick later. While nobody wants
 * to hear it, what it plays only takes its time; digits are told once they are sent.
 */
export class LocalEnd extends End {
  #peer: LocalEnd | undefined;
  #echoing = false;
  #listensForEcho = false;
  #heardFrame: Frame | undefined;
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
  }

  /** Sends what it hears back, as audio; digits are echoed by whoever hears of them. */
  echo(on: boolean): void {
    if (on === this.#echoing) return;
    this.#echoing = on;
    this.#followEcho();
  }

  override receive(): void {
    if (this.listened) this.setHeard(this.#copyOf(this.#peer?.said));
  }

  override send(): void {
    const step = this.digits.tick();
    if (step?.ended) {
      const digit = digitOfEvent[step.event]!;
      this.report({ type: 'digitSent', session: this.session, digit, durationMs: step.durationMs });
      this.#peer?.pressed(digit, step.durationMs);
    }
    if (this.framed) this.compose(step ? undefined : this.#echoing ? this.heard : this.inMix ? this.mixed : undefined);
    else if (!step) this.voice.fill(this.#unheard, 0, tickMs * 8);
  }

  override close(reason: string): void {
    super.close(reason);
    const peer = this.#peer;
    this.#peer = undefined;
    if (!peer) return;
    peer.#peer = undefined;
    if (peer.listened) peer.setHeard(undefined);
    if (this.listened) peer.unoverhear();
  }

  protected override listenedChanged(): void {
    if (!this.listened) this.setHeard(undefined);
    if (this.listened) this.#peer?.overhear();
    else this.#peer?.unoverhear();
  }

  protected override overheardChanged(): void {
    this.#followEcho();
  }

  /** What the other half said belongs to it, and changes when it says more. */
  #copyOf(frame: Frame | undefined): Frame | undefined {
    if (!frame) return undefined;
    if (this.#heardFrame?.sampleRate !== frame.sampleRate) this.#heardFrame = emptyFrame(frame.sampleRate);
    this.#heardFrame.samples.set(frame.samples);
    return this.#heardFrame;
  }

  /** An echo that somebody hears needs what it sends back. */
  #followEcho(): void {
    const needed = this.#echoing && this.overheard;
    if (needed === this.#listensForEcho) return;
    this.#listensForEcho = needed;
    if (needed) this.listen();
    else this.unlisten();
  }
}
