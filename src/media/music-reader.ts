import type { Clock } from '../lib/clock.ts';
import { encode, type StoredCodec, samplesPerMs } from './codec/codecs.ts';
import type { MusicOnHold, MusicSource } from './file/music-on-hold.ts';
import type { EndlessSource } from './sequence.ts';
import { tickMs } from './ticker.ts';

/** One listener of a music class: silence until its files are open, then the present position, 20 ms a tick. */
export class MusicReader implements EndlessSource {
  readonly #clock: Clock;
  readonly #codec: StoredCodec;
  #source: MusicSource | undefined;
  #closed = false;

  /** @param failed hears once that there is no such music. */
  constructor(
    music: MusicOnHold,
    { musicClass, codec, clock }: { musicClass: string; codec: StoredCodec; clock: Clock },
    failed: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#codec = codec;
    music.open(musicClass).then((source) => {
      if (this.#closed) source.release();
      else this.#source = source;
    }, failed);
  }

  read(target: Uint8Array, at: number, count: number): number {
    const source = this.#source;
    if (!source) return 0;
    const tick = Math.floor(this.#clock.monotonic() / tickMs);
    const samples = source.frame(tick, samplesPerMs(this.#codec) * 1000);
    const done = Math.min(count, samples.length);
    target.set(encode(this.#codec, samples.subarray(0, done)), at);
    return done;
  }

  close(): void {
    this.#closed = true;
    this.#source?.release();
    this.#source = undefined;
  }
}
