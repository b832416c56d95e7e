import { octetsPerSample, type StoredCodec, samplesPerMs, transcode } from './codec/codecs.ts';

/** A piece of audio in the sequence's codec, which repeats when it lasts longer than its octets do. */
export type Segment = {
  payload: Uint8Array;
  /** Length in samples; Infinity: without end. */
  samples: number;
  /** Makes the samples of the payload from `from` to `end`, where it is made while it is read. */
  make?(from: number, end: number): void;
};

/** The audio of an item: segments in order. */
export type Sequence = {
  codec: StoredCodec;
  segments: readonly Segment[];
  /** Segment to repeat from after the last; absent: the item ends. */
  repeatFrom?: number;
  /** Whether the position in it can be moved (tones ignore that). */
  seekable: boolean;
  /** Gives the same in another codec, where payloads are made while they are read. */
  as?(codec: StoredCodec): Sequence;
};

/** Audio without end, such as music on hold. */
export interface EndlessSource {
  /** Copies the next samples to `target` from octet `at`; fewer than `count` when it has none just now. */
  read(target: Uint8Array, at: number, count: number): number;
  /** The reader has stopped. */
  close(): void;
}

/** The same audio in another codec of the same rate; the same object when nothing is to be changed. */
export function inCodec(sequence: Sequence, codec: StoredCodec): Sequence {
  if (sequence.codec === codec) return sequence;
  if (sequence.as) return sequence.as(codec);
  const segments = sequence.segments.map(({ payload, samples }) => ({
    payload: transcode(sequence.codec, codec, payload),
    samples,
  }));
  return { ...sequence, codec, segments };
}

/** Reads a sequence piece by piece. */
export class SequenceReader {
  #sequence: Sequence;
  #octets: 1 | 2;
  #segment = 0;
  #offset = 0;

  constructor(sequence: Sequence) {
    this.#sequence = sequence;
    this.#octets = octetsPerSample(sequence.codec);
    this.#skipEmpty();
  }

  /** Nothing is left to read. */
  get ended(): boolean {
    return this.#segment >= this.#sequence.segments.length;
  }

  /** Goes on at the same position in another codec of the same rate; false when the rate is another. */
  convert(codec: StoredCodec): boolean {
    if (samplesPerMs(codec) !== samplesPerMs(this.#sequence.codec)) return false;
    this.#sequence = inCodec(this.#sequence, codec);
    this.#octets = octetsPerSample(codec);
    return true;
  }

  /** The position, in ms from the start of the first segment. */
  get positionMs(): number {
    let samples = this.#offset;
    for (let index = 0; index < this.#segment; index++) samples += this.#sequence.segments[index]!.samples;
    return samples / samplesPerMs(this.#sequence.codec);
  }

  /** Copies up to `count` samples to `target` from octet `at`; fewer only at the end. Returns how many samples. */
  read(target: Uint8Array, at: number, count: number): number {
    let done = 0;
    const octets = this.#octets;
    while (done < count && !this.ended) {
      const segment = this.#sequence.segments[this.#segment]!;
      const { payload, samples } = segment;
      const held = payload.length / octets;
      const from = this.#offset % held;
      const length = Math.min(count - done, samples - this.#offset, held - from);
      segment.make?.(from, from + length);
      const isWhole = from === 0 && length === held;
      target.set(isWhole ? payload : payload.subarray(from * octets, (from + length) * octets), at + done * octets);
      done += length;
      this.#offset += length;
      if (this.#offset >= samples) this.#leaveSegment();
    }
    return done;
  }

  /** Begins again. */
  restart(): void {
    this.#segment = 0;
    this.#offset = 0;
    this.#skipEmpty();
  }

  /** Moves by `ms` (negative = back): before the start it is at the start, past the end it has ended. */
  seek(ms: number): void {
    if (this.#sequence.seekable) this.goTo(this.positionMs + ms);
  }

  /** Moves to `ms` from the start of the first segment, also in what is not for seeking. */
  goTo(ms: number): void {
    const { segments, codec } = this.#sequence;
    let position = Math.max(0, Math.trunc(ms * samplesPerMs(codec)));
    this.#segment = 0;
    while (this.#segment < segments.length && position >= segments[this.#segment]!.samples)
      position -= segments[this.#segment++]!.samples;
    this.#offset = position;
  }

  #leaveSegment(): void {
    this.#offset = 0;
    this.#segment++;
    this.#skipEmpty();
  }

  #skipEmpty(): void {
    const { segments, repeatFrom } = this.#sequence;
    // A loop of empty segments ends after one round.
    for (let skipped = 0; skipped <= segments.length; skipped++) {
      if (this.#segment >= segments.length && repeatFrom !== undefined && repeatFrom < segments.length)
        this.#segment = repeatFrom;
      const segment = segments[this.#segment];
      if (!segment || (segment.samples > 0 && segment.payload.length > 0)) return;
      this.#segment++;
    }
    this.#segment = segments.length;
  }
}
