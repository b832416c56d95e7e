import type { ToneDetection } from '../telephony/media.ts';
import { ToneDetector } from './dsp/tone-detector.ts';
import type { End } from './end.ts';
import type { Frame } from './frame.ts';
import type { EngineReport } from './protocol.ts';
import type { Tap } from './talk-tap.ts';

/** Looks for a tone in one direction; silence in between is passed over. */
class ToneEar {
  readonly #detection: ToneDetection;
  #detector: { of: ToneDetector; sampleRate: number } | undefined;

  constructor(detection: ToneDetection) {
    this.#detection = detection;
  }

  /** Takes the next 20 ms, silence where there is no frame. @returns whether the tone has just lasted long enough. */
  take(frame: Frame | undefined): boolean {
    const { hertz, durationMs } = this.#detection;
    const sampleRate = frame?.sampleRate ?? this.#detector?.sampleRate;
    // Above half the rate there is no such tone.
    if (sampleRate === undefined || hertz * 2 >= sampleRate) return false;
    if (this.#detector?.sampleRate !== sampleRate)
      this.#detector = { of: new ToneDetector({ hertz, durationMs, sampleRate }), sampleRate };
    return this.#detector.of.take(frame?.samples ?? new Int16Array(sampleRate / 50));
  }
}

/** Tells when a tone sounds in what an end's far side says or hears. */
export class ToneTap implements Tap {
  readonly #end: End;
  readonly #report: (report: EngineReport) => void;
  readonly #said: ToneEar | undefined;
  readonly #heard: ToneEar | undefined;

  constructor(end: End, detection: ToneDetection, report: (report: EngineReport) => void) {
    this.#end = end;
    this.#report = report;
    this.#said = detection.direction === 'out' ? undefined : new ToneEar(detection);
    this.#heard = detection.direction === 'in' ? undefined : new ToneEar(detection);
    if (this.#said) end.listen();
    if (this.#heard) end.overhear();
  }

  tick(): void {
    const { session, heardAlone, saidAlone } = this.#end;
    if (this.#said?.take(heardAlone)) this.#report({ type: 'toneDetected', session });
    if (this.#heard?.take(saidAlone)) this.#report({ type: 'toneDetected', session });
  }

  close(): void {
    if (this.#said) this.#end.unlisten();
    if (this.#heard) this.#end.unoverhear();
  }
}
