import { DigitDetector } from './dsp/digit-detector.ts';
import type { Frame } from './frame.ts';

/** Detects in-band digits of a far side without events, and removes them for listeners. */
export class InbandDigits {
  readonly #pressed: (digit: string, durationMs: number) => void;
  #detector: { of: DigitDetector; sampleRate: number } | undefined;

  /** @param pressed hears each digit once, at its end. */
  constructor(pressed: (digit: string, durationMs: number) => void) {
    this.#pressed = pressed;
  }

  /** Takes the next 20 ms. @returns the audible part: nothing during a digit. */
  take(frame: Frame | undefined): Frame | undefined {
    if (!frame) {
      this.#tell(this.#detector?.of.end());
      return undefined;
    }
    const { samples, sampleRate } = frame;
    if (this.#detector?.sampleRate !== sampleRate) this.#detector = { of: new DigitDetector(sampleRate), sampleRate };
    const { of: detector } = this.#detector;
    this.#tell(detector.take(samples));
    return detector.sounding === '' ? frame : undefined;
  }

  #tell(ended: { digit: string; durationMs: number } | undefined): void {
    if (ended) this.#pressed(ended.digit, ended.durationMs);
  }
}
