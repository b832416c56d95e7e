import { decodeInto, octetsPerSample, type StoredCodec, samplesPerMs } from '../codec/codecs.ts';
import { emptyFrame, type Frame } from '../frame.ts';
import { SequenceReader } from '../sequence.ts';
import { tickMs } from '../ticker.ts';
import { digitFrequencies, toneSequence } from '../tones.ts';
import type { DigitStep } from './digit-sender.ts';
import { digitOfEvent } from './telephone-event.ts';

/** A digit as the pair of tones that it is on a keypad (ITU-T Q.23), 20 ms a tick. */
export class DigitTone {
  #reader: SequenceReader | undefined;

  /** The audio of this step of a digit; undefined after its end. */
  next(step: DigitStep, codec: StoredCodec): Frame | undefined {
    if (step.start) {
      const frequencies = digitFrequencies(digitOfEvent[step.event]!);
      const element = { frequencies, modulated: false, durationMs: Number.POSITIVE_INFINITY, once: false };
      this.#reader = new SequenceReader(toneSequence([element], codec));
    }
    if (step.end && !step.ended) return undefined;
    const samples = tickMs * samplesPerMs(codec);
    const octets = new Uint8Array(samples * octetsPerSample(codec));
    this.#reader?.read(octets, 0, samples);
    const tone = emptyFrame(samplesPerMs(codec) * 1000);
    decodeInto(codec, octets, tone.samples);
    return tone;
  }
}
