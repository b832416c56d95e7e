import { isDeepStrictEqual } from 'node:util';
import type { Codec, RtpFlow, SessionCommand } from '../../telephony/media.ts';
import type { RtpStatistics } from '../../telephony/rtp-statistics.ts';
import type { AudioCodec } from '../codec/audio-codec.ts';
import { isLaw, silenceOctet, silencePayload, storedFor } from '../codec/codecs.ts';
import { openCodec } from '../codec/open-codec.ts';
import { type OpusOptions, opusOptionsOf } from '../codec/opus.ts';
import type { MediaConfig } from '../config.ts';
import { End, type EndOptions, type Hearer, type PacketTaker } from '../end.ts';
import { emptyFrame, type Frame } from '../frame.ts';
import { InbandDigits } from '../inband-digits.ts';
import { RateChanger } from '../rate-changer.ts';
import { tickMs } from '../ticker.ts';
import { AtOnce } from './at-once.ts';
import { RtcpControl } from './control.ts';
import type { DigitStep } from './digit-sender.ts';
import { DigitTone } from './digit-tone.ts';
import { FarSide } from './far-side.ts';
import { FramePackets } from './frame-packets.ts';
import { emptyHeader, headerLength, type RtpHeader, readHeader } from './header.ts';
import { type Content, contentOf } from './meaning.ts';
import { PacketLevel } from './packet-level.ts';
import { Playout } from './playout.ts';
import { Presence } from './presence.ts';
import { Reception } from './reception.ts';
import { RtpSender } from './sender.ts';
import type { PacketAddress } from './source-lock.ts';
import { statisticsOf } from './statistics.ts';
import { DigitReceiver, type DigitWay, digitOfEvent, readEvent } from './telephone-event.ts';

type RtpEndOptions = EndOptions &
  Pick<MediaConfig, 'rtpTimeoutMs' | 'keepalive' | 'natSearchMs' | 'opus'> & {
    random32: () => number;
    webrtc: MediaConfig['webrtc'];
    /** An internal error while handling a packet. */
    faulted: (error: unknown) => void;
  };

const longestPacketMs = 200;
/** A stream heard this short ago is under way, in ms. */
const runningMs = 60;

/** The RTP side of a leg: one port, one stream out, one far side heard. */
export class RtpEnd extends End {
  /** As configured; what is looked at in ticks and for packets is the end's own, for options of ends differ in shape. */
  readonly #opusSending: MediaConfig['opus'];
  readonly #keepalive: boolean;
  readonly #sender: RtpSender;
  readonly #control: RtcpControl;
  readonly #far: FarSide;
  readonly #reception = new Reception();
  readonly #digitReceiver: DigitReceiver;
  readonly #header = emptyHeader();
  #inband: InbandDigits | undefined;
  /** Its far side describes noise instead of sending it: others hear it in frames. */
  #sendsNoise = false;
  #flow: RtpFlow | undefined;
  /** The codec of the flow: its encoder is ours, decoders belong to playouts. */
  #codec: AudioCodec;
  #opus: OpusOptions = {};
  #packets: FramePackets;
  #packetMs = tickMs;
  #playout: Playout | undefined;
  readonly #meter = new PacketLevel();
  /** Packets that came too late for earlier playouts. */
  #lateBefore = 0;
  #rate: RateChanger;
  /** Target of relayed packets. */
  #partner: PacketTaker | undefined;
  /** Elapsed time that is not sent yet, in ms. */
  #creditMs = 0;
  #muted = { in: false, out: false };
  readonly #digitTone = new DigitTone();
  #silence: Frame | undefined;
  readonly #presence: Presence;
  readonly #atOnce = new AtOnce({ heard: (frame) => this.setHeard(frame), changed: () => this.mix?.reconsider() });
  #forwarded = 0;

  constructor(options: RtpEndOptions) {
    super(options);
    const { clock, random32, memory } = options;
    this.#opusSending = options.opus;
    this.#keepalive = options.keepalive;
    this.#sender = new RtpSender({ random32, memory, clockZero: clock.now() - clock.monotonic() });
    // A stream that continues from another thread or process must have no gap, even without received audio.
    this.forwardedAt = (this.#sender.sentUntil ?? Number.NEGATIVE_INFINITY) - tickMs;
    this.#control = new RtcpControl(clock, random32);
    this.#far = new FarSide({
      ...{ clock, memory, webrtc: options.webrtc, ended: () => this.#lose() },
      ...{ natSearchMs: options.natSearchMs, faulted: options.faulted },
      located: (source) => this.report({ type: 'located', session: this.session, source }),
      secured: (established) => this.report({ type: 'secured', session: this.session, established }),
      tcp: (to, packets) => this.report({ type: 'tcpSent', session: this.session, to, packets }),
      packet: (packet, address, port) => this.#receive(packet, address, port),
      control: (packet) => this.#control.receive(packet, this.#sender, [this.#reception]),
    });
    this.#presence = new Presence(options.rtpTimeoutMs, () => this.#lose());
    this.#codec = openCodec(options.codec, { order: 'network' });
    this.#packets = new FramePackets(this.#codec, this.#packetMs);
    this.#rate = new RateChanger(this.#codec.sampleRate);
    this.#digitReceiver = new DigitReceiver((digit, durationMs) => this.#tellDigit(digit, durationMs));
  }

  /** Its RTCP name: streams with equal names are synchronised (RFC 3550 section 6.5.1). */
  get cname(): string {
    return this.#control.cname;
  }

  /** Goes on with a far side that was found before: see {@link SourceLock.resume}. */
  resume(source: PacketAddress): void {
    this.#far.resume(source);
  }

  /** Its far side, beside which video is sought. */
  get far(): FarSide {
    return this.#far;
  }

  override get sampleRate(): number {
    return this.#codec.sampleRate;
  }

  /** Packets relayed unchanged to a partner. */
  get forwarded(): number {
    this.#far.settleFastRelay();
    return this.#forwarded;
  }

  /** Any change may end the fast relay. */
  protected override stayAwake(): void {
    super.stayAwake();
    this.#far.endFastRelays();
  }

  override apply(command: SessionCommand): void {
    this.stayAwake();
    if (command.type === 'configure') this.#configure(command.flow);
    else if (command.type === 'echo') this.#echo(command.on);
    else if (command.type === 'mute') {
      this.#muted = { in: command.in, out: command.out };
      this.mix?.reconsider();
    } else super.apply(command);
  }

  override get forwardable(): string | undefined {
    const flow = this.#flow;
    return flow && !this.tapped && !this.echoing && !this.#sendsNoise ? flow.codec : undefined;
  }

  override get speaksAtOnce(): boolean {
    return this.hearsAtOnce && this.#flow!.receive && !this.#muted.in && this.#atOnce.steady;
  }

  override get hearsAtOnce(): boolean {
    return this.forwardable !== undefined;
  }

  override sayTo(hearer: Hearer | undefined): void {
    this.#atOnce.sayTo(hearer, this.#playout, this.clock.monotonic());
  }

  override forwardTo(partner: PacketTaker | undefined): void {
    this.#far.endFastRelays();
    if (partner === this.#partner) return;
    this.stayAwake();
    this.#partner = partner;
    this.#sender.pause();
  }

  override forwardHeld(): void {
    const now = this.clock.monotonic();
    for (const held of this.#playout?.flush() ?? [])
      if (readHeader(held.packet, this.#header)) this.#partner?.forward(held.packet, this.#header, false, now);
  }

  override sayAtOnce(frame: Frame, now: number): void {
    this.stayAwake();
    if (!this.player.active && this.digits.idle) this.#sendSamples(frame, now);
  }

  override forward(packet: Uint8Array, header: RtpHeader, isEvent: boolean, now: number): void {
    const flow = this.#flow;
    if (!flow?.send || this.player.active || !this.digits.idle) return;
    const payloadType = isEvent ? flow.telephoneEvent : flow.payloadType;
    if (payloadType === undefined) return;
    if (isEvent || !this.#passes) this.stayAwake();
    const { payloadStart, payloadEnd } = header;
    if (!isEvent) {
      if (this.#muted.out && !silencePayload(flow.codec, packet, payloadStart, payloadEnd)) return;
      this.passingLevel.look(packet, payloadStart, payloadEnd);
    }
    const units = isEvent ? 0 : this.#packets.unitsOf(payloadEnd - payloadStart);
    const ours = this.#sender.forward(packet, header, { payloadType, units }, now);
    this.forwardedAt = now;
    if (ours) this.#far.send(ours);
  }

  statistics(): RtpStatistics {
    const [{ forwarded }, { clockRate }] = [this, this.#codec];
    const late = this.#lateBefore + (this.#playout?.late ?? 0);
    const [sender, control, reception] = [this.#sender, this.#control, this.#reception];
    return { ...statisticsOf({ sender, control, receptions: [reception], clockRate, late }), forwarded };
  }

  override receive(now: number): void {
    if (this.#passes) this.#far.settleFastRelay();
    this.#digitReceiver.expire(now);
    if (this.#flow) {
      this.#presence.check(now, this.#flow.receive);
      if (this.#control.due(now)) this.#far.sendControl(this.#control.report(this.#sender, this.#reception));
    }
    if (!this.#playout || this.#atOnce.tick(now, this.clock.monotonic())) return;
    const frame = this.#playout.pull(now);
    const heard = this.#inband ? this.#inband.take(frame) : frame;
    this.setHeard(this.#muted.in ? undefined : heard);
  }

  override send(now: number): void {
    const step = this.digits.tick();
    if (step) this.#sendDigit(step, now);
    else if (!this.framed) this.#sendPlayed(now);
    else if (!this.saidAtOnce || this.player.active)
      this.#sendSamples(this.compose(this.echoing ? this.heard : this.inMix ? this.mixed : undefined), now);
  }

  override skipped(): void {
    this.#digitReceiver.stoodStill();
    // The timeline advanced meanwhile: the next packet starts as after a silence.
    if (!this.echoing && !this.#partner) this.#sender.pause();
  }

  override close(reason: string): void {
    super.close(reason);
    if (this.#sender.packets > 0) this.#far.sendControl(this.#control.bye(this.#sender));
    this.#far.close();
    this.#playout?.close();
    this.#meter.close();
    this.#codec.close();
  }

  override watchLevel(on: boolean): void {
    this.stayAwake();
    this.#meter.watch(on, this.#codec.codec);
  }

  protected override get passingCodec(): Codec {
    return this.#codec.codec;
  }

  override get level(): number {
    return this.listened ? super.level : this.#meter.take();
  }

  override get levelNow(): number {
    return this.listened ? super.level : this.#meter.now;
  }

  protected override listenedChanged(): void {
    this.#lateBefore += this.#playout?.late ?? 0;
    this.#playout?.close();
    const running = this.clock.monotonic() - this.#presence.heardAt < runningMs && this.#reception.packets > 0;
    const open = () => new Playout(openCodec(this.#codec.codec, { order: 'network' }), running, this.clock);
    this.#playout = this.listened ? open() : undefined;
    if (!this.listened) this.setHeard(undefined);
  }

  /** Sets or changes the flow. Without a target it only receives. */
  #configure(flow: RtpFlow): void {
    const now = this.clock.monotonic();
    this.#flow = flow;
    this.#packetMs = Math.min(longestPacketMs, Math.max(10, Math.round(flow.ptimeMs / 10) * 10 || tickMs));
    const opus = flow.codec === 'opus' ? opusOptionsOf(flow.opus, flow.opusSending ?? this.#opusSending) : {};
    if (flow.codec !== this.#codec.codec || !isDeepStrictEqual(opus, this.#opus)) {
      this.#opus = opus;
      this.#codec.close();
      this.#codec = openCodec(flow.codec, { order: 'network', opus });
      this.#rate = new RateChanger(this.#codec.sampleRate);
      this.#silence = undefined;
      if (this.listened) this.listenedChanged();
      this.#meter.open(flow.codec);
      this.passingLevel.open(flow.codec);
    }
    const { clockRate } = this.#codec;
    this.#sender.setClockRate(clockRate, now);
    this.#digitReceiver.unitsPerMs = (flow.telephoneEventRate ?? 8000) / 1000;
    this.#packets = new FramePackets(this.#codec, this.#packetMs);
    this.#creditMs = 0;
    this.player.convert(storedFor(flow.codec));
    this.#far.agree(flow, now);
    this.#presence.heard(now);
    this.#detectDigits(flow.inbandDigits === true);
    this.mix?.reconsider();
  }

  #detectDigits(on: boolean): void {
    if (on === (this.#inband !== undefined)) return;
    this.#inband = on ? new InbandDigits((digit, ms) => this.#tellDigit(digit, ms, 'audio')) : undefined;
    if (on) this.listen();
    else this.unlisten();
  }

  override get takesEvents(): boolean {
    return this.#flow?.telephoneEvent !== undefined;
  }

  #tellDigit(digit: string, ms: number, by?: DigitWay): void {
    this.report({ type: 'digit', session: this.session, digit, durationMs: ms });
    this.pressed(digit, ms, by);
  }

  #echo(on: boolean): void {
    if (this.echoing === on) return;
    this.echoing = on;
    this.followEcho();
    this.#sender.pause();
    this.mix?.reconsider();
  }

  get #passes(): boolean {
    return this.#partner !== undefined || this.echoing;
  }

  #receive(packet: Uint8Array, address: string, port: number): void {
    const header = this.#header;
    const flow = this.#flow;
    if (!flow || !readHeader(packet, header)) return;
    const content = contentOf(header.payloadType, flow, this.#codec.clockRate);
    // Other packet types only show that the far side is alive.
    if (content === 'other') {
      if (this.#far.isFound(address, port)) this.#presence.lives(this.clock.monotonic());
      return;
    }
    const now = this.clock.monotonic();
    if (!this.#far.admits(address, port, header, now)) return;
    if (this.#passes) this.#far.endFastRelays(false);
    if (header.ssrc !== this.#reception.ssrc) this.#startSource();
    const arrival = content === 'audio' ? Math.floor((now * this.#codec.clockRate) / 1000) : undefined;
    if (!this.#reception.receive(header, arrival)) return;
    if (this.#presence.heard(now)) this.stayAwake();
    if (content === 'event') this.#receiveDigit(packet, now);
    if (flow.receive) this.#take(packet, content, flow, now);
  }

  #receiveDigit(packet: Uint8Array, now: number): void {
    const { payloadStart, payloadEnd, timestamp } = this.#header;
    this.stayAwake();
    const event = readEvent(packet, payloadStart, payloadEnd);
    if (event) this.#digitReceiver.receive(timestamp, event, now);
  }

  /** A packet that is new and from the far side: it goes to the partner or to the playout, and back where we echo. */
  #take(packet: Uint8Array, content: Content, flow: RtpFlow, now: number): void {
    const isAudio = content === 'audio';
    const isNoise = content === 'noise';
    if (isNoise && !this.#sendsNoise) {
      this.#sendsNoise = true;
      this.mix?.reconsider();
    }
    const { sequence, payloadStart, payloadEnd } = this.#header;
    if (isAudio && !this.listened && !this.#muted.in) this.#meter.look(packet, payloadStart, payloadEnd);
    if (content === 'event' || (this.#partner && !isNoise)) this.#forward(packet, content === 'event', now);
    else this.#playout?.put({ sequence, packet, payloadStart, payloadEnd, at: now, isNoise });
    if (this.#playout) this.#followAtOnce(this.#playout, isAudio ? payloadEnd - payloadStart : 0, now);
    if (this.echoing && !isNoise) this.#echoBack(packet, isAudio, flow, now);
  }

  #echoBack(packet: Uint8Array, isAudio: boolean, flow: RtpFlow, now: number): void {
    if (!flow.send || this.framed || (isAudio && this.#muted.in)) return;
    this.forward(packet, this.#header, !isAudio, now);
    if (isAudio) this.#passOn(this);
  }

  #followAtOnce(playout: Playout, octets: number, now: number): void {
    const unitsPerMs = this.#codec.clockRate / 1000;
    const lastsMs = octets > 0 ? this.#packets.unitsOf(octets) / unitsPerMs : undefined;
    this.#atOnce.follow({ sequence: this.#header.sequence, lastsMs }, playout, now);
  }

  #forward(packet: Uint8Array, isEvent: boolean, now: number): void {
    if (isEvent ? !this.passDigits : !this.#partner || !this.passAudio || this.#muted.in) return;
    const partner = this.#partner;
    if (partner) this.#forwarded++;
    if (isEvent) this.passEvent(packet, this.#header, partner, now);
    else partner?.forward(packet, this.#header, false, now);
    if (!isEvent && partner instanceof RtpEnd) this.#passOn(partner);
  }

  /** Starts the fast relay if no packet has to be examined. The plan is one literal: V8 makes spread ones slowly. */
  #passOn(partner: RtpEnd): void {
    const flow = partner.#flow;
    const isSeen = this.#meter.watched || this.listened || partner.passingLevel.watched || partner.#muted.out;
    const isJoined = partner === this ? this.echoing : partner.#partner !== undefined && !this.echoing;
    if (isSeen || !flow?.send || !isJoined || partner.player.active || !partner.digits.idle) return;
    this.#far.passOn(partner.#far, {
      reception: this.#reception,
      sender: partner.#sender,
      payloadType: this.#header.payloadType,
      ourPayloadType: flow.payloadType,
      clockRate: this.#codec.clockRate,
      lasting: partner.#packets,
      passed: (packets, heardAt) => {
        if (partner !== this) this.#forwarded += packets;
        this.#presence.heard(heardAt);
        partner.forwardedAt = heardAt;
      },
    });
  }

  #lose(): void {
    this.#far.endFastRelays(false);
    this.report({ type: 'timedOut', session: this.session });
  }

  #startSource(): void {
    this.#digitReceiver.reset();
    this.#atOnce.restart(this.#playout);
    this.#sendsNoise = false;
  }

  /** Sends the sound of the player, in as many packets as the elapsed time allows. */
  #sendPlayed(now: number): void {
    const flow = this.#flow;
    const idle = !this.echoing && !this.#partner;
    const keepalive = this.#keepalive && idle;
    if (!this.player.active && !(keepalive && flow)) {
      if (idle) this.#sender.pause();
      this.#rest(flow, now);
      return;
    }
    if (this.player.musical || !isLaw(this.#codec.codec)) {
      this.#sendSamples(this.compose(keepalive ? this.#silent() : undefined), now);
      return;
    }
    this.#creditMs += tickMs;
    while (this.#creditMs >= this.#packetMs) {
      this.#creditMs -= this.#packetMs;
      const samples = this.#packetMs * 8;
      const packet = Buffer.allocUnsafe(headerLength + samples);
      const sounds = this.player.fill(packet, headerLength, samples);
      if (flow?.send && (sounds || keepalive)) this.#sendOctets(packet, sounds, flow, now);
      else this.#sender.pause();
    }
  }

  /** Nothing is played: packets are relayed, or only reports and the time-out of the far side remain. */
  #rest(flow: RtpFlow | undefined, now: number): void {
    this.#creditMs = 0;
    if (this.#playout || !this.digits.idle || !this.#digitReceiver.idle) return;
    const never = Number.POSITIVE_INFINITY;
    this.restsUntil = flow ? Math.min(this.#control.dueAt, this.#presence.dueAt(now, flow.receive)) : never;
  }

  /** G.711 from the file to the packet, sample by octet. */
  #sendOctets(packet: Uint8Array, sounds: boolean, flow: RtpFlow, now: number): void {
    if (!sounds || this.#muted.out) packet.fill(silenceOctet(this.player.codec), headerLength);
    this.#sendAudio(packet, flow.payloadType, packet.length - headerLength, now);
  }

  #sendAudio(packet: Uint8Array, payloadType: number, units: number, now: number): void {
    this.#sender.audio(packet, payloadType, units, now);
    this.passingLevel.look(packet, headerLength, packet.length);
    this.#far.send(packet);
  }

  #sendSamples(frame: Frame | undefined, now: number): void {
    const flow = this.#flow;
    if (!flow?.send || !frame) {
      this.#packets.clear();
      this.#sender.pause();
      return;
    }
    const said = this.#muted.out ? this.#silent() : frame;
    const samples = this.#rate.samples(said);
    const send = (packet: Uint8Array | undefined, units: number) => {
      if (!packet) return this.#sender.pause();
      this.#sendAudio(packet, flow.payloadType, units, now);
    };
    this.#packets.push(samples, this.#far.copies, send, samples === said.samples ? said.shared : undefined);
  }

  #silent(): Frame {
    this.#silence ??= emptyFrame(this.#codec.sampleRate);
    return this.#silence;
  }

  #sendDigit(step: DigitStep, now: number): void {
    const { send, telephoneEvent: type, telephoneEventRate: rate = 8000, digitsBySignalling } = this.#flow ?? {};
    if (!send) return;
    if (type !== undefined) return void this.#far.send(this.#sender.event(step, type, rate, now));
    const { event, ended, durationMs } = step;
    if (digitsBySignalling && ended)
      this.report({ type: 'digitPassed', session: this.session, digit: digitOfEvent[event]!, durationMs });
    // Another far side without telephone events hears the digit as a pair of tones.
    const tone = digitsBySignalling ? undefined : this.#digitTone.next(step, storedFor(this.#codec.codec));
    if (tone) this.#sendSamples(tone, now);
    else this.#sender.pause();
  }
}
