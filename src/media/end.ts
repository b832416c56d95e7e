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
import type { DigitWay } from './rtp/telephone-event.ts';
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
  /** Digits of other members of a mix that may wait to be sent; left out: 20. */
  passedDigits?: number | undefined;
};

/** A digit of a far side. @param heardBy has heard its packets already. */
export type PressedDigit = { digit: string; durationMs: number; by: DigitWay; heardBy?: PacketTaker | undefined };

/** A mix as its members see it. */
export interface Meeting {
  /** Something has changed that decides whether packets can be forwarded. */
  reconsider(): void;
  /** A member's far side pressed a digit. */
  digit(from: End, pressed: PressedDigit): void;
  /** The format in which a member's packets are forwarded, if they are: see {@link End.forwardable}. */
  beyond(member: End): string | undefined;
  /** Whether it is in another thread, so that its members are unknown here. */
  readonly isElsewhere: boolean;
}

/** Any codec: no packets reach a listener. */
export const anyCodec = '*';

/** Takes packets of another far side as they are. */
export interface PacketTaker {
  /** The mix that it is a member of, if in this thread. */
  readonly mix: Meeting | undefined;
  /** Sends a packet to its far side, renumbered; what is said there wins over it. The packet may be changed. */
  forward(packet: Uint8Array, header: RtpHeader, isEvent: boolean, now: number): void;
  /** Whether it takes event packets; otherwise it gets digits as reports. */
  readonly takesEvents: boolean;
  /** Says a frame at once: one that comes before packets that are passed on, or one of {@link End.sayTo}. */
  sayAtOnce(frame: Frame, now: number): void;
}

/** Takes frames when they come. */
export type Hearer = Pick<PacketTaker, 'sayAtOnce'>;

/** Mean amplitudes of the audio from and to a far side; undefined without audio. */
export type Passing = { heard: number | undefined; said: number | undefined };

/** A whisperer: audio mixed into what an end hears or says. */
export interface Whisper {
  /** Its present frame; undefined: none. */
  readonly said: Frame | undefined;
}

/**
 * One far side's audio. A tick has phases. Every end receives (`heard` is the far side's audio), mixes add up, every
 * end sends (`said` is the audio to the far side), taps take both. Frames are only made on demand.
 */
export abstract class End implements PacketTaker {
  readonly session: number;
  protected readonly clock: Clock;
  protected readonly report: (report: EngineReport) => void;
  protected readonly memory: SessionMemory;
  readonly player: SoundPlayer;
  protected readonly digits: DigitSender;
  /** The mix it is a member of. */
  mix: Meeting | undefined;
  /** The mix's audio for its far side in this tick; only read while `inMix`. */
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
  /** Level of packets to its far side, while it is watched. */
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

  constructor({ session, clock, loader, codec, memory, report, passedDigits }: EndOptions) {
    this.digits = new DigitSender(tickMs, passedDigits);
    this.session = session;
    this.clock = clock;
    this.report = report;
    this.memory = memory;
    this.player = new SoundPlayer(loader, storedFor(codec), { session }, memory);
  }

  /** The far side's sampling rate in Hz; undefined if it takes any. */
  abstract get sampleRate(): number | undefined;

  /** How long what a mix says to it takes until its far side hears it, at most, in ms. */
  get delayMs(): number {
    return 0;
  }

  /** First phase of a tick; left out while it rests. @param now nominal monotonic time of the tick. */
  abstract receive(now: number): void;

  /** Last phase of a tick; left out while it rests. */
  abstract send(now: number): void;

  /** The format that two ends must share to forward packets unchanged; undefined if forwarding is impossible. */
  get forwardable(): string | undefined {
    return undefined;
  }

  get takesEvents(): boolean {
    return true;
  }

  /** Forwards arriving packets to `partner` unchanged, until it is undefined. Waiting packets go first. */
  forwardTo(_partner: PacketTaker | undefined): void {}

  /** Forwards the packets that waited for frames. */
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

  /** Passes the far side's audio to `hearer` on arrival, until it is undefined; then at ticks again. */
  sayTo(_hearer: Hearer | undefined): void {}

  /** The far side's audio in this tick; undefined if there is none, or no listener. */
  get heard(): Frame | undefined {
    return this.#heard;
  }

  /** The last audio to the far side; undefined if there is none, or no listener. */
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

  /** Whether parts other than its mix use its frames or whisper. */
  get tapped(): boolean {
    const { in: heard, out: said } = this.#whispers;
    const taps = this.#listeners > (this.inMix ? 1 : 0) || this.#overhearers > this.ownOverhearers;
    return taps || heard.size > 0 || said.size > 0;
  }

  /** Overhearers that are no taps. */
  protected get ownOverhearers(): number {
    return 0;
  }

  /** Starts measuring the far side's level; false ends it. */
  watchLevel(on: boolean): void {
    if (on) this.listen();
    else this.unlisten();
  }

  /** Mean amplitude of what its far side said in this tick, while that is watched. */
  get level(): number {
    return this.heardAlone ? meanLevel(this.heardAlone.samples) : 0;
  }

  /** The same for occasional readers. */
  get levelNow(): number {
    return this.level;
  }

  /** Looks how loud what passes is, until called again with false. It goes the same way as before. */
  watchPassing(on: boolean): void {
    this.stayAwake();
    this.passingLevel.watch(on, this.passingCodec);
  }

  /** The present levels, as far as known without frames. */
  get passing(): Passing {
    const said = this.passingLevel.latest ?? (this.framed ? levelOf(this.saidAlone) : undefined);
    return { heard: levelOf(this.heardAlone), said };
  }

  /** The codec of packets to the far side; undefined if they cannot be measured. */
  protected get passingCodec(): Codec | undefined {
    return undefined;
  }

  /** Reacts to changes of its mix. */
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
      case 'hearDigit':
        this.pressed(command.digit, command.durationMs, 'signalling');
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

  /** Plays an item that no command requested. */
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
  protected pressed(digit: string, durationMs: number, by: DigitWay = 'events'): void {
    this.onDigit?.(digit);
    if (by === 'signalling') {
      if (this.echoing) this.sendDigit(digit, durationMs);
      this.mix?.digit(this, { digit, durationMs, by });
      return;
    }
    this.digitsHeard++;
    const event = this.#event;
    this.mix?.digit(this, { digit, durationMs, by, heardBy: event?.ended === false ? event.to : undefined });
    if (event) event.ended = true;
  }

  /**
   * Forwards a packet of a digit. A digit ends with the partner where it began, even if frames are mixed meanwhile.
   * @param partner the present target of packets.
   */
  protected passEvent(packet: Uint8Array, header: RtpHeader, partner: PacketTaker | undefined, now: number): void {
    if (partner?.takesEvents && this.#event?.timestamp !== header.timestamp)
      this.#event = { timestamp: header.timestamp, to: partner, ended: false };
    const event = this.#event;
    if (event?.timestamp !== header.timestamp) return;
    const { to } = event;
    if (to.takesEvents && (!to.mix || to.mix === this.mix)) to.forward(packet, header, true, now);
  }

  /** Ticks were skipped: time went by in which nothing could be sent. */
  skipped(): void {}

  /** Ends the session; a running item fails with `reason`. */
  close(reason: string): void {
    this.player.close(reason);
    this.passingLevel.close();
  }

  /** A consumer of the far side's audio was added or removed. */
  protected abstract listenedChanged(): void;

  /** A consumer of the audio to the far side was added or removed. */
  protected overheardChanged(): void {
    this.followEcho();
  }

  /** An echo with a listener or a whisperer needs frames. */
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

  /** The frame to send in this tick: the player's, else `otherwise`, with whispers. */
  protected compose(otherwise: Frame | undefined): Frame | undefined {
    const frame = (this.player.active ? this.#played() : undefined) ?? otherwise;
    const whole = this.#whispers.out.size > 0 ? this.#withWhispers(frame, this.#whispers.out) : frame;
    this.#saidAlone = frame;
    this.#said = whole;
    return whole;
  }

  /** Sends silence in this tick. */
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
      // A copy: the frame may be shared.
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
