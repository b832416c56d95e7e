import type { SrtpKeys } from '../../lib/srtp.ts';
import type { BundledLine } from '../../lib/webrtc.ts';
import type { VideoFlow } from '../../telephony/video.ts';
import { headerLength, readUint32 } from '../rtp/header.ts';
import type { PortPair } from '../rtp/ports.ts';
import type { PacketListener, PacketSocket } from '../rtp/sockets.ts';
import type { PacketAddress } from '../rtp/source-lock.ts';
import type { Trace } from '../rtp/traced-pair.ts';
import type { SessionMemory } from '../session-memory.ts';
import { forgetIndices, isProved, SecurePair, sealerAt } from '../srtp/secure-pair.ts';
import { videoWord } from '../video/stream-memory.ts';
import { numberIn, textIn, withExtensions } from './mid.ts';
import { TransportFeedback } from './transport-feedback.ts';

/** Sources that are known by their line's name. Browsers have some for each line: one for each size of its picture. */
const maximumSources = 64;

/** How a stream is opened. */
type BundledStream = {
  readonly memory: SessionMemory;
  /** As it is shown, before the transport begins. */
  readonly port: number;
  /** Writes down the heads of its packets; left out: nobody does. */
  readonly trace?: Trace | undefined;
};

/** The port that streams of a bundle share. */
type SharedPort = {
  readonly port: number;
  readonly copies?: boolean | undefined;
  send(packet: Uint8Array): void;
  /** Monotonic time in ms. */
  now(): number;
};

/**
 * The streams beside the audio in a browser's transport (BUNDLE, RFC 9143). Each has SRTP numbers of its own, because rollover
 * counters belong to one SSRC (RFC 3711 3.2.3). All hear all RTCP.
 */
export class Bundle {
  readonly #streams = new Set<BundledPair>();
  /** Proved SSRCs of streams that named themselves: a browser stops doing that once it is heard (RFC 9143 9.2). */
  readonly #sources = new Map<number, BundledPair>();
  readonly #feedback = new TransportFeedback();
  #port: SharedPort | undefined;
  #keys: SrtpKeys | undefined;
  #selected: PacketAddress | undefined;
  #control: PacketListener | undefined;

  /** Another stream. */
  open(options: BundledStream): BundledPair {
    const stream: BundledPair = new BundledPair({
      ...options,
      send: (packet) => this.#port?.send(packet),
      proved: (ssrc) => this.#learn(ssrc, stream),
      feedback: this.#feedback,
      control: (packet, address, from) => this.control(packet, address, from),
      closed: () => this.#forget(stream),
    });
    this.#streams.add(stream);
    stream.moved(this.#selected);
    if (this.#port && this.#keys) stream.begin(this.#port, this.#keys);
    return stream;
  }

  /** The transport has keys. @param control hears RTCP beside the streams. */
  begin(port: SharedPort, keys: SrtpKeys, control: PacketListener): void {
    this.#port = port;
    this.#keys = keys;
    this.#control = control;
    this.#sources.clear();
    for (const stream of this.#streams) stream.begin(port, keys);
  }

  /** Keys of another association are to come: see {@link forgetIndices}. */
  forgetIndices(): void {
    for (const stream of this.#streams) stream.forgetIndices();
  }

  /** It has none any longer. */
  end(): void {
    this.#port = this.#keys = this.#control = undefined;
    for (const stream of this.#streams) stream.end();
  }

  /** The far side is there now; undefined: nothing may be sent. */
  moved(source: PacketAddress | undefined): void {
    this.#selected = source;
    for (const stream of this.#streams) stream.moved(source);
  }

  /** The stream that a sealed packet is for; undefined: the audio. */
  streamOf(packet: Uint8Array, isControl: boolean): BundledPair | undefined {
    if (this.#streams.size === 0 || packet.length < headerLength) return undefined;
    if (isControl) return this.#provedBy(readUint32(packet, 4));
    const ssrc = readUint32(packet, 8);
    const named = this.#find((stream) => stream.isNamed(packet));
    return (
      named ?? this.#sources.get(ssrc) ?? this.#provedBy(ssrc) ?? this.#find((stream) => stream.takes(packet[1]! & 127))
    );
  }

  /** Whether a packet of either side, as it is on the network, is one of a stream: by its payload type. */
  carries(packet: Uint8Array): boolean {
    if (this.#streams.size === 0 || packet.length < headerLength || packet[0]! >> 6 !== 2) return false;
    return this.#find((stream) => stream.has(packet[1]! & 127)) !== undefined;
  }

  /** RTCP of the far side, opened: any of it may be about any stream. */
  control(packet: Uint8Array, address: string, port: number): void {
    this.#control?.(packet, address, port);
    for (const stream of this.#streams) stream.heardControl?.(packet, address, port);
  }

  #provedBy(ssrc: number): BundledPair | undefined {
    return this.#find((stream) => stream.hasProved(ssrc));
  }

  #find(is: (stream: BundledPair) => boolean): BundledPair | undefined {
    for (const stream of this.#streams) if (is(stream)) return stream;
    return undefined;
  }

  #learn(ssrc: number, stream: BundledPair): void {
    if (this.#sources.get(ssrc) === stream) return;
    this.#sources.set(ssrc, stream);
    if (this.#sources.size > maximumSources) this.#sources.delete(this.#sources.keys().next().value!);
  }

  #forget(stream: BundledPair): void {
    this.#streams.delete(stream);
    for (const [ssrc, known] of this.#sources) if (known === stream) this.#sources.delete(ssrc);
  }
}

type BundledPairOptions = BundledStream & {
  readonly send: (packet: Uint8Array) => void;
  /** A packet of that source names this stream, and SRTP proves it. */
  readonly proved: (ssrc: number) => void;
  readonly control: PacketListener;
  /** When packets of the transport came. */
  readonly feedback: TransportFeedback;
  readonly closed: () => void;
};

/** One stream of a {@link Bundle}, as a pair of ports. Where packets go is for ICE to say. */
export class BundledPair implements PortPair {
  readonly rtp: PacketSocket;
  readonly rtcp: PacketSocket;
  /** Hears the RTCP of the whole bundle. */
  heardControl: PacketListener | undefined;
  readonly #options: BundledPairOptions;
  #secure: SecurePair | undefined;
  /** Seals and sends a retransmission: its source has rollover counters of its own. */
  #sendRtx: ((packet: Uint8Array) => void) | undefined;
  #line: BundledLine | undefined;
  /** Payload types of what is received, of retransmissions of ours, and all. */
  #received: readonly number[] = [];
  #rtxType: number | undefined;
  #payloadTypes: readonly number[] = [];
  #heard: PacketListener | undefined;
  #inside: { rtp?: PacketListener | undefined; rtcp?: PacketListener | undefined } = {};
  #follower: ((source: PacketAddress | undefined) => void) | undefined;
  #selected: PacketAddress | undefined;
  #now: () => number = () => 0;

  constructor(options: BundledPairOptions) {
    this.#options = options;
    const close = () => this.#close();
    this.rtp = {
      port: options.port,
      // The encrypted packet is a copy.
      copies: true,
      send: (packet) => this.#sendRtp(packet),
      listen: (listener) => {
        this.#heard = listener;
      },
      close,
    };
    this.rtcp = {
      port: options.port,
      send: (packet) => this.#secure?.rtcp.send(packet, 0, ''),
      listen: (listener) => {
        this.heardControl = listener;
      },
      close,
    };
  }

  /** Whether SRTP has proved a source to be one of it. */
  hasProved(ssrc: number): boolean {
    return isProved(this.#options.memory, ssrc);
  }

  /** Says by what its packets are known. */
  carry({ bundled, payloadType, receivePayloadType = payloadType, receive, rtx }: VideoFlow): void {
    const received = [receivePayloadType, ...(rtx ? [rtx.receivePayloadType] : [])];
    this.#line = bundled && rtx ? bundled : untimed(bundled);
    this.#received = receive ? received : [];
    this.#rtxType = rtx?.payloadType;
    this.#payloadTypes = [payloadType, ...received, ...(rtx ? [rtx.payloadType] : [])];
  }

  /** Hears where the far side is, now and from now on. */
  follow(follower: (source: PacketAddress | undefined) => void): void {
    this.#follower = follower;
    if (this.#selected) follower(this.#selected);
  }

  moved(source: PacketAddress | undefined): void {
    this.#selected = source;
    this.#follower?.(source);
  }

  /** Whether a sealed packet has the name of its line. */
  isNamed(packet: Uint8Array): boolean {
    const line = this.#line;
    return line?.midExtension !== undefined && textIn(packet, line.midExtension) === line.mid;
  }

  takes(payloadType: number): boolean {
    return this.#received.includes(payloadType);
  }

  /** See {@link TransportFeedback.due}: what is due of the whole transport is given to the first stream that asks. */
  dueFeedback(ours: number, now: number): Uint8Array[] {
    return this.#options.feedback.due(ours, now);
  }

  /** Whether a payload type is one of it, in either direction. */
  has(payloadType: number): boolean {
    return this.#payloadTypes.includes(payloadType);
  }

  begin(port: SharedPort, keys: SrtpKeys): void {
    const { memory, proved, control, trace, feedback } = this.#options;
    this.#inside = {};
    this.#now = () => port.now();
    const inner = (kind: 'rtp' | 'rtcp'): PacketSocket => ({
      port: port.port,
      copies: port.copies,
      send: (packet) => {
        const to = this.#selected;
        if (kind === 'rtp' && to) trace?.(packet, 'out', to.address, to.port);
        port.send(packet);
      },
      listen: (listener) => {
        this.#inside[kind] = listener;
      },
      close() {},
    });
    const rtp = inner('rtp');
    this.#secure = new SecurePair({ rtp, rtcp: inner('rtcp') }, keys, memory);
    this.#secure.rtp.listen((packet, address, from) => {
      const ssrc = readUint32(packet, 8);
      if (this.isNamed(packet)) proved(ssrc);
      const number = this.#line?.transportExtension && numberIn(packet, this.#line.transportExtension);
      if (number !== undefined) feedback.arrived(number, ssrc, port.now());
      this.#heard?.(packet, address, from);
    });
    this.#secure.rtcp.listen(control);
    const sealer = sealerAt(keys, memory, videoWord.rtxSealed);
    this.#sendRtx = (packet) => {
      const sealed = sealer.audio(packet);
      if (sealed) rtp.send(sealed, 0, '');
    };
  }

  forgetIndices(): void {
    const { memory } = this.#options;
    forgetIndices(memory);
    memory[videoWord.rtxSealed] = 0;
  }

  end(): void {
    this.#secure = this.#sendRtx = undefined;
    this.#inside = {};
  }

  /** A sealed packet that is for this stream. */
  receive(packet: Uint8Array, isControl: boolean, { address, port }: PacketAddress): void {
    if (!isControl) this.#options.trace?.(packet, 'in', address, port);
    this.#inside[isControl ? 'rtcp' : 'rtp']?.(packet, address, port);
  }

  #sendRtp(packet: Uint8Array): void {
    const line = this.#line;
    const whole = line ? withExtensions(packet, line, this.#now()) : packet;
    if ((packet[1]! & 127) === this.#rtxType) this.#sendRtx?.(whole);
    else this.#secure?.rtp.send(whole, 0, '');
  }

  #close(): void {
    this.end();
    this.#follower = this.#heard = this.heardControl = undefined;
    this.#options.closed();
  }
}

/**
 * A line whose packets do not say when they are sent. One that is sent again in its stream is sealed again with its number,
 * and has to be the same octet for octet: two texts with one nonce give away the key of GCM's tags (RFC 5116 5.1.1).
 */
const untimed = (line: BundledLine | undefined): BundledLine | undefined => {
  if (!line) return undefined;
  const { sendTimeExtension: _, ...rest } = line;
  return rest;
};
