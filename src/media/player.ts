import type { Codec, PlayItem, PlayReport } from '../telephony/media.ts';
import { samplesPerMs } from './codec/codecs.ts';
import { inCodec, type Sequence, SequenceReader } from './sequence.ts';

/** What can be done to an item being played, besides stopping it. */
export type PlayControl = 'pause' | 'resume' | 'restart';

/** Where the audio of items comes from. */
export type LoadItem = (item: PlayItem, codec: Codec) => Promise<Sequence>;

/**
 * One item being played: loading, then playing or paused, then ended. Its time runs only while it is read, so it is
 * read at the pace of the tick also when nobody listens. `told` is called exactly once.
 */
export class Player {
  #codec: Codec;
  #told: ((report: PlayReport) => void) | undefined;
  #reader: SequenceReader | undefined;
  #paused = false;
  /** Movement asked for while the item is still being loaded, in ms; starts with its offset. */
  #pendingMs: number;

  constructor(item: PlayItem, codec: Codec, load: LoadItem, told: (report: PlayReport) => void) {
    this.#codec = codec;
    this.#told = told;
    this.#pendingMs = Math.max(0, item.offsetMs || 0);
    load(item, codec).then(
      (sequence) => this.#loaded(sequence),
      (error: unknown) => this.fail(error instanceof Error ? error.message : String(error)),
    );
  }

  get ended(): boolean {
    return this.#told === undefined;
  }

  /** Copies the next samples to `target` from `at`; fewer than `count`, or none, when paused, loading or at the end. */
  read(target: Uint8Array, at: number, count: number): number {
    const reader = this.#reader;
    if (!reader || this.#paused || this.ended) return 0;
    const done = reader.read(target, at, count);
    // Told with the last piece, not one tick later: what is queued behind it follows without a gap.
    if (reader.ended) this.#end({ type: 'media.finished' });
    return done;
  }

  /** Goes on in another codec. */
  convert(codec: Codec): void {
    this.#codec = codec;
    this.#reader?.convert(codec);
  }

  control(action: PlayControl): void {
    if (action === 'pause') this.#paused = true;
    else if (action === 'resume') this.#paused = false;
    else this.#restart();
  }

  /** Moves by `ms`, negative = back; past the end the item ends. */
  seek(ms: number): void {
    if (Number.isNaN(ms)) return;
    if (!this.#reader) {
      this.#pendingMs = Math.max(0, this.#pendingMs + ms);
      return;
    }
    this.#reader.seek(ms * samplesPerMs);
    if (this.#reader.ended) this.#end({ type: 'media.finished' });
  }

  stop(): void {
    this.#end({ type: 'media.finished' });
  }

  fail(reason: string): void {
    this.#end({ type: 'media.failed', reason });
  }

  #loaded(sequence: Sequence): void {
    if (this.ended) return;
    this.#reader = new SequenceReader(inCodec(sequence, this.#codec));
    if (this.#pendingMs > 0) this.#reader.seek(this.#pendingMs * samplesPerMs);
    if (this.#reader.ended) this.#end({ type: 'media.finished' });
  }

  #restart(): void {
    this.#pendingMs = 0;
    this.#reader?.restart();
  }

  #end(report: PlayReport): void {
    const told = this.#told;
    this.#told = undefined;
    this.#reader = undefined;
    told?.(report);
  }
}
