import type { ToneDetection, ToneSignal } from '../telephony/media.ts';
import { SignalDetector } from './dsp/signal-detector.ts';
import { ToneDetector } from './dsp/tone-detector.ts';
import type { End } from './end.ts';
import type { Frame } from './frame.ts';
import type { EngineReport } from './protocol.ts';
import type { Tap } from './talk-tap.ts';
import { signalPatterns } from './tones.ts';

/** Detectors for one sampling rate. */
type Detectors = { sampleRate: number; tone?: ToneDetector; signals?: SignalDetector<ToneSignal> };

/** Looks for a tone and for signals in one direction; silence in between is passed over. */
class ToneEar {
  readonly #detection: ToneDetection;
  readonly #zone: string;
  #detectors: Detectors | undefined;

  constructor(detection: ToneDetection, zone: string) {
    this.#detection = detection;
    this.#zone = zone;
  }

  /** Takes the next 20 ms, silence where there is no frame. @returns what has just been made out. */
  take(frame: Frame | undefined): ('tone' | ToneSignal)[] {
    const sampleRate = frame?.sampleRate ?? this.#detectors?.sampleRate;
    if (sampleRate === undefined) return [];
    if (this.#detectors?.sampleRate !== sampleRate) this.#detectors = this.#open(sampleRate);
    const { tone, signals } = this.#detectors;
    const samples = frame?.samples ?? new Int16Array(sampleRate / 50);
    return [...(tone?.take(samples) ? (['tone'] as const) : []), ...(signals?.take(samples) ?? [])];
  }

  #open(sampleRate: number): Detectors {
    const { hertz, durationMs, thresholdDb, signals = [] } = this.#detection;
    return {
      sampleRate,
      // Above half the rate there is no such tone.
      ...(hertz > 0 &&
        hertz * 2 < sampleRate && { tone: new ToneDetector({ hertz, durationMs, sampleRate, thresholdDb }) }),
      ...(signals.length > 0 && { signals: new SignalDetector(signalPatterns(this.#zone), signals, sampleRate) }),
    };
  }
}

/** Tells when a tone, or a signal, sounds in what an end's far side says or hears. */
export class ToneTap implements Tap {
  readonly #end: End;
  readonly #report: (report: EngineReport) => void;
  readonly #said: ToneEar | undefined;
  readonly #heard: ToneEar | undefined;

  /** @param zone country whose signals are looked for. */
  constructor(end: End, detection: ToneDetection, zone: string, report: (report: EngineReport) => void) {
    this.#end = end;
    this.#report = report;
    this.#said = detection.direction === 'out' ? undefined : new ToneEar(detection, zone);
    this.#heard = detection.direction === 'in' ? undefined : new ToneEar(detection, zone);
    if (this.#said) end.listen();
    if (this.#heard) end.overhear();
  }

  tick(): void {
    const { heardAlone, saidAlone } = this.#end;
    for (const found of this.#said?.take(heardAlone) ?? []) this.#tell('in', found);
    for (const found of this.#heard?.take(saidAlone) ?? []) this.#tell('out', found);
  }

  close(): void {
    if (this.#said) this.#end.unlisten();
    if (this.#heard) this.#end.unoverhear();
  }

  #tell(direction: 'in' | 'out', found: 'tone' | ToneSignal): void {
    const { session } = this.#end;
    this.#report({ type: 'toneDetected', session, direction, ...(found !== 'tone' && { signal: found }) });
  }
}
