import { meanLevel } from './level.ts';

/** Thresholds of talk detection. */
type TalkDetection = {
  /** Mean magnitude of a frame from which it counts as talking, 0 to 32,768. */
  thresholdLevel: number;
  /** How long it must be quiet before talking is over, in ms. */
  silenceMs: number;
  /** How much must be said before talking begins, in ms, so that a click is no word. */
  talkMs?: number;
  /** Whether it begins during talking; the length counts from there. */
  talking?: boolean;
};

/** A change: talking began, or is over after so long (ms, the silence that ended it not included). */
type TalkChange = { talking: true } | { talking: false; durationMs: number };

/** Some 40 ms: shorter than any syllable, longer than a click. */
const defaultTalkMs = 40;
/** Talking continues a little below the threshold, because words fade slowly. */
const lowerShare = 0.7;

/** Detects the begin and end of talking by the level of frames. */
export class TalkDetector {
  readonly #thresholdLevel: number;
  readonly #silenceMs: number;
  readonly #talkMs: number;
  #talking: boolean;
  /** While quiet: loud frames in a row so far. While talking: since it began. In ms. */
  #heardMs = 0;
  #quietMs = 0;

  constructor({ thresholdLevel, silenceMs, talkMs = defaultTalkMs, talking = false }: TalkDetection) {
    this.#thresholdLevel = thresholdLevel;
    this.#silenceMs = silenceMs;
    this.#talkMs = talkMs;
    this.#talking = talking;
  }

  get talking(): boolean {
    return this.#talking;
  }

  /** Length of the present silence, in ms; 0 during talking. */
  get quietMs(): number {
    return this.#quietMs;
  }

  /** Takes the next `ms` of audio; no samples (nothing arrived) are silence. */
  take(samples: Int16Array, ms: number): TalkChange | undefined {
    return this.takeLevel(meanLevel(samples), ms);
  }

  /** As {@link take}, where the mean level is known. */
  takeLevel(level: number, ms: number): TalkChange | undefined {
    const loud = level >= this.#thresholdLevel * (this.#talking ? lowerShare : 1);
    this.#quietMs = loud ? 0 : this.#quietMs + ms;
    return this.#talking ? this.#whileTalking(ms) : this.#whileQuiet(loud, ms);
  }

  /** Ends talking that is under way, because its source is gone. */
  end(): TalkChange | undefined {
    return this.#talking ? this.#finished() : undefined;
  }

  #whileTalking(ms: number): TalkChange | undefined {
    this.#heardMs += ms;
    return this.#quietMs >= this.#silenceMs && this.#quietMs > 0 ? this.#finished() : undefined;
  }

  #whileQuiet(loud: boolean, ms: number): TalkChange | undefined {
    this.#heardMs = loud ? this.#heardMs + ms : 0;
    if (!loud || this.#heardMs < this.#talkMs) return undefined;
    this.#talking = true;
    return { talking: true };
  }

  #finished(): TalkChange {
    const durationMs = this.#heardMs - this.#quietMs;
    this.#talking = false;
    this.#heardMs = 0;
    return { talking: false, durationMs };
  }
}
