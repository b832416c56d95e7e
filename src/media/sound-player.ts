import type { Indication, PlayItem, PlayReport } from '../telephony/media.ts';
import { octetsPerSample, type StoredCodec, silenceOctet } from './codec/codecs.ts';
import { type AudioLoader, silence } from './item-loader.ts';
import { type PlayControl, Player } from './player.ts';
import type { LoggedAbout } from './protocol.ts';
import { type EndlessSource, SequenceReader } from './sequence.ts';
import { memoryWord, type SessionMemory } from './session-memory.ts';

/** Names of the tones that stand for an indication. */
const toneOfIndication: Readonly<Record<Indication, string>> = {
  dial: 'dial',
  ringing: 'ring',
  busy: 'busy',
  congestion: 'congestion',
};

/** A session's own audio: the playing item, else the tone, else music, else silence. */
export class SoundPlayer {
  readonly #loader: AudioLoader;
  readonly #about: LoggedAbout;
  readonly #memory: SessionMemory | undefined;
  #codec: StoredCodec;
  #player: Player | undefined;
  #playId = 0;
  /** Where the position in the item is kept for who asked for it. */
  #position: Float64Array | undefined;
  #indication: Indication | undefined;
  #tone: SequenceReader | undefined;
  #musicClass: string | undefined;
  #music: EndlessSource | undefined;
  #silence: SequenceReader | undefined;

  /** @param about its session or mix, for the log. @param memory keeps the item's position for the next thread. */
  constructor(loader: AudioLoader, codec: StoredCodec, about: LoggedAbout, memory?: SessionMemory) {
    this.#loader = loader;
    this.#about = about;
    this.#codec = codec;
    this.#memory = memory;
  }

  /** Format of its audio. */
  get codec(): StoredCodec {
    return this.#codec;
  }

  /** Something is being played or indicated, if only to be paused or loading. */
  get active(): boolean {
    return this.playing || this.#tone !== undefined || this.#music !== undefined || this.#silence !== undefined;
  }

  /** Whether music plays: it comes 20 ms a tick. */
  get musical(): boolean {
    return this.#music !== undefined && !this.playing && !this.#tone;
  }

  /** An item is under way. */
  get playing(): boolean {
    return this.#player !== undefined && !this.#player.ended;
  }

  /** Starts an item; one that is under way ends first. @param position keeps its position in ms */
  play(playId: number, item: PlayItem, told: (report: PlayReport) => void, position?: Float64Array): void {
    this.#player?.stop();
    this.#playId = playId;
    this.#position = position;
    this.#player = new Player(item, this.#codec, (each, codec) => this.#loader.load(each, codec), told);
    this.#keepPosition();
  }

  /** Acts on the item under way when it is the one meant. */
  control(playId: number, action: PlayControl | 'stop'): void {
    if (playId !== this.#playId) return;
    if (action === 'stop') this.#player?.stop();
    else this.#player?.control(action);
    this.#keepPosition();
  }

  seek(playId: number, ms: number): void {
    if (playId === this.#playId) this.#player?.seek(ms);
    this.#keepPosition();
  }

  indicate(indication: Indication | undefined): void {
    this.#indication = indication;
    this.#tone = indication && new SequenceReader(this.#loader.tone(toneOfIndication[indication], this.#codec));
  }

  /** The present tone. */
  get indication(): Indication | undefined {
    return this.#indication;
  }

  /** Music of a class, until turned off. */
  music(musicClass: string | undefined): void {
    this.#musicClass = musicClass;
    this.#music?.close();
    this.#music = musicClass === undefined ? undefined : this.#loader.music(musicClass, this.#codec, this.#about);
  }

  /** Silence instead of nothing, until turned off. */
  keepSilence(on: boolean): void {
    const segments = [silence(this.#codec, Number.POSITIVE_INFINITY)];
    this.#silence = on ? new SequenceReader({ codec: this.#codec, segments, seekable: false }) : undefined;
  }

  /** Goes on in another codec. */
  convert(codec: StoredCodec): void {
    if (codec === this.#codec) return;
    this.#codec = codec;
    this.#player?.convert(codec);
    if (this.#indication) this.indicate(this.#indication);
    if (this.#musicClass !== undefined) this.music(this.#musicClass);
    if (this.#silence) this.keepSilence(true);
  }

  /**
   * Fills `count` samples of `target` from octet `at`; the rest of the last piece is silence. False, with `target`
   * unchanged, if there is nothing to send.
   */
  fill(target: Uint8Array, at: number, count: number): boolean {
    const source = this.playing ? this.#player : (this.#tone ?? this.#music ?? this.#silence);
    const done = source?.read(target, at, count) ?? 0;
    if (done === 0) return false;
    if (source === this.#player) this.#keepPosition();
    const octets = octetsPerSample(this.#codec);
    if (done < count) target.fill(silenceOctet(this.#codec), at + done * octets, at + count * octets);
    return true;
  }

  /** Ends everything; the running item fails. */
  close(reason: string): void {
    this.indicate(undefined);
    this.music(undefined);
    this.keepSilence(false);
    this.#player?.fail(reason);
    this.#player = undefined;
  }

  #keepPosition(): void {
    if (this.#position && this.playing) this.#position[0] = this.#player!.positionMs;
    if (!this.#memory) return;
    this.#memory[memoryWord.play] = this.playing ? this.#playId : 0;
    this.#memory[memoryWord.positionMs] = this.#player?.positionMs ?? 0;
  }
}
