import type { AudioDirection } from '../telephony/media.ts';
import { addInto } from './dsp/mixer.ts';
import { End, type EndOptions, type Whisper } from './end.ts';
import { emptyFrame, type Frame } from './frame.ts';
import { RateChanger } from './rate-changer.ts';
import { tickMs } from './ticker.ts';

type SnoopEndOptions = EndOptions & { target: End; spy: AudioDirection; whisper: AudioDirection };

const includes = (directions: AudioDirection, direction: 'in' | 'out') =>
  directions === 'both' || directions === direction;

/** Hears the audio from or to a target's far side, and speaks to the far side or to its peer. */
export class SnoopEnd extends End implements Whisper {
  readonly #target: End;
  readonly #spy: AudioDirection;
  readonly #frame: Frame;
  readonly #rates: { in: RateChanger; out: RateChanger };
  readonly #unheard = new Uint8Array(tickMs * 8 * 2);
  #spying = false;

  constructor(options: SnoopEndOptions) {
    super(options);
    const { target, spy, whisper } = options;
    this.#target = target;
    this.#spy = spy;
    const sampleRate = target.sampleRate ?? 8000;
    this.#frame = emptyFrame(sampleRate);
    this.#rates = { in: new RateChanger(sampleRate), out: new RateChanger(sampleRate) };
    if (whisper !== 'none') this.overhear();
    for (const direction of ['in', 'out'] as const)
      if (includes(whisper, direction)) target.addWhisper(this, direction);
  }

  override get sampleRate(): number {
    return this.#frame.sampleRate;
  }

  override receive(): void {
    if (!this.listened) return;
    const heard = includes(this.#spy, 'in') ? this.#target.heardAlone : undefined;
    const said = includes(this.#spy, 'out') ? this.#target.saidAlone : undefined;
    if (!heard && !said) {
      this.setHeard(undefined);
      return;
    }
    const { samples } = this.#frame;
    samples.fill(0);
    if (heard) addInto(samples, this.#rates.in.samples(heard));
    if (said) addInto(samples, this.#rates.out.samples(said));
    this.setHeard(this.#frame);
  }

  override send(): void {
    this.digits.tick();
    if (this.framed) this.compose(this.inMix ? this.mixed : undefined);
    else this.player.fill(this.#unheard, 0, tickMs * 8);
  }

  override close(reason: string): void {
    super.close(reason);
    this.#target.removeWhisper(this);
    this.#listenToTarget(false);
  }

  protected override listenedChanged(): void {
    this.#listenToTarget(this.listened);
    if (!this.listened) this.setHeard(undefined);
  }

  /** The target makes frames only while the snoop's are used. */
  #listenToTarget(on: boolean): void {
    if (on === this.#spying) return;
    this.#spying = on;
    const target = this.#target;
    if (includes(this.#spy, 'in')) on ? target.listen() : target.unlisten();
    if (includes(this.#spy, 'out')) on ? target.overhear() : target.unoverhear();
  }
}
