import { isIP } from 'node:net';
import type { RtpFlow, RtpStatistics } from '../../telephony/media.ts';
import { sampleRate, samplesPerMs, silenceOctet } from '../codec/codecs.ts';
import { SequenceReader } from '../sequence.ts';
import { Session, type SessionOptions, tickSamples } from '../session.ts';
import { digitFrequencies, toneSequence } from '../tones.ts';
import { RtcpControl } from './control.ts';
import type { DigitStep } from './digit-sender.ts';
import { emptyHeader, headerLength, readHeader } from './header.ts';
import { JitterBuffer } from './jitter-buffer.ts';
import type { PortPair } from './ports.ts';
import { Reception } from './reception.ts';
import { RtpSender } from './sender.ts';
import { type PacketAddress, SourceLock } from './source-lock.ts';
import { DigitReceiver, digitOfEvent, readEvent } from './telephone-event.ts';

export type RtpSessionOptions = SessionOptions & {
  pair: PortPair;
  random32: () => number;
  /** See {@link MediaConfig}. */
  rtpTimeoutMs: number;
  keepalive: boolean;
  natSearchMs: number;
  /** A packet could not be handled: a fault of ours, never of the packet. */
  faulted: (error: unknown) => void;
};

const longestPacketMs = 200;
/** Packets in a row, and the longest time they may take in ms, that show a far side behind a NAT. */
const natRow = { needed: 4, withinMs: 1000 };

/** The RTP side of a leg: one port, one stream out, one far side heard. */
export class RtpAudioSession extends Session {
  readonly pair: PortPair;
  readonly #options: RtpSessionOptions;
  readonly #sender: RtpSender;
  readonly #control: RtcpControl;
  readonly #lock: SourceLock;
  readonly #reception = new Reception();
  readonly #digitReceiver: DigitReceiver;
  readonly #header = emptyHeader();
  readonly #held = new JitterBuffer<Uint8Array>({ pacing: 'immediate' });
  #flow: RtpFlow | undefined;
  #packetSamples = tickSamples;
  /** Samples of time that went by and are not yet sent. */
  #credit = 0;
  #echoing = false;
  #muted = { in: false, out: false };
  #digitTone: SequenceReader | undefined;
  /** Where RTCP of the far side comes from, and which far side that was. */
  #rtcpFrom: { port: number; target: PacketAddress } | undefined;
  /** When the far side was last heard or expected anew, monotonic ms. */
  #heardAt = 0;
  #timedOut = false;

  constructor(options: RtpSessionOptions) {
    super(options);
    this.#options = options;
    this.pair = options.pair;
    this.#sender = new RtpSender(options.random32);
    this.#control = new RtcpControl(options.clock, options.random32);
    this.#lock = new SourceLock({ ...natRow, searchMs: options.natSearchMs });
    this.#digitReceiver = new DigitReceiver((digit, durationMs) =>
      this.report({ type: 'digit', session: this.session, digit, durationMs }),
    );
    this.pair.rtp.listen((packet, address, port) => {
      try {
        this.#receive(packet, address, port);
      } catch (error) {
        options.faulted(error);
      }
    });
    this.pair.rtcp.listen((packet, address, port) => {
      const { target } = this.#lock;
      if (!target || address !== target.address) return;
      if (this.#control.receive(packet, this.#sender.ssrc)) this.#rtcpFrom = { port, target };
    });
  }

  /** Sets or changes the flow. What cannot be sent to is only listened to. */
  configure(flow: RtpFlow): void {
    this.#flow = flow;
    this.#packetSamples =
      Math.min(longestPacketMs, Math.max(10, Math.round(flow.ptimeMs / 10) * 10 || 20)) * samplesPerMs;
    this.#credit = 0;
    this.voice.convert(flow.codec);
    const now = this.clock.monotonic();
    this.#lock.signal(flow.remote, flow.receive, now);
    this.#heardAt = now;
    this.#timedOut = false;
  }

  echo(on: boolean): void {
    if (this.#echoing === on) return;
    this.#echoing = on;
    this.#held.clear();
    this.#sender.pause();
  }

  mute(directions: { in: boolean; out: boolean }): void {
    this.#muted = directions;
  }

  statistics(): RtpStatistics {
    const trip = this.#control.roundTrip;
    return {
      txcount: this.#sender.packets,
      rxcount: this.#reception.packets,
      txoctetcount: this.#sender.octets,
      rxoctetcount: this.#reception.octets,
      txploss: this.#control.remoteLost,
      rxploss: this.#reception.lost,
      local_ssrc: this.#sender.ssrc,
      remote_ssrc: this.#reception.ssrc ?? 0,
      txjitter: this.#control.remoteJitter,
      rxjitter: this.#reception.jitter / sampleRate,
      ...(trip && {
        rtt: trip.last,
        maxrtt: trip.maximum,
        minrtt: trip.minimum,
        normdevrtt: trip.mean,
        stdevrtt: trip.deviation,
      }),
    };
  }

  override tick(now: number): void {
    this.#digitReceiver.expire(now);
    if (this.#held.size > 0) this.#releaseEcho(now);
    this.#watch(now);
    if (this.#flow && this.#control.due(now)) this.#sendControl(this.#control.report(this.#sender, this.#reception));
    const step = this.digits.tick();
    if (step) this.#sendDigit(step, now);
    else this.#sendVoice(now);
  }

  override skipped(): void {
    // The timeline went on without us: what follows starts anew on it, as after a silence.
    if (!this.#echoing) this.#sender.pause();
  }

  override close(reason: string): void {
    super.close(reason);
    if (this.#sender.packets > 0) this.#sendControl(this.#control.bye(this.#sender));
    this.pair.rtp.listen(undefined);
    this.pair.rtcp.listen(undefined);
  }

  #receive(packet: Uint8Array, address: string, port: number): void {
    const header = this.#header;
    const flow = this.#flow;
    if (!flow || !readHeader(packet, header)) return;
    const type = meaningOf(header.payloadType, flow);
    const isAudio = type !== undefined && type === flow.payloadType;
    const isEvent = type !== undefined && !isAudio;
    // Others (comfort noise) show that the far side lives, and are otherwise unknown.
    if (!isAudio && !isEvent) {
      this.#heardOther(address, port);
      return;
    }
    const now = this.clock.monotonic();
    if (!this.#lock.admits(address, port, header.ssrc, header.sequence, now)) return;
    if (header.ssrc !== this.#reception.ssrc) this.#startSource();
    const length = header.payloadEnd - header.payloadStart;
    const arrival = isAudio ? Math.floor(now * samplesPerMs) : undefined;
    if (!this.#reception.receive(header.ssrc, header.sequence, header.timestamp, length, arrival)) return;
    this.#heardAt = now;
    this.#timedOut = false;
    if (isEvent) {
      const event = readEvent(packet, header.payloadStart, header.payloadEnd);
      if (event) this.#digitReceiver.receive(header.timestamp, event, now);
    }
    if (!this.#echoing || !flow.receive || !flow.send) return;
    this.#held.put(header.sequence, header.timestamp, packet, now);
    this.#releaseEcho(now);
  }

  #heardOther(address: string, port: number): void {
    const target = this.#lock.target;
    if (this.#lock.locked && target?.address === address && target.port === port)
      this.#heardAt = this.clock.monotonic();
  }

  #startSource(): void {
    this.#digitReceiver.reset();
    this.#held.clear();
    if (this.#echoing) this.#sender.pause();
  }

  /** Sends back what is in order by now. */
  #releaseEcho(now: number): void {
    const flow = this.#flow!;
    for (let packet = this.#held.take(now); packet; packet = this.#held.take(now)) {
      // What we say ourselves wins over the echo.
      if (this.voice.active || !this.digits.idle || !readHeader(packet, this.#header)) continue;
      const header = this.#header;
      const type = meaningOf(header.payloadType, flow);
      if (type === undefined) continue;
      header.payloadType = type;
      if (type === flow.payloadType) {
        if (this.#muted.in) continue;
        if (this.#muted.out) packet.fill(silenceOctet[flow.codec], header.payloadStart, header.payloadEnd);
      }
      this.#send(this.#sender.echo(packet, header, now));
    }
  }

  #watch(now: number): void {
    const limit = this.#options.rtpTimeoutMs;
    if (limit <= 0 || this.#timedOut || !this.#flow) return;
    if (!this.#flow.receive) this.#heardAt = now;
    if (now - this.#heardAt < limit) return;
    this.#timedOut = true;
    this.report({ type: 'timedOut', session: this.session });
  }

  /** Sends what the voice has to say in as many packets as the time that went by is worth. */
  #sendVoice(now: number): void {
    const flow = this.#flow;
    const keepalive = this.#options.keepalive && !this.#echoing;
    if (!this.voice.active && !(keepalive && flow)) {
      this.#credit = 0;
      if (!this.#echoing) this.#sender.pause();
      return;
    }
    this.#credit += tickSamples;
    while (this.#credit >= this.#packetSamples) {
      this.#credit -= this.#packetSamples;
      const packet = Buffer.allocUnsafe(headerLength + this.#packetSamples);
      const sounds = this.voice.fill(packet, headerLength, this.#packetSamples);
      this.#sendAudio(packet, sounds, keepalive, now);
    }
  }

  #sendAudio(packet: Uint8Array, sounds: boolean, keepalive: boolean, now: number): void {
    const flow = this.#flow;
    if (!flow?.send || (!sounds && !keepalive)) {
      this.#sender.pause();
      return;
    }
    if (!sounds || this.#muted.out) packet.fill(silenceOctet[flow.codec], headerLength);
    this.#sender.audio(packet, flow.payloadType, now);
    this.#send(packet);
  }

  #sendDigit(step: DigitStep, now: number): void {
    const flow = this.#flow;
    if (!flow?.send) return;
    if (flow.telephoneEvent !== undefined) this.#send(this.#sender.event(step, flow.telephoneEvent, now));
    else this.#sendDigitTone(step, flow, now);
  }

  /** A far side that takes no telephone events hears the digit as a pair of tones. */
  #sendDigitTone(step: DigitStep, flow: RtpFlow, now: number): void {
    if (step.start) {
      const frequencies = digitFrequencies(digitOfEvent[step.event]!);
      const element = { frequencies, modulated: false, durationMs: Number.POSITIVE_INFINITY, once: false };
      this.#digitTone = new SequenceReader(toneSequence([element], flow.codec));
    }
    if (step.end && !step.ended) {
      this.#sender.pause();
      return;
    }
    const packet = Buffer.allocUnsafe(headerLength + tickSamples);
    this.#digitTone?.read(packet, headerLength, tickSamples);
    this.#sender.audio(packet, flow.payloadType, now);
    this.#send(packet);
  }

  #send(packet: Uint8Array): void {
    const target = this.#lock.target;
    if (target && isReachable(target)) this.pair.rtp.send(packet, target.port, target.address);
  }

  #sendControl(packet: Uint8Array): void {
    const target = this.#lock.target;
    if (!target || !isReachable(target)) return;
    const port = this.#rtcpFrom?.target === target ? this.#rtcpFrom.port : target.port + 1;
    if (port <= 0xffff) this.pair.rtcp.send(packet, port, target.address);
  }
}

/** Never a name (nothing is looked up), never port 0 (a refused stream) nor the address of nobody (an old hold). */
function isReachable({ address, port }: { address: string; port: number }): boolean {
  return (
    Number.isInteger(port) &&
    port > 0 &&
    port <= 0xffff &&
    isIP(address) !== 0 &&
    address !== '0.0.0.0' &&
    address !== '::'
  );
}

/**
 * The number that we would send with what came as `payloadType`; undefined when it is neither the codec nor an event. The
 * numbers that we told come first (RFC 3264 5.1); many phones send with the one they told, and so are understood, too.
 */
function meaningOf(payloadType: number, flow: RtpFlow): number | undefined {
  const { payloadType: audio, telephoneEvent: event } = flow;
  if (payloadType === (flow.receivePayloadType ?? audio)) return audio;
  if (event !== undefined && payloadType === (flow.receiveTelephoneEvent ?? event)) return event;
  return payloadType === audio || payloadType === event ? payloadType : undefined;
}
