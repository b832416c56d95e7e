import type { MixCommand, MixMember, PlayItem } from '../telephony/media.ts';
import { decodeInto, linearOf, octetsPerSample } from './codec/codecs.ts';
import { ActiveSpeaker } from './dsp/active-speaker.ts';
import { isSilent, meanLevel } from './dsp/level.ts';
import { MixBuffer } from './dsp/mixer.ts';
import { TalkDetector } from './dsp/talk-detector.ts';
import { anyCodec, type End, type Meeting, type PressedDigit } from './end.ts';
import { emptyFrame, type Frame, frameSamples, SharedPayloads } from './frame.ts';
import type { AudioLoader } from './item-loader.ts';
import type { EngineReport } from './protocol.ts';
import { RateChanger } from './rate-changer.ts';
import { SoundPlayer } from './sound-player.ts';
import { tickMs } from './ticker.ts';
import type { Forwarder } from './video/forwarder.ts';

type MixingOptions = {
  /** Number of the mix, given by the main thread. */
  mix: number;
  kind: 'mixing' | 'holding';
  loader: AudioLoader;
  report: (report: EngineReport) => void;
  /** Video sources of its members. */
  video: Forwarder;
};

/** When a member counts as talking. */
const talkDetection = { thresholdLevel: 160, silenceMs: 2500 };
const lowestRate = 8000;
/** A stream that was passed on so long ago has ended, in ms. */
const longestGapMs = 100;

const sharedFrame = (sampleRate: number) => ({ ...emptyFrame(sampleRate), shared: new SharedPayloads() });

/** A class: objects made by spreading have individual shapes, which slows every tick. */
class Member {
  readonly end: End;
  role: MixMember['role'];
  muted: boolean;
  passDigits: boolean;
  /** Its audio in this tick at the mix's rate; undefined: silence. */
  own: Int16Array | undefined = undefined;
  rate: RateChanger;
  /** The audio that it hears. */
  frame: Frame;
  readonly detector = new TalkDetector(talkDetection);

  constructor(end: End, { role, muted, passDigits }: MixMember, sampleRate: number) {
    this.end = end;
    this.role = role;
    this.muted = muted;
    this.passDigits = passDigits;
    this.rate = new RateChanger(sampleRate);
    this.frame = emptyFrame(sampleRate);
  }
}

/**
 * Ends that hear each other. Two with the same codec and no need for frames exchange packets unchanged. Otherwise all
 * are added up each tick, and each hears the sum without itself. Changes between both modes lose and repeat no packet.
 */
export class Mixing implements Meeting {
  readonly mix: number;
  readonly video: Forwarder;
  readonly isElsewhere = false;
  readonly #options: MixingOptions;
  readonly #members = new Map<End, Member>();
  readonly #player: SoundPlayer;
  readonly #speaker = new ActiveSpeaker<number>();
  #buffer = new MixBuffer(frameSamples(lowestRate));
  #rate = lowestRate;
  /** The audio for silent members. */
  #all = sharedFrame(lowestRate);
  #spoken = emptyFrame(lowestRate);
  #octets = new Uint8Array(0);
  #playerActive = false;
  #listeners = 0;
  #state: 'apart' | 'forwarding' | 'mixing' = 'apart';
  #changing = false;
  /** Hears the digits of its members. */
  onDigit: ((digit: string) => void) | undefined;
  #said: Frame | undefined;
  #isSilent = true;

  constructor(options: MixingOptions) {
    this.mix = options.mix;
    this.video = options.video;
    this.#options = options;
    this.#player = new SoundPlayer(options.loader, 'slin', { mix: options.mix });
  }

  /** Whether packets are forwarded, mixed, or have no receiver. */
  get state(): 'apart' | 'forwarding' | 'mixing' {
    return this.#state;
  }

  /** The active speaker; undefined: none. */
  get speaker(): number | undefined {
    return this.#speaker.current;
  }

  get playing(): boolean {
    return this.#player.playing;
  }

  /** The sum of all members in this tick; undefined if silent, or without listener. */
  get said(): Frame | undefined {
    return this.#said;
  }

  /** Asks for frames of the whole, as often as `unlisten`. */
  listen(): void {
    this.#listeners++;
    this.reconsider();
  }

  unlisten(): void {
    this.#listeners--;
    this.reconsider();
  }

  join(end: End, settings: MixMember): void {
    const known = this.#members.get(end);
    if (known) Object.assign(known, settings);
    else {
      this.#members.set(end, new Member(end, settings, this.#rate));
      end.mix = this;
      this.video.join(end.session);
    }
    this.reconsider();
  }

  leave(end: End): void {
    const member = this.#members.get(end);
    if (!member) return;
    this.#members.delete(end);
    this.video.leave(end.session);
    this.#release(end);
    end.mix = undefined;
    this.#endTalking(member);
    this.#speaker.leave(end.session);
    this.reconsider();
  }

  apply(command: Exclude<MixCommand, { session: number } | { type: 'video' }>): void {
    const { mix, report } = { ...this.#options };
    switch (command.type) {
      case 'play': {
        const { play } = command;
        const position = command.position && new Float64Array(command.position);
        this.#player.play(
          play,
          command.item,
          (told) => report({ type: 'mixPlayed', mix, play, report: told }),
          position,
        );
        break;
      }
      case 'control':
        this.#player.control(command.play, command.action);
        break;
      case 'seek':
        this.#player.seek(command.play, command.ms);
        break;
      case 'music':
        this.#player.music(command.musicClass);
        break;
    }
    this.reconsider();
  }

  /** Plays an item that no command requested. */
  beep(play: number, item: PlayItem, done: () => void): void {
    this.#player.play(play, item, done);
    this.reconsider();
  }

  digit(from: End, { digit, durationMs, by, heardBy }: PressedDigit): void {
    this.onDigit?.(digit);
    if (!this.#members.get(from)?.passDigits) return;
    for (const { end } of this.#members.values()) {
      const isForwarded = by === 'audio' || (by === 'events' && from.takesEvents && end.takesEvents);
      if (end !== from && end !== heardBy && (from.inMix || !isForwarded)) end.sendDigit(digit, durationMs);
    }
  }

  beyond(member: End): string | undefined {
    if (this.#members.size !== 2 || !this.#mayForward) return undefined;
    for (const end of this.#members.keys()) if (end !== member) return end.forwardable;
    return undefined;
  }

  /** It plays nothing itself and has no listener. */
  get #mayForward(): boolean {
    return this.#options.kind === 'mixing' && this.#listeners === 0 && !this.#player.active;
  }

  /** A playback without members has ended. Music does not count, because nobody hears it. */
  get #hasEnded(): boolean {
    return this.#members.size === 0 && this.#state === 'mixing' && !this.#player.playing;
  }

  /** Mixes frames or forwards packets, as is right now. */
  reconsider(): void {
    // The changes below check again.
    if (this.#changing) return;
    this.#changing = true;
    try {
      this.#playerActive = this.#player.active;
      const pair = this.#forwardingPair();
      if (pair) this.#forward(pair);
      else this.#mixFrames();
    } finally {
      this.#changing = false;
    }
    for (const end of [...this.#members.keys()]) end.meetingChanged();
  }

  /** Second phase of a tick: what each member hears. @param now nominal monotonic time of the tick. */
  tick(now: number): void {
    if (this.#player.active !== this.#playerActive || this.#hasEnded) this.reconsider();
    if (this.#state !== 'mixing') return;
    const buffer = this.#buffer;
    buffer.clear();
    const announced = this.#announcement();
    let heard = announced !== undefined;
    for (const member of this.#members.values()) {
      const frame = member.end.heard;
      member.own = undefined;
      if (frame) heard = true;
      this.#detect(member, frame && !member.muted ? this.#add(member, member.rate.samples(frame)) : undefined);
    }
    if (announced) buffer.add(announced);
    // No audio since mixing began: no stream starts before there is something to hear.
    if (heard || this.#isInterrupted(now)) this.#isSilent = false;
    this.#said = undefined;
    if (this.#isSilent) {
      for (const { end } of this.#members.values()) end.mixed = undefined;
      return;
    }
    this.#share();
    if (this.#speaker.tick(tickMs))
      this.#options.report({ type: 'activeSpeaker', mix: this.mix, session: this.#speaker.current });
  }

  /** Ends it and removes all members. */
  close(reason: string): void {
    for (const end of [...this.#members.keys()]) this.leave(end);
    this.#player.close(reason);
  }

  /** A stream that was passed on until now would have a gap. */
  #isInterrupted(now: number): boolean {
    for (const { end } of this.#members.values()) {
      const since = now - end.forwardedAt;
      if (since + end.delayMs >= tickMs && since < longestGapMs) return true;
    }
    return false;
  }

  /** @returns the mean level that others hear of it; undefined for none. */
  #add(member: Member, samples: Int16Array): number | undefined {
    if (this.#options.kind === 'holding' && member.role !== 'announcer') return undefined;
    const level = meanLevel(samples);
    // Silent members share one sum, which is encoded once.
    if (isSilent(samples, level)) return level;
    member.own = samples;
    this.#buffer.add(samples);
    return level;
  }

  #detect(member: Member, level: number | undefined): void {
    const change = member.detector.takeLevel(level ?? 0, tickMs);
    if (level !== undefined) this.#speaker.hear(member.end.session, level);
    if (change) this.#tellTalking(member.end.session, change.talking, change.talking ? 0 : change.durationMs);
  }

  /** Ends talk detection of a member. */
  #endTalking({ detector, end }: Member): void {
    const change = detector.end();
    if (change && !change.talking) this.#tellTalking(end.session, false, change.durationMs);
  }

  #tellTalking(session: number, talking: boolean, durationMs: number): void {
    this.#options.report({ type: 'mixTalking', mix: this.mix, session, talking, durationMs });
  }

  /** Gives each member the sum without itself; silent members share one frame. */
  #share(): void {
    const holding = this.#options.kind === 'holding';
    this.#buffer.all(this.#all.samples);
    this.#all.shared.changed();
    this.#said = this.#all;
    for (const member of this.#members.values()) {
      // An announcer to a holding bridge hears neither the others nor their music.
      if (holding && member.role === 'announcer') member.end.mixed = undefined;
      else member.end.mixed = member.own ? this.#withoutOwn(member, member.own) : this.#all;
    }
  }

  #withoutOwn(member: Member, own: Int16Array): Frame {
    if (member.frame.sampleRate !== this.#rate) member.frame = emptyFrame(this.#rate);
    this.#buffer.others(own, member.frame.samples);
    return member.frame;
  }

  /** The audio played to all, at the mix's rate. */
  #announcement(): Int16Array | undefined {
    if (!this.#player.active) return undefined;
    const { samples } = this.#spoken;
    if (!this.#player.fill(this.#octets, 0, samples.length)) return undefined;
    decodeInto(this.#player.codec, this.#octets, samples);
    return samples;
  }

  #forwardingPair(): [End, End] | undefined {
    if (this.#members.size !== 2 || !this.#mayForward) return undefined;
    const [first, second] = [...this.#members.keys()] as [End, End];
    const [one, other] = [first.forwardable, second.forwardable];
    if (one === undefined || other === undefined) return undefined;
    return one === other || one === anyCodec || other === anyCodec ? [first, second] : undefined;
  }

  #forward(pair: [End, End]): void {
    const wasMixing = this.#state === 'mixing';
    this.#state = 'forwarding';
    for (const [end, other] of [pair, [pair[1], pair[0]]] as const) {
      const { muted, passDigits } = this.#members.get(end)!;
      end.passAudio = !muted;
      end.passDigits = passDigits;
      end.forwardTo(other);
    }
    if (!wasMixing) return;
    for (const end of pair) {
      this.#endTalking(this.#members.get(end)!);
      if (end.passAudio) end.forwardHeld();
      this.#endFrames(end);
    }
  }

  #mixFrames(): void {
    // A playback to a bridge without members takes its time and ends.
    if (this.#members.size === 0 && !this.#player.playing) {
      this.#state = 'apart';
      this.#said = undefined;
      return;
    }
    if (this.#state !== 'mixing') this.#isSilent = true;
    this.#state = 'mixing';
    this.#chooseRate();
    for (const { end } of this.#members.values()) {
      end.forwardTo(undefined);
      if (end.inMix) continue;
      end.inMix = true;
      end.mixed = undefined;
      end.listen();
    }
    this.#hasten();
  }

  /** With two members, audio is passed on arrival if nothing is added and the stream needs no jitter buffer. */
  #hasten(): void {
    const isPair = this.#members.size === 2 && this.#mayForward;
    const members = [...this.#members.values()];
    for (const [index, { end, muted }] of members.entries()) {
      const other = isPair ? members[1 - index]!.end : undefined;
      const hearer = !muted && other?.hearsAtOnce && end.speaksAtOnce ? other : undefined;
      if (other) other.saidAtOnce = hearer !== undefined;
      else end.saidAtOnce = false;
      end.sayTo(hearer);
    }
  }

  /** The highest rate of its members, so that none loses quality. */
  #chooseRate(): void {
    let rate = lowestRate;
    for (const { end } of this.#members.values()) rate = Math.max(rate, end.sampleRate ?? 0);
    if (rate === this.#rate && this.#octets.length > 0) return;
    this.#rate = rate;
    this.#buffer = new MixBuffer(frameSamples(rate));
    this.#all = sharedFrame(rate);
    this.#spoken = emptyFrame(rate);
    const stored = linearOf(rate) ?? 'slin';
    this.#player.convert(stored);
    this.#octets = new Uint8Array(frameSamples(rate) * octetsPerSample(stored));
    for (const member of this.#members.values()) member.rate = new RateChanger(rate);
  }

  #release(end: End): void {
    end.forwardTo(undefined);
    this.#endFrames(end);
  }

  #endFrames(end: End): void {
    if (!end.inMix) return;
    end.sayTo(undefined);
    end.saidAtOnce = false;
    end.inMix = false;
    end.mixed = undefined;
    end.unlisten();
  }
}
