import type { Codec, Indication, PlayItem, PlayReport } from '../telephony/media.ts';
import { silenceOctet } from './codec/codecs.ts';
import { type AudioLoader, silence } from './item-loader.ts';
import { type PlayControl, Player } from './player.ts';
import { type Sequence, SequenceReader } from './sequence.ts';

/** Names of the tones that stand for an indication. */
const toneOfIndication: Readonly<Record<Exclude<Indication, 'silence'>, string>> = {
  ringing: 'ring',
  busy: 'busy',
  congestion: 'congestion',
};

/** What a session says by itself: the item being played, or else the tone it was given. */
export class Voice {
  readonly #loader: AudioLoader;
  #codec: Codec;
  #player: Player | undefined;
  #playId = 0;
  #indication: Indication | undefined;
  #tone: SequenceReader | undefined;

  constructor(loader: AudioLoader, codec: Codec) {
    this.#loader = loader;
    this.#codec = codec;
  }

  /** Something is being played or indicated, if only to be paused or loading. */
  get active(): boolean {
    return this.playing || this.#tone !== undefined;
  }

  /** An item is under way. */
  get playing(): boolean {
    return this.#player !== undefined && !this.#player.ended;
  }

  /** Starts an item; one that is under way ends first. */
  play(playId: number, item: PlayItem, told: (report: PlayReport) => void): void {
    this.#player?.stop();
    this.#playId = playId;
    this.#player = new Player(item, this.#codec, (each, codec) => this.#loader.load(each, codec), told);
  }

  /** Acts on the item under way when it is the one meant. */
  control(playId: number, action: PlayControl | 'stop'): void {
    if (playId !== this.#playId) return;
    if (action === 'stop') this.#player?.stop();
    else this.#player?.control(action);
  }

  seek(playId: number, ms: number): void {
    if (playId === this.#playId) this.#player?.seek(ms);
  }

  indicate(indication: Indication | undefined): void {
    this.#indication = indication;
    this.#tone = indication && new SequenceReader(this.#sequenceOf(indication));
  }

  /** Goes on in another codec. */
  convert(codec: Codec): void {
    if (codec === this.#codec) return;
    this.#codec = codec;
    this.#player?.convert(codec);
    this.#tone?.convert(codec);
  }

  /**
   * Fills `count` octets of `target` from `at` with the next samples, the rest of the last piece with silence.
   * False when there is nothing to say now; `target` is then untouched.
   */
  fill(target: Uint8Array, at: number, count: number): boolean {
    const source = this.playing ? this.#player : this.#tone;
    const done = source?.read(target, at, count) ?? 0;
    if (done === 0) return false;
    if (done < count) target.fill(silenceOctet[this.#codec], at + done, at + count);
    return true;
  }

  /** Ends everything; an item under way is told that it failed. */
  close(reason: string): void {
    this.indicate(undefined);
    this.#player?.fail(reason);
    this.#player = undefined;
  }

  #sequenceOf(indication: Indication): Sequence {
    if (indication !== 'silence') return this.#loader.tone(toneOfIndication[indication], this.#codec);
    return { codec: this.#codec, segments: [silence(this.#codec, Number.POSITIVE_INFINITY)], seekable: false };
  }

  /** What is indicated now. */
  get indication(): Indication | undefined {
    return this.#indication;
  }
}
