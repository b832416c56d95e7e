import type { Clock } from '../../lib/clock.ts';
import type { FormatName } from '../../lib/formats.ts';
import type { AudioCodec } from '../codec/audio-codec.ts';
import { isLaw } from '../codec/codecs.ts';
import { openCodec } from '../codec/open-codec.ts';
import { emptyFrame, type Frame } from '../frame.ts';
import { mostOwed, tickMs } from '../ticker.ts';

type IncomingAudioOptions = {
  codec: FormatName;
  /** Audio that may wait, in ms. */
  mostMs: number;
  /** Audio that is kept on overflow: the latest ms. 0: new audio is dropped instead. */
  keepMs: number;
  /** Tells how late ticks are. If the latest audio is kept, audio for late ticks may wait, too. */
  clock?: Pick<Clock, 'monotonic'>;
};

/**
 * Audio buffered before playing, in ms, because packets arrive unevenly. It grows after an underrun and shrinks again
 * after a quiet time.
 */
const prefill = { leastMs: 20, mostMs: 60, stepMs: 20 } as const;
/** Ticks within which audio comes again that was late rather than over, and after which all is calm. */
const lateTicks = 5;
const calmPrefillTicks = 1500;
/** Ticks after which less than that is played, too: the sender has no more. */
const longestPrefill = 3;
/** Audio that may always wait, in ms; of a stream that has more all the time 20 ms are left out now and then. */
const wantedMs = prefill.mostMs + 20;
/** Ticks in which more than that has to wait all the time. */
const calmTicks = 100;
/** Length of the fade over dropped audio, in ms. */
const fadeMs = 5;
/** Longest audio that one Opus packet holds, in ms (RFC 6716 section 2.1.4). */
const longestOpusMs = 120;

/**
 * Audio from a stream of any speed, played in real time. The buffer is bounded: a fast sender loses audio and adds no
 * lasting delay.
 */
export class IncomingAudio {
  readonly #codec: AudioCodec;
  readonly #most: number;
  readonly #keep: number;
  readonly #clock: Pick<Clock, 'monotonic'> | undefined;
  /** When the last tick should have been, monotonic ms. */
  #tickedAt: number | undefined;
  readonly #perFrame: number;
  readonly #frames: [Frame, Frame];
  readonly #chunks: Int16Array[] = [];
  /** Samples of the first chunk that are played, and samples that wait in all. */
  #offset = 0;
  #samples = 0;
  #running = false;
  #waited = 0;
  #prefillMs: number = prefill.leastMs;
  /** Ticks so far, at which audio ran out, and since which it did not. */
  #ticks = 0;
  #ranOutAt = Number.NEGATIVE_INFINITY;
  #calmSince = 0;
  #calm = 0;
  #fewest = Number.POSITIVE_INFINITY;
  #odd: number | undefined;
  #dropped = 0;
  #accepted = 0;
  #heard = 0;

  constructor({ codec, mostMs, keepMs, clock }: IncomingAudioOptions) {
    this.#clock = clock;
    this.#codec = openCodec(codec, { order: 'host' });
    const { sampleRate } = this.#codec;
    this.#most = (mostMs * sampleRate) / 1000;
    this.#keep = (keepMs * sampleRate) / 1000;
    this.#perFrame = (tickMs * sampleRate) / 1000;
    this.#frames = [emptyFrame(sampleRate), emptyFrame(sampleRate)];
  }

  /** Audio that waits, in ms. */
  get queuedMs(): number {
    return (this.#samples * 1000) / this.#codec.sampleRate;
  }

  /** Audio that was left out so far because it was too much, in ms. */
  get droppedMs(): number {
    return (this.#dropped * 1000) / this.#codec.sampleRate;
  }

  /** Accepted audio, and played or dropped audio, in samples: the position of marks. */
  get accepted(): number {
    return this.#accepted;
  }

  get passed(): number {
    return this.#accepted - this.#samples;
  }

  /** Audio that was played so far, in ms. */
  get heardMs(): number {
    return (this.#heard * 1000) / this.#codec.sampleRate;
  }

  /** Takes what has arrived. Octets of linear audio may be cut anywhere. */
  put(octets: Uint8Array): void {
    const samples = this.#decode(octets);
    if (samples.length === 0) return;
    if (this.#ticks - this.#ranOutAt <= lateTicks) this.#wait(prefill.stepMs);
    this.#ranOutAt = Number.NEGATIVE_INFINITY;
    if (this.#keep === 0 && this.#samples + samples.length > this.#most) {
      this.#dropped += samples.length;
      return;
    }
    this.#chunks.push(samples);
    this.#samples += samples.length;
    this.#accepted += samples.length;
    const owed = this.#keep > 0 ? this.#owed() : 0;
    if (this.#samples > this.#most + owed) this.#drop(this.#samples - this.#keep - owed);
  }

  /** Samples that late ticks take as soon as they run. */
  #owed(): number {
    if (!this.#clock || this.#tickedAt === undefined) return 0;
    const late = Math.floor((this.#clock.monotonic() - this.#tickedAt) / tickMs) - 1;
    return Math.max(0, Math.min(late, mostOwed)) * this.#perFrame;
  }

  /** The next 20 ms, the rest of the last piece filled with silence; undefined when nothing is there to be played. @param now nominal time of the tick. */
  pull(now?: number): Frame | undefined {
    this.#ticks++;
    this.#tickedAt = now;
    if (this.#ticks - this.#calmSince >= calmPrefillTicks) this.#wait(-prefill.stepMs);
    if (this.#samples === 0) {
      if (this.#running) this.#ranOutAt = this.#ticks;
      this.#running = false;
      this.#waited = 0;
      this.#calm = 0;
      this.#fewest = Number.POSITIVE_INFINITY;
      return undefined;
    }
    if (!this.#running && this.queuedMs < this.#prefillMs && ++this.#waited < longestPrefill) return undefined;
    this.#running = true;
    this.#frames.reverse();
    const frame = this.#frames[0];
    const count = this.#take(frame.samples);
    frame.samples.fill(0, count);
    if (this.#keep > 0 && this.#isLate()) this.#leaveOut(frame.samples);
    return frame;
  }

  /** The next 20 ms if they are there in full, without waiting for a tick. */
  ready(): Frame | undefined {
    if (this.#samples < this.#perFrame) return undefined;
    this.#running = true;
    this.#frames.reverse();
    const frame = this.#frames[0];
    this.#take(frame.samples);
    return frame;
  }

  /** A tick that takes nothing, for what comes is given on at once. */
  pass(now: number): void {
    this.#ticks++;
    this.#tickedAt = now;
  }

  /** Changes how much has to be there. */
  #wait(byMs: number): void {
    this.#calmSince = this.#ticks;
    this.#prefillMs = Math.max(prefill.leastMs, Math.min(prefill.mostMs, this.#prefillMs + byMs));
  }

  /** Whether the buffer was longer than needed for a while: the sender's clock is faster, or it began too early. */
  #isLate(): boolean {
    this.#fewest = Math.min(this.#fewest, this.queuedMs);
    if (++this.#calm < calmTicks) return false;
    const isLate = this.#fewest > wantedMs;
    this.#calm = 0;
    this.#fewest = Number.POSITIVE_INFINITY;
    return isLate;
  }

  /** Gives out the next 20 ms in place of these, without a click. */
  #leaveOut(samples: Int16Array): void {
    const faded = samples.slice(0, Math.round((fadeMs * this.#codec.sampleRate) / 1000));
    const count = this.#take(samples);
    samples.fill(0, count);
    this.#heard -= count;
    this.#dropped += count;
    for (let index = 0; index < faded.length; index++) {
      const share = (index + 1) / (faded.length + 1);
      samples[index] = Math.round(faded[index]! * (1 - share) + samples[index]! * share);
    }
  }

  /** Forgets what waits. */
  flush(): void {
    this.#chunks.length = 0;
    this.#offset = 0;
    this.#samples = 0;
    this.#odd = undefined;
  }

  close(): void {
    this.flush();
    this.#codec.close();
  }

  #decode(octets: Uint8Array): Int16Array {
    const { codec, sampleRate } = this.#codec;
    if (codec === 'opus') {
      const samples = new Int16Array((longestOpusMs * sampleRate) / 1000);
      return samples.slice(0, this.#codec.decode(octets, samples));
    }
    const whole = codec.startsWith('slin') ? this.#even(octets) : octets;
    const most = isLaw(codec) ? whole.length : codec === 'g722' ? whole.length * 2 : whole.length >> 1;
    const samples = new Int16Array(most);
    const count = this.#codec.decode(whole, samples);
    return count === most ? samples : samples.subarray(0, count);
  }

  /** Linear samples have two octets: half a one waits for its other half. */
  #even(octets: Uint8Array): Uint8Array {
    const all = this.#odd === undefined ? octets : Buffer.concat([Uint8Array.of(this.#odd), octets]);
    const isOdd = all.length % 2 === 1;
    this.#odd = isOdd ? all[all.length - 1] : undefined;
    return isOdd ? all.subarray(0, -1) : all;
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#samples -= count;
    let left = count;
    while (left > 0) {
      const first = this.#chunks[0]!;
      const step = Math.min(left, first.length - this.#offset);
      left -= step;
      this.#advance(step);
    }
  }

  #take(target: Int16Array): number {
    let done = 0;
    while (done < this.#perFrame && this.#chunks.length > 0) {
      const first = this.#chunks[0]!;
      const step = Math.min(this.#perFrame - done, first.length - this.#offset);
      target.set(first.subarray(this.#offset, this.#offset + step), done);
      done += step;
      this.#advance(step);
    }
    this.#samples -= done;
    this.#heard += done;
    return done;
  }

  #advance(step: number): void {
    this.#offset += step;
    if (this.#offset < this.#chunks[0]!.length) return;
    this.#chunks.shift();
    this.#offset = 0;
  }
}
