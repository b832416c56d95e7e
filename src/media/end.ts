import type { Clock } from '../lib/clock.ts';
import type { FormatName } from '../lib/formats.ts';
import type { Codec, PlayItem, SessionCommand } from '../telephony/media.ts';
import { decodeInto, octetsPerSample, samplesPerMs, storedFor } from './codec/codecs.ts';
import { meanLevel } from './dsp/level.ts';
import { addInto } from './dsp/mixer.ts';
import { emptyFrame, type Frame } from './frame.ts';
import type { AudioLoader } from './item-loader.ts';
import type { EngineReport } from './protocol.ts';
import { RateChanger } from './rate-changer.ts';
import { DigitSender } from './rtp/digit-sender.ts';
import type { RtpHeader } from './rtp/header.ts';
import { PacketLevel } from './rtp/packet-level.ts';
import type { SessionMemory } from './session-memory.ts';
import { SoundPlayer } from './sound-player.ts';
import { tickMs } from './ticker.ts';

export type EndOptions = {
  /** Number of the session, given by the main thread. */
  session: number;
  clock: Clock;
  loader: AudioLoader;
  codec: FormatName;
  memory: SessionMemory;
  report: (report: EngineReport) => void;
};

/** What a mix is to its members. */
export interface Meeting {
  /** Something has changed that decides whether packets can be forwarded. */
  reconsider(): void;
  /** A member's far side pressed a digit. @param except heard its packets already. */
  digit(from: End, digit: string, durationMs: number, except?: PacketTaker): void;
  /** What packets of a member are passed on as, if they are: see {@link End.forwardable}. */
  beyond(member: End): string | undefined;
  /** Whether it is in another thread: nobody here knows what its members do. */
  readonly isElsewhere: boolean;
}

/** Stands for every codec: packets come to nobody. */
export const anyCodec = '*';

/** Takes packets of another far side as they are. */
export interface PacketTaker {
  /** What it is a member of, where that is in this thread. */
  readonly mix: Meeting | undefined;
  /** Sends a packet to its far side, renumbered; what is said there wins over it. The packet may be changed. */
  forward(packet: Uint8Array, header: RtpHeader, isEvent: boolean, now: number): void;
  /** Whether it takes packets of digits; if not it is told of digits. */
  readonly takesEvents: boolean;
  /** Says a frame at once: one that comes before packets that are passed on, or one of {@link End.sayTo}. */
  sayAtOnce(frame: Frame, now: number): void;
}

/** Takes frames when they come. */
export type Hearer = Pick<PacketTaker, 'sayAtOnce'>;

/** Mean amplitudes of what comes from a far side and goes there just now; undefined where nothing does. */
export type Passing = { heard: number | undefined; said: number | undefined };

/** What is mixed into what an end hears or says: a whisperer. */
export interface Whisper {
  /** What it says just now; undefined = nothing. */
  readonly said: Frame | undefined;
}

/**
 * One far side's audio. A tick has phases: every end receives (`heard` is what its far side said), mixes add up, every
 * end sends (`said` is what its far side hears), taps take both. Frames are only made while somebody wants them.
 */
export abstract class End implements PacketTaker {
  readonly session: number;
  protected readonly clock: Clock;
  protected readonly report: (report: EngineReport) => void;
  protected readonly memory: SessionMemory;
  readonly player: SoundPlayer;
  protected readonly digits = new DigitSender(tickMs);
  /** The mix it is a member of. */
  mix: Meeting | undefined;
  /** What the mix lets its far side hear in this tick; only looked at while `inMix`. */
  mixed: Frame | undefined;
  /** Whether what its far side hears comes from a mix, frame by frame. */
  inMix = false;
  /** Whether another end gives it what it hears when that comes: ticks have nothing to say to it. */
  saidAtOnce = false;
  /** Whether the mix lets its digits, and its audio, through to where its packets are passed on to. */
  passDigits = true;
  passAudio = true;
  /** Digits that its far side has pressed. */
  digitsHeard = 0;
  /** When a packet of another far side was passed on to it last, or by another thread or process; monotonic ms. */
  forwardedAt = Number.NEGATIVE_INFINITY;
  /** Until when ticks would find nothing to do, unless something changes before; monotonic ms. */
  restsUntil = Number.NEGATIVE_INFINITY;
  /** How loud packets are that go to its far side, while somebody looks. */
  protected readonly passingLevel = new PacketLevel();
  protected echoing = false;
  #listensForEcho = false;
  #heard: Frame | undefined;
  #heardAlone: Frame | undefined;
  #said: Frame | undefined;
  #saidAlone: Frame | undefined;
  #listeners = 0;
  #overhearers = 0;
  readonly #whispers: { in: Set<Whisper>; out: Set<Whisper> } = { in: new Set(), out: new Set() };
  #playedFrame: Frame | undefined;
  #playedOctets = new Uint8Array(0);
  /** The digit whose packets are passed on. */
  #event: { timestamp: number; to: PacketTaker; ended: boolean } | undefined;
  readonly #whisperRates = new Map<Whisper, RateChanger>();

  constructor({ session, clock, loader, codec, memory, report }: EndOptions) {
    this.session = session;
    this.clock = clock;
    this.report = report;
    this.memory = memory;
    this.player = new SoundPlayer(loader, storedFor(codec), { session }, memory);
  }

  /** The rate its far side speaks at, in Hz; undefined when it takes any. */
  abstract get sampleRate(): number | undefined;

  /** How long what a mix says to it takes until its far side hears it, at most, in ms. */
  get delayMs(): number {
    return 0;
  }

  /** First phase of a tick; left out while it rests. @param now nominal monotonic time of the tick. */
  abstract receive(now: number): void;

  /** Last phase of a tick; left out while it rests. */
  abstract send(now: number): void;

  /** What two ends must have in common for packets to go from one to the other as they are; undefined when they cannot. */
  get forwardable(): string | undefined {
    return undefined;
  }

  get takesEvents(): boolean {
    return true;
  }

  /** Passes arriving packets on to `partner` as they are, until it is undefined. What waits for its turn goes first. */
  forwardTo(_partner: PacketTaker | undefined): void {}

  /** Passes on what waits for its turn in frames: it is forwarded now. */
  forwardHeld(): void {}

  forward(_packet: Uint8Array, _header: RtpHeader, _isEvent: boolean, _now: number): void {}

  sayAtOnce(_frame: Frame, _now: number): void {}

  /** Whether what its far side says can be given to another one when it comes, without waiting for a tick. */
  get speaksAtOnce(): boolean {
    return false;
  }

  /** Whether its far side can be given what another one says in that way. */
  get hearsAtOnce(): boolean {
    return false;
  }

  /** Gives what its far side says to `hearer` when it comes, until it is undefined: then it waits for ticks again. */
  sayTo(_hearer: Hearer | undefined): void {}

  /** What its far side said in this tick; undefined when nothing, or when nobody listens. */
  get heard(): Frame | undefined {
    return this.#heard;
  }

  /** What its far side heard last; undefined when nothing, or when nobody overhears. */
  get said(): Frame | undefined {
    return this.#said;
  }

  /** The same without what is whispered: what recorders and spies take. */
  get heardAlone(): Frame | undefined {
    return this.#heardAlone;
  }

  get saidAlone(): Frame | undefined {
    return this.#saidAlone;
  }

  /** Whether frames of what its far side says are wanted. */
  get listened(): boolean {
    return this.#listeners > 0;
  }

  /** Whether frames of what its far side hears are wanted. */
  get overheard(): boolean {
    return this.#overhearers > 0;
  }

  /** Whether somebody other than its mix wants its frames or whispers. */
  get tapped(): boolean {
    const { in: heard, out: said } = this.#whispers;
    const taps = this.#listeners > (this.inMix ? 1 : 0) || this.#overhearers > this.ownOverhearers;
    return taps || heard.size > 0 || said.size > 0;
  }

  /** Overhearers that are no taps. */
  protected get ownOverhearers(): number {
    return 0;
  }

  /** Wants to know how loud its far side is, until called again with false. */
  watchLevel(on: boolean): void {
    if (on) this.listen();
    else this.unlisten();
  }

  /** Mean amplitude of what its far side said in this tick, while that is watched. */
  get level(): number {
    return this.heardAlone ? meanLevel(this.heardAlone.samples) : 0;
  }

  /** The same, for who looks now and then and not at every tick. */
  get levelNow(): number {
    return this.level;
  }

  /** Looks how loud what passes is, until called again with false. It goes the same way as before. */
  watchPassing(on: boolean): void {
    this.stayAwake();
    this.passingLevel.watch(on, this.passingCodec);
  }

  /** What passes, as far as that is known without asking for frames. */
  get passing(): Passing {
    const said = this.passingLevel.latest ?? (this.framed ? levelOf(this.saidAlone) : undefined);
    return { heard: levelOf(this.heardAlone), said };
  }

  /** What packets are in that go to its far side; undefined where none can be looked at. */
  protected get passingCodec(): Codec | undefined {
    return undefined;
  }

  /** What has come and gone in its meeting may concern others. */
  meetingChanged(): void {}

  /** Ticks have something to do, or may have. */
  protected stayAwake(): void {
    this.restsUntil = Number.NEGATIVE_INFINITY;
  }

  /** Asks for frames of what its far side says; as often as `unlisten`. */
  listen(): void {
    this.stayAwake();
    if (++this.#listeners === 1) this.listenedChanged();
    this.mix?.reconsider();
  }

  unlisten(): void {
    this.stayAwake();
    if (--this.#listeners === 0) this.listenedChanged();
    this.mix?.reconsider();
  }

  /** Asks for frames of what its far side hears; as often as `unoverhear`. */
  overhear(): void {
    this.stayAwake();
    if (++this.#overhearers === 1) this.overheardChanged();
    this.mix?.reconsider();
  }

  unoverhear(): void {
    this.stayAwake();
    if (--this.#overhearers === 0) {
      this.#said = undefined;
      this.#saidAlone = undefined;
      this.overheardChanged();
    }
    this.mix?.reconsider();
  }

  /** Mixes a whisperer in: `in` = into what its far side says, `out` = into what it hears. */
  addWhisper(whisper: Whisper, direction: 'in' | 'out'): void {
    this.stayAwake();
    this.#whispers[direction].add(whisper);
    this.followEcho();
    this.mix?.reconsider();
  }

  removeWhisper(whisper: Whisper): void {
    this.stayAwake();
    this.#whispers.in.delete(whisper);
    this.#whispers.out.delete(whisper);
    this.#whisperRates.delete(whisper);
    this.followEcho();
    this.mix?.reconsider();
  }

  /** Carries out a command that every end understands; others do nothing here. */
  apply(command: SessionCommand): void {
    this.stayAwake();
    switch (command.type) {
      case 'play': {
        const { play } = command;
        this.player.play(play, command.item, (report) =>
          this.report({ type: 'played', session: this.session, play, report }),
        );
        return;
      }
      case 'control':
        this.player.control(command.play, command.action);
        return;
      case 'seek':
        this.player.seek(command.play, command.ms);
        return;
      case 'sendDigits':
        this.digits.add(command.sequence);
        return;
      case 'indicate':
        if (command.indication !== this.player.indication) this.player.indicate(command.indication);
        return;
      case 'music':
        this.player.music(command.musicClass);
        return;
      case 'silence':
        this.player.keepSilence(command.on);
        return;
    }
  }

  /** Plays something that nobody outside asked for. */
  beep(play: number, item: PlayItem, done: () => void): void {
    this.stayAwake();
    this.player.play(play, item, done);
  }

  /** Whether an item is under way. */
  get playing(): boolean {
    return this.player.playing;
  }

  /** Sends a digit to the far side, as the mix asks for it. */
  sendDigit(digit: string, durationMs: number): void {
    this.stayAwake();
    this.digits.pass(digit, durationMs);
  }

  /** Hears the digits of its far side, besides call control. */
  onDigit: ((digit: string) => void) | undefined;

  /** Its far side pressed a digit: where packets are forwarded those of the digit are, too; else the mix sends it. */
  protected pressed(digit: string, durationMs: number): void {
    this.digitsHeard++;
    this.onDigit?.(digit);
    const event = this.#event;
    this.mix?.digit(this, digit, durationMs, event?.ended === false ? event.to : undefined);
    if (event) event.ended = true;
  }

  /**
   * Passes a packet of a digit on. What has begun is ended where it began, though frames are mixed meanwhile.
   * @param partner where packets go now.
   */
  protected passEvent(packet: Uint8Array, header: RtpHeader, partner: PacketTaker | undefined, now: number): void {
    if (partner && this.#event?.timestamp !== header.timestamp)
      this.#event = { timestamp: header.timestamp, to: partner, ended: false };
    const event = this.#event;
    if (event?.timestamp !== header.timestamp) return;
    const { to } = event;
    if (to.takesEvents && (!to.mix || to.mix === this.mix)) to.forward(packet, header, true, now);
  }

  /** Ticks were skipped: time went by in which nothing could be sent. */
  skipped(): void {}

  /** Ends the session; an item under way is told `reason`. */
  close(reason: string): void {
    this.player.close(reason);
    this.passingLevel.close();
  }

  /** Somebody wants what the far side says, or nobody does any more. */
  protected abstract listenedChanged(): void;

  /** Somebody wants what the far side hears, or nobody does any more. */
  protected overheardChanged(): void {
    this.followEcho();
  }

  /** An echo that somebody overhears, or that something is whispered into, is made of frames. */
  protected followEcho(): void {
    const needed = this.echoing && (this.overheard || this.#whispers.out.size > 0);
    if (needed === this.#listensForEcho) return;
    this.#listensForEcho = needed;
    if (needed) this.listen();
    else this.unlisten();
  }

  /** Sets what the far side said in this tick, with what is whispered to it. */
  protected setHeard(frame: Frame | undefined): void {
    this.#heardAlone = frame;
    this.#heard = this.#whispers.in.size > 0 ? this.#withWhispers(frame, this.#whispers.in) : frame;
  }

  /** What is to be said in this tick, as a frame: the player's sound, or else `otherwise`, with what is whispered. */
  protected compose(otherwise: Frame | undefined): Frame | undefined {
    const frame = (this.player.active ? this.#played() : undefined) ?? otherwise;
    const whole = this.#whispers.out.size > 0 ? this.#withWhispers(frame, this.#whispers.out) : frame;
    this.#saidAlone = frame;
    this.#said = whole;
    return whole;
  }

  /** Says nothing in this tick, whatever there is. */
  protected saySilence(): void {
    this.compose(undefined);
    this.#saidAlone = undefined;
    this.#said = undefined;
  }

  /** Whether what is said has to be made as frames. */
  protected get framed(): boolean {
    return this.inMix || this.overheard || this.#whispers.out.size > 0;
  }

  #played(): Frame | undefined {
    const { codec } = this.player;
    const sampleRate = samplesPerMs(codec) * 1000;
    if (this.#playedFrame?.sampleRate !== sampleRate) {
      this.#playedFrame = emptyFrame(sampleRate);
      this.#playedOctets = new Uint8Array(this.#playedFrame.samples.length * 2);
    }
    const { samples } = this.#playedFrame;
    if (!this.player.fill(this.#playedOctets, 0, samples.length)) return undefined;
    decodeInto(codec, this.#playedOctets.subarray(0, samples.length * octetsPerSample(codec)), samples);
    return this.#playedFrame;
  }

  #withWhispers(frame: Frame | undefined, whispers: ReadonlySet<Whisper>): Frame | undefined {
    let whole: Frame | undefined;
    const sampleRate = frame?.sampleRate ?? this.sampleRate ?? 8000;
    for (const whisper of whispers) {
      if (!whisper.said) continue;
      // A copy: the frame may be somebody else's as well.
      whole ??= frame ? { samples: frame.samples.slice(), sampleRate } : emptyFrame(sampleRate);
      let changer = this.#whisperRates.get(whisper);
      if (changer?.to !== sampleRate) {
        changer = new RateChanger(sampleRate);
        this.#whisperRates.set(whisper, changer);
      }
      addInto(whole.samples, changer.samples(whisper.said));
    }
    return whole ?? frame;
  }
}

/** Mean amplitude of a frame; undefined of none. */
export const levelOf = (frame: Frame | undefined): number | undefined => frame && meanLevel(frame.samples);
