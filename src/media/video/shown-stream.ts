import { isDeepStrictEqual } from 'node:util';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { VideoFlow, WhyNotShown } from '../../telephony/video.ts';
import type { VideoConfig } from '../config.ts';
import type { SentStream } from '../rtp/control.ts';
import { headerLength, writeHeader } from '../rtp/header.ts';
import type { SessionMemory } from '../session-memory.ts';
import type { Camera, VideoPacket, Viewer } from './camera.ts';
import { unitsPerMs } from './camera-source.ts';
import type { BitrateWay } from './feedback.ts';
import { rewriteMark } from './frame-mark.ts';
import type { PacketRoom } from './packet-room.ts';
import { PacketStore } from './packet-store.ts';
import { Rate } from './rate.ts';
import { RtxStream } from './rtx.ts';
import { ShownLayers } from './shown-layers.ts';
import { videoWord } from './stream-memory.ts';
import { WholeUnits } from './whole-units.ts';

const { begun, ssrc, sequence, timestamp, sentAt, pictureId, tl0, packets, octets } = videoWord;

type ShownStreamOptions = {
  config: VideoConfig;
  /** Monotonic time in ms, and wall-clock time at its 0. */
  now: () => number;
  clockZero: number;
  /** 32 random bits: SSRC and the first numbers (RFC 3550 section 5.1). */
  random32: () => number;
  /** Memory of the stream's numbers; a stream that has begun continues. */
  memory: SessionMemory;
  /** Counts limits that were reached. */
  hit: LimitHit;
  /** Memory for packets. */
  room: PacketRoom;
  /** Sends a packet to the far side. It is not changed afterwards, unless it {@link copies}. */
  send: (packet: Uint8Array) => void;
  /** Whether what was sent may be changed when `send` returns. */
  copies: () => boolean;
  /** A packet could not be handled: a fault of ours in this stream, not in the camera's. */
  faulted: (error: unknown) => void;
  /** Bit/s that the far side is sent in all its streams. */
  sentInAll: () => number;
};

/** How long a frame that was begun is waited for before the next source begins, in ms. */
const frameEndMs = 30;
/** Interval of repeated key-frame requests of a viewer, in ms; requests to the source have their own limit. */
const askAgainMs = 1000;
const wholeTimestamp = 0x1_0000_0000;
/** Octets of a filler packet: padding (RFC 3550 section 5.1). */
const paddingOctets = 4;

/**
 * One video stream to a far side. It has one SSRC, and its sequence numbers, timestamps and picture ids never jump when
 * the camera changes. A new camera begins with a key frame; until then the earlier one continues. Gaps of a camera stay
 * gaps. Late packets of an earlier camera are dropped.
 */
export class ShownStream implements Viewer, SentStream {
  readonly clockRate = unitsPerMs * 1000;
  readonly #options: ShownStreamOptions;
  readonly #memory: SessionMemory;
  readonly #store: PacketStore;
  readonly #rtx: RtxStream;
  readonly #rate = new Rate();
  /** Sizes of cameras, and the bit rate. */
  readonly layers = new ShownLayers();
  /** Bit/s that the far side has asked for by RTCP. */
  readonly #asked: Record<BitrateWay, number> = { tmmbr: Number.POSITIVE_INFINITY, remb: Number.POSITIVE_INFINITY };
  /** Bit/s that it takes of all that it has said. */
  bitrateTaken = Number.POSITIVE_INFINITY;
  #flow: VideoFlow | undefined;
  /** The present camera, and the next one. */
  #shown: Camera | undefined;
  #next: Camera | undefined;
  /** Packets of the next one that wait for the end of the frame under way. */
  #held: VideoPacket[] | undefined;
  #heldSince = 0;
  /** Nothing is sent before a key frame, which restarts the numbers of the source. */
  #waits = true;
  /** More came than the far side takes: that has to be over first. */
  #tooMuch = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** A camera whose codec the far side does not take: it is not asked for key frames. */
  #foreign: Camera | undefined;
  /** For far sides that only take whole H.264 units: the assembler of each camera. */
  readonly #whole = new Map<Camera, WholeUnits>();
  /** A camera whose units are too long for that: it is not asked for key frames either. */
  #inParts: Camera | undefined;
  /** Offsets of the source's numbers, and their start. */
  #generation = -1;
  #firstIndex = 0;
  #firstTime = 0;
  #indexOffset = 0;
  #timeOffset = 0;
  #pictureOffset = 0;
  #tl0Offset = 0;
  /** The last sent packet: whether it ended a frame, its source timestamp, and its time. */
  #ended = true;
  #lastTime: number | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  /** How often another source began to be shown; packets left out, and sent again. */
  switches = 0;
  leftOut = 0;
  sentAgain = 0;

  constructor(options: ShownStreamOptions) {
    this.#options = options;
    const { config, memory, random32, hit, room, copies } = options;
    this.#memory = memory;
    this.#store = new PacketStore({
      ...{ packets: config.resendPackets, ms: config.resendMs, hit },
      letGo: (packet) => {
        if (copies()) room.give(packet);
      },
    });
    this.#rtx = new RtxStream(options);
    if (memory[begun] === 1) return;
    memory[ssrc] = random32();
    // RFC 3711 3.3.1: in the lower half, so that an early wrap with losses is unambiguous.
    memory[sequence] = random32() & 0x7fff;
    memory[timestamp] = random32();
    memory[pictureId] = random32() & 0x7fff;
    memory[tl0] = random32() & 0xff;
    memory[packets] = 0;
    memory[octets] = 0;
    memory[begun] = 1;
  }

  get ssrc(): number {
    return this.#memory[ssrc]!;
  }

  get packets(): number {
    return this.#memory[packets]!;
  }

  get octets(): number {
    return this.#memory[octets]!;
  }

  /** The camera that is shown, or will be. */
  get camera(): Camera | undefined {
    return this.#next ?? this.#shown;
  }

  /** Number of the session whose camera goes out. */
  get current(): number | undefined {
    return this.#shown?.session;
  }

  /** Why the next camera is not visible yet; undefined if it is, or there is none. */
  get unseen(): WhyNotShown | undefined {
    const { camera } = this;
    if (!camera) return undefined;
    if (!this.#flow?.send) return 'inactive';
    if (camera === this.#foreign) return 'codec';
    if (camera === this.#inParts) return 'packetization';
    if (!camera.live) return 'silent';
    if (camera === this.#shown && this.#tooMuch) return 'bandwidth';
    return camera === this.#next || this.#waits ? 'key_frame' : undefined;
  }

  timestampAt(now: number): number {
    const memory = this.#memory;
    const sinceMs = now + this.#options.clockZero - memory[sentAt]!;
    const units = memory[packets]! > 0 ? Math.max(0, Math.round(sinceMs * unitsPerMs)) : 0;
    return (memory[timestamp]! + units) % wholeTimestamp;
  }

  configure(flow: VideoFlow): void {
    const before = this.#flow;
    this.#flow = flow;
    // Packets that say other things of themselves would be others with the same numbers, if they were sent again.
    if (!isDeepStrictEqual([before?.bundled, before?.rtx], [flow.bundled, flow.rtx])) this.#store.clear();
    this.#foreign = undefined;
    this.#inParts = undefined;
    if (before?.h264?.packetization !== flow.h264?.packetization) this.#whole.clear();
    if (before && (before.remote.address !== flow.remote.address || before.remote.port !== flow.remote.port))
      this.#asked.tmmbr = this.#asked.remb = Number.POSITIVE_INFINITY;
    this.#limit();
    this.#tellTakes();
    // Another codec, or a far side that hears again after it did not: it begins with a key frame.
    if (before && (before.codec !== flow.codec || before.send !== flow.send)) this.#waits = true;
  }

  /** See {@link VideoMember.show}. */
  show(camera: Camera | undefined): void {
    if (camera === this.camera) return;
    if (this.#next && this.#next !== this.#shown) this.#letGo(this.#next);
    this.#next = undefined;
    this.#held = undefined;
    if (camera === this.#shown) return;
    if (!camera) {
      if (this.#shown) this.#letGo(this.#shown);
      this.#shown = undefined;
      this.#waits = true;
      return;
    }
    this.#next = camera;
    this.#foreign = undefined;
    this.#inParts = undefined;
    camera.watch(this);
    this.#ask(camera);
  }

  take(packet: VideoPacket): void {
    const flow = this.#flow;
    if (packet.layer > 0 && !this.layers.admits(packet)) return;
    if (!flow?.send || packet.codec !== flow.codec) {
      if (flow?.send && this.#foreign !== packet.camera) {
        this.#foreign = packet.camera;
        packet.camera.takesChanged();
      }
      this.leftOut++;
      return;
    }
    try {
      if (flow.h264?.packetization === 0) this.#wholeOf(packet.camera).take(packet, this.#options.now());
      else this.#pass(packet);
    } catch (error) {
      this.#options.faulted(error);
    }
  }

  #pass(packet: VideoPacket): void {
    if (packet.camera === this.#shown) this.#follow(packet);
    else if (packet.camera === this.#next) this.#await(packet);
  }

  #wholeOf(camera: Camera): WholeUnits {
    const known = this.#whole.get(camera);
    if (known) return known;
    const { config, hit } = this.#options;
    const units = new WholeUnits({
      ...{ largest: config.largestUnit, most: config.resendPackets },
      pass: (packet) => {
        if (packet.key && this.#inParts === camera) this.#inParts = undefined;
        this.#pass(packet);
      },
      tooLong: () => {
        hit('media.video.largest_unit');
        this.leftOut++;
        this.#inParts = camera;
        camera.takesChanged();
      },
    });
    this.#whole.set(camera, units);
    return units;
  }

  #letGo(camera: Camera): void {
    camera.unwatch(this);
    this.#whole.delete(camera);
    this.layers.letGo(camera);
  }

  takes(camera: Camera): number {
    // Where it comes in several sizes, the one that fits is taken.
    const isPassedOn = this.#flow?.send && !camera.layers && camera !== this.#foreign && camera !== this.#inParts;
    return isPassedOn ? this.bitrateTaken : Number.POSITIVE_INFINITY;
  }

  /** Highest bit rate that the far side accepts; Infinity: no limit. */
  bitrateAsked(bitrate: number, way: BitrateWay): void {
    this.#asked[way] = bitrate;
    this.#limit();
    if (way !== 'remb') return;
    const { config, sentInAll, now } = this.#options;
    this.layers.estimated(Math.max(bitrate, config.lowestBitrate), sentInAll(), now());
  }

  /** The far side has lost a share of what it was sent, from 0 to 1. */
  lost(share: number): void {
    this.layers.lost(share, this.#options.now());
  }

  /** The far side misses a packet. @param number 16 bits. */
  missed(number: number): void {
    const packet = this.#store.take(number, this.#options.now());
    if (!packet) return;
    this.sentAgain++;
    this.#rate.took(packet.length);
    const rtx = this.#flow?.rtx;
    if (rtx) this.#rtx.send(packet, rtx.payloadType);
    else this.#options.send(packet);
  }

  /** The far side needs a key frame. */
  keyFrameAsked(): void {
    const camera = this.#shown ?? this.#next;
    camera?.askKeyFrame(this.layers.of(camera));
  }

  /** To be called once a tick. @param now monotonic ms. */
  tick(now: number): void {
    if (this.#held && now - this.#heldSince >= frameEndMs) this.#switch();
    const camera = this.#next ?? (this.#waits ? this.#shown : undefined);
    if (camera && !this.#held && now - this.#askedAt >= askAgainMs && camera.live) this.#ask(camera);
    this.#store.expire(now);
    this.layers.tick([this.#shown, this.#next], this.octets, this.#most, now);
    if (this.#shown?.layers) this.#limit();
  }

  close(): void {
    this.show(undefined);
    this.#store.clear();
  }

  /** Bit/s that the far side accepts by its own words; what it estimates grows with what it gets. */
  get #most(): number {
    return Math.min(this.#flow?.maxBitrate ?? Number.POSITIVE_INFINITY, this.#asked.tmmbr);
  }

  #limit(): void {
    const { remb } = this.#asked;
    const taken = Math.min(this.#most, remb);
    // Estimates grow with what is received: one that is too low would never recover if more frames were left out for it.
    const passed = Math.min(this.#most, Math.max(remb, this.#options.config.lowestBitrate));
    // Of several sizes a smaller one comes before that.
    const isFree = passed === Number.POSITIVE_INFINITY || this.layers.canLower(this.#shown);
    this.#rate.limit(isFree ? undefined : passed, this.#options.now());
    if (taken === this.bitrateTaken) return;
    this.bitrateTaken = taken;
    this.#tellTakes();
  }

  #tellTakes(): void {
    this.#shown?.takesChanged();
    this.#next?.takesChanged();
  }

  #ask(camera: Camera): void {
    if (!this.#flow?.send || camera === this.#foreign || camera === this.#inParts) return;
    this.#askedAt = this.#options.now();
    camera.askKeyFrame(this.layers.of(camera));
  }

  /** A packet of the camera that is to follow. */
  #await(packet: VideoPacket): void {
    if (this.#held) {
      this.#held.push(copyOf(packet));
      if (this.#held.length >= this.#options.config.resendPackets) this.#switch();
      return;
    }
    if (!packet.key || packet.camera === this.#inParts) {
      this.leftOut++;
      if (packet.camera !== this.#inParts) packet.camera.askKeyFrame(packet.layer || undefined);
      return;
    }
    const now = this.#options.now();
    const isUnderWay = !this.#ended && now - this.#lastAt < frameEndMs;
    this.#held = [isUnderWay ? copyOf(packet) : packet];
    this.#heldSince = now;
    if (!isUnderWay) this.#switch();
  }

  /** The next one is shown from now on. */
  #switch(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    if (this.#shown) this.#letGo(this.#shown);
    this.#shown = this.#next;
    this.#next = undefined;
    this.#waits = true;
    this.#lastTime = undefined;
    this.switches++;
    for (const packet of held) this.#follow(packet);
  }

  /** A packet of the camera that is shown. */
  #follow(packet: VideoPacket): void {
    const now = this.#options.now();
    const isNewer = this.#lastTime === undefined || packet.time > this.#lastTime;
    if (isNewer && this.#held) {
      // The end of the frame under way is lost.
      this.leftOut++;
      this.#switch();
      return;
    }
    if (isNewer && !this.#rate.admits(now)) this.#tooMuch = true;
    if (this.#mustWait(packet, now)) {
      if (!packet.key || this.#tooMuch) return void this.#leaveOut(packet);
      this.#begin(packet, now);
    }
    if (packet.index < this.#firstIndex || packet.time < this.#firstTime) {
      this.leftOut++;
      return;
    }
    this.#forward(packet, now);
    if (packet.marker && packet.time === this.#lastTime && this.#held) this.#switch();
  }

  /** Whether it needs a key frame before it can go on. */
  #mustWait({ generation }: VideoPacket, now: number): boolean {
    if (this.#tooMuch && this.#rate.recovered(now)) {
      this.#tooMuch = false;
      this.#waits = true;
    }
    if (this.#tooMuch || generation !== this.#generation) this.#waits = true;
    return this.#waits;
  }

  /** The packet cannot be shown; a key frame is asked for, unless the picture is in parts. */
  #leaveOut({ camera, layer }: VideoPacket): void {
    this.leftOut++;
    if (!this.#tooMuch && camera !== this.#inParts) camera.askKeyFrame(layer || undefined);
  }

  /** Lets the numbers of a source go on where those of the one before ended. */
  #begin(packet: VideoPacket, now: number): void {
    const memory = this.#memory;
    const { mark } = packet;
    this.#waits = false;
    this.#generation = packet.generation;
    this.#firstIndex = packet.index;
    this.#firstTime = packet.time;
    this.#lastTime = undefined;
    const sinceMs = now + this.#options.clockZero - memory[sentAt]!;
    const units = memory[packets]! > 0 ? Math.max(1, Math.round(sinceMs * unitsPerMs)) : 0;
    this.#timeOffset = memory[timestamp]! + units - packet.time;
    this.#pictureOffset = memory[pictureId]! - mark.pictureId;
    this.#tl0Offset = memory[tl0]! - mark.tl0;
    for (const set of packet.sets) this.#insert(set, packet.time, now);
    this.#indexOffset = memory[sequence]! - packet.index;
  }

  #forward(packet: VideoPacket, now: number): void {
    const { octets: from, payloadStart, payloadEnd, marker, mark } = packet;
    const length = payloadEnd - payloadStart;
    const isEmpty = length === 0;
    const out = this.#options.room.take(headerLength + (isEmpty ? paddingOctets : length));
    if (isEmpty) out.fill(0, headerLength);
    // The usual packet has nothing but a header before its payload, which is written over.
    else if (payloadStart === headerLength && payloadEnd === from.length) out.set(from);
    else out.set(from.subarray(payloadStart, payloadEnd), headerLength);
    if (mark.pictureIdBits > 0 || mark.tl0At >= 0) this.#rewrite(out, packet);
    this.#send(out, { index: packet.index + this.#indexOffset, time: packet.time + this.#timeOffset, marker }, now);
    if (isEmpty) {
      out[0]! |= 0x20;
      out[out.length - 1] = paddingOctets;
    }
    if (this.#lastTime === undefined || packet.time > this.#lastTime) this.#lastTime = packet.time;
    this.#options.send(out);
  }

  /** Sends a parameter set before the picture that needs it, as a packet of its own (RFC 6184 5.6). */
  #insert(set: Uint8Array, time: number, now: number): void {
    const out = this.#options.room.take(headerLength + set.length);
    out.set(set, headerLength);
    this.#send(out, { index: this.#memory[sequence]!, time: time + this.#timeOffset, marker: false }, now);
    this.#options.send(out);
  }

  /** Numbers a packet and keeps it for retransmission. */
  #send(out: Uint8Array, { index, time, marker }: Pick<VideoPacket, 'index' | 'time' | 'marker'>, now: number): void {
    const memory = this.#memory;
    const { payloadType } = this.#flow!;
    const numbers = { sequence: index & 0xffff, timestamp: time % wholeTimestamp, ssrc: memory[ssrc]! };
    writeHeader(out, { marker, payloadType, ...numbers });
    if (index >= memory[sequence]!) {
      memory[sequence] = index + 1;
      this.#ended = marker;
      this.#lastAt = now;
      if (time > memory[timestamp]!) memory[timestamp] = time;
      memory[sentAt] = now + this.#options.clockZero;
    }
    memory[packets]!++;
    memory[octets]! += out.length - headerLength;
    this.#rate.took(out.length);
    this.#store.put(index, out, now);
  }

  #rewrite(out: Uint8Array, { mark, payloadStart }: VideoPacket): void {
    const memory = this.#memory;
    const ids = {
      pictureId: (mark.pictureId + this.#pictureOffset) & 0x7fff,
      tl0: (mark.tl0 + this.#tl0Offset) & 0xff,
    };
    rewriteMark(out, mark, headerLength - payloadStart, ids);
    // Those of late packets are behind.
    if (mark.pictureIdBits > 0) {
      const whole = 1 << mark.pictureIdBits;
      const ahead = (ids.pictureId + 1 - memory[pictureId]!) & (whole - 1);
      if (ahead < whole / 2) memory[pictureId] = (memory[pictureId]! + ahead) & 0x7fff;
    }
    if (mark.tl0At >= 0) {
      const ahead = (ids.tl0 + 1 - memory[tl0]!) & 0xff;
      if (ahead < 0x80) memory[tl0] = (memory[tl0]! + ahead) & 0xff;
    }
  }
}

/** A packet that may be kept. */
function copyOf(packet: VideoPacket): VideoPacket {
  return { ...packet, mark: { ...packet.mark } };
}
