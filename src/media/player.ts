import type { PlayItem, PlayReport } from '../telephony/media.ts';
import type { StoredCodec } from './codec/codecs.ts';
import { inCodec, type Sequence, SequenceReader } from './sequence.ts';

/** Controls of a playing item, besides stopping it. */
export type PlayControl = 'pause' | 'resume' | 'restart';

/** Loads the audio of items. */
type LoadItem = (item: PlayItem, codec: StoredCodec) => Promise<Sequence>;

/**
 * One item: loading, playing, paused, ended. Its time advances only when it is read, so it is read each tick also
 * without listeners. `told` is called exactly once.
 */
export class Player {
  readonly #item: PlayItem;
  readonly #load: LoadItem;
  #codec: StoredCodec;
  #told: ((report: PlayReport) => void) | undefined;
  #reader: SequenceReader | undefined;
  #paused = false;
  /** Movement asked for while the item is still being loaded, in ms; starts with its offset. */
  #pendingMs: number;

  constructor(item: PlayItem, codec: StoredCodec, load: LoadItem, told: (report: PlayReport) => void) {
    this.#item = item;
    this.#load = load;
    this.#codec = codec;
    this.#told = told;
    this.#pendingMs = Math.max(0, (item.heardMs ?? item.offsetMs) || 0);
    this.#begin();
  }

  get ended(): boolean {
    return this.#told === undefined;
  }

  /** Its position, in ms. */
  get positionMs(): number {
    return this.#reader?.positionMs ?? this.#pendingMs;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Copies the next samples to `target` from octet `at`; fewer than `count`, or none, when paused, loading or at the end. */
  read(target: Uint8Array, at: number, count: number): number {
    const reader = this.#reader;
    if (!reader || this.#paused || this.ended) return 0;
    const done = reader.read(target, at, count);
    // Told with the last piece, not one tick later: what is queued behind it follows without a gap.
    if (reader.ended) this.#end({ type: 'media.finished' });
    return done;
  }

  /** Continues in another codec at the same position. At another rate the item is loaded again. */
  convert(codec: StoredCodec): void {
    if (this.ended || codec === this.#codec) return;
    const positionMs = this.positionMs;
    this.#codec = codec;
    if (this.#reader?.convert(codec)) return;
    this.#pendingMs = positionMs;
    this.#reader = undefined;
    this.#begin();
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
    this.#reader.seek(ms);
    if (this.#reader.ended) this.#end({ type: 'media.finished' });
  }

  stop(): void {
    this.#end({ type: 'media.finished' });
  }

  fail(reason: string): void {
    this.#end({ type: 'media.failed', reason });
  }

  #begin(): void {
    const codec = this.#codec;
    this.#load(this.#item, codec).then(
      (sequence) => this.#loaded(sequence, codec),
      (error: unknown) => {
        if (codec === this.#codec) this.fail(error instanceof Error ? error.message : String(error));
      },
    );
  }

  #loaded(sequence: Sequence, codec: StoredCodec): void {
    // Asked for in a codec that has changed meanwhile: another is on its way.
    if (this.ended || this.#reader || codec !== this.#codec) return;
    this.#reader = new SequenceReader(inCodec(sequence, codec));
    if (this.#item.heardMs !== undefined) this.#reader.goTo(this.#pendingMs);
    else if (this.#pendingMs > 0) this.#reader.seek(this.#pendingMs);
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
