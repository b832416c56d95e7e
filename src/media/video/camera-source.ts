import type { LimitHit } from '../../lib/limit-counts.ts';
import type { VideoCodec, VideoFlow } from '../../telephony/video.ts';
import type { VideoConfig } from '../config.ts';
import { type RtpHeader, sequenceDistance, timestampDistance } from '../rtp/header.ts';
import { Reception } from '../rtp/reception.ts';
import { type Camera, emptyPacket, type VideoPacket } from './camera.ts';
import { intraRequest, missing, pictureLoss } from './feedback.ts';
import { nal, parameterSets } from './h264.ts';
import { KeyFrameRequester } from './key-frame-requester.ts';
import { MissedPackets } from './missed-packets.ts';
import { readMark } from './read-mark.ts';

/** What a camera and its sources share. */
export type SourceOptions = {
  config: VideoConfig;
  /** Monotonic time in ms. */
  now: () => number;
  /** Counts limits that were reached. */
  hit: LimitHit;
  /** Our SSRC, which feedback names. */
  ssrc: () => number;
  /** Tells the far side something by RTCP. */
  tell: (feedback: Uint8Array) => void;
  /** A key frame is wanted of a far side that takes no RTCP feedback which asks for one. */
  keyFrameNeeded: () => void;
};

type CameraSourceOptions = SourceOptions & {
  camera: Camera;
  /** See {@link VideoPacket.layer}. */
  layer: number;
  /** First number of its generations: different for each source. */
  generation: number;
  /** Whether anybody watches. */
  isWatched: () => boolean;
  /** A new stream has begun. */
  begun: () => void;
  /** Hands a packet to the viewers. */
  pass: (packet: VideoPacket) => void;
};

/** Units of timestamps of video per ms (90 kHz). */
export const unitsPerMs = 90;
/** A timestamp step this far from the elapsed time is a new timeline, in ms. */
const longestJumpMs = 10_000;
/** Numbers that are remembered so that a packet that comes twice is known. More than RFC 3550 lets a packet be late by. */
const remembered = 256;
/** Octets of a parameter set that are kept. */
const longestSet = 512;
const noSets: readonly Uint8Array[] = [];

/** One source of RTP of a camera: all of its packets, or those of one size of its picture. */
export class CameraSource {
  readonly reception = new Reception();
  readonly missed: MissedPackets;
  readonly keyFrameRequester: KeyFrameRequester;
  readonly #options: CameraSourceOptions;
  readonly #packet: VideoPacket;
  readonly #seen = new Float64Array(remembered);
  #flow: VideoFlow | undefined;
  #starts = 0;
  /** The newest packet: its numbers, and when it came. */
  #highest = 0;
  #time = 0;
  #heardAt = Number.NEGATIVE_INFINITY;
  #intraRequests = 0;
  /** H.264: the parameter sets that came last, and the frame they came with. */
  #sets: { sps: Uint8Array | undefined; pps: Uint8Array | undefined; time: number } | undefined;
  #pictureTime: number | undefined;
  /** H.264: the parameter sets that its description told. */
  #toldSets: { sps: readonly Uint8Array[]; pps: readonly Uint8Array[] } = { sps: [], pps: [] };
  /** Key frames that began, and packets that made no sense or came twice. */
  keyFrames = 0;
  leftOut = 0;

  constructor(options: CameraSourceOptions) {
    const { config, camera, layer } = options;
    this.#options = options;
    this.#packet = emptyPacket(camera, layer);
    this.#packet.generation = options.generation;
    this.missed = new MissedPackets(config.resendPackets, options.hit);
    this.keyFrameRequester = new KeyFrameRequester(config.keyFramesPerSecond, () => this.#askNow());
  }

  get live(): boolean {
    return this.#flow?.receive === true && this.#options.now() - this.#heardAt < this.#options.config.sourceTimeoutMs;
  }

  /** Sets how its packets come in; undefined: they do not. */
  configure(flow: VideoFlow | undefined): void {
    if (flow && this.#flow && this.#flow.codec !== flow.codec) this.#begin();
    this.#flow = flow;
    const sets = (flow?.h264?.parameterSets ?? []).map((set) => new Uint8Array(Buffer.from(set, 'base64')));
    const of = (wanted: number) => sets.filter(([first = 0]) => (first & 0x1f) === wanted);
    this.#toldSets = { sps: of(nal.sps), pps: of(nal.pps) };
  }

  /** Takes a packet of the far side into account and hands it on. */
  receive(octets: Uint8Array, header: RtpHeader, now: number): void {
    const flow = this.#flow;
    if (!flow) return;
    const { reception } = this;
    const { sequence, timestamp } = header;
    if (!reception.receive(header, Math.floor(now * unitsPerMs))) return;
    if (reception.starts !== this.#starts || this.#jumped(timestamp, now)) this.#begin();
    const isFirst = this.#highest === 0;
    // Far from 0, so that those before the first have numbers too.
    if (isFirst) this.#highest = 0x1_0000 + sequence - 1;
    const index = this.#highest + sequenceDistance(this.#highest & 0xffff, sequence);
    if (this.#isKnown(index)) return;
    const time = isFirst ? timestamp : this.#time + timestampDistance(this.#time % 0x1_0000_0000, timestamp);
    if (index > this.#highest) {
      if (!isFirst) this.#skipTo(index, now);
      this.#highest = index;
      this.#time = time;
      this.#heardAt = now;
    } else this.missed.came(index);
    this.#handOn(octets, header, { index, time });
  }

  /**
   * Takes a packet that has come again in a stream of its own: it counts as lost (RFC 4588 section 4). Only one of the last
   * 256 numbers is used, and each once: browsers probe by repeating what has come.
   */
  repair(octets: Uint8Array, header: RtpHeader): void {
    const highest = this.#highest;
    const index = highest + sequenceDistance(highest & 0xffff, header.sequence);
    if (highest === 0 || index >= highest || index <= highest - remembered) this.leftOut++;
    else if (!this.#isKnown(index)) {
      this.missed.came(index);
      const time = this.#time + timestampDistance(this.#time % 0x1_0000_0000, header.timestamp);
      this.#handOn(octets, header, { index, time });
    }
  }

  /** Hands a new packet to the viewers, if it makes sense. */
  #handOn(octets: Uint8Array, header: RtpHeader, { index, time }: Pick<VideoPacket, 'index' | 'time'>): void {
    const flow = this.#flow;
    const packet = this.#packet;
    if (!flow?.receive || !this.#read(flow.codec, octets, header, time)) return;
    packet.octets = octets;
    packet.payloadStart = header.payloadStart;
    packet.payloadEnd = header.payloadEnd;
    packet.marker = header.marker;
    packet.index = index;
    packet.time = time;
    if (packet.key) {
      this.keyFrames++;
      this.keyFrameRequester.arrived();
      this.missed.before(index);
    }
    this.#options.pass(packet);
  }

  /** Packets between the highest so far and this one are missing. */
  #skipTo(index: number, now: number): void {
    if (index > this.#highest + 1 && this.#options.isWatched()) this.missed.skipped(this.#highest + 1, index, now);
  }

  /** Asks for what is due. @param now monotonic ms. */
  tick(now: number): void {
    this.keyFrameRequester.tick(now);
    if (this.missed.size === 0) return;
    const due = this.missed.due(now);
    const { ssrc } = this.reception;
    if (due.length === 0 || ssrc === undefined || !this.#flow?.feedback.nack) return;
    this.#options.tell(
      missing(
        this.#options.ssrc(),
        ssrc,
        due.map((index) => index & 0xffff),
      ),
    );
  }

  /** Starts a new stream. */
  #begin(): void {
    this.#starts = this.reception.starts;
    this.#options.begun();
    this.#packet.generation = (this.#packet.generation + 1) >>> 0;
    this.#highest = 0;
    this.#seen.fill(0);
    this.#sets = undefined;
    this.#pictureTime = undefined;
    this.missed.clear();
  }

  #jumped(timestamp: number, now: number): boolean {
    if (this.#highest === 0) return false;
    const stepMs = timestampDistance(this.#time % 0x1_0000_0000, timestamp) / unitsPerMs;
    return Math.abs(stepMs - (now - this.#heardAt)) > longestJumpMs;
  }

  #isKnown(index: number): boolean {
    const slot = index % remembered;
    if (this.#seen[slot]! >= index) {
      this.leftOut++;
      return true;
    }
    this.#seen[slot] = index;
    return false;
  }

  /** Reads what the packet says about frames; false when it cannot be shown to anybody. */
  #read(codec: VideoCodec, octets: Uint8Array, header: RtpHeader, time: number): boolean {
    const packet = this.#packet;
    const { payloadStart, payloadEnd } = header;
    packet.codec = codec;
    packet.sets = noSets;
    // Padding alone: it keeps its place among the numbers.
    if (payloadStart === payloadEnd) {
      packet.key = false;
      packet.mark.pictureIdBits = 0;
      packet.mark.tl0At = -1;
      return true;
    }
    if (!readMark(codec, octets, header, packet.mark)) {
      this.leftOut++;
      return false;
    }
    packet.key = packet.mark.key;
    if (codec === 'h264') this.#readSets(octets, payloadStart, payloadEnd, time);
    return true;
  }

  /** H.264 pictures without parameter sets get the earlier or the signalled ones. */
  #readSets(octets: Uint8Array, start: number, end: number, time: number): void {
    const packet = this.#packet;
    parameterSets(octets, start, end, (type, from, to) => {
      this.#sets ??= { sps: undefined, pps: undefined, time };
      this.#sets.time = time;
      if (to - from <= longestSet) this.#sets[type === nal.sps ? 'sps' : 'pps'] = octets.slice(from, to);
    });
    if (!packet.mark.idr || packet.key || this.#sets?.time === time || this.#pictureTime === time) return;
    this.#pictureTime = time;
    packet.key = true;
    const { sps, pps } = this.#sets ?? {};
    packet.sets = [...(sps ? [sps] : this.#toldSets.sps), ...(pps ? [pps] : this.#toldSets.pps)];
  }

  #askNow(): boolean {
    const { ssrc } = this.reception;
    const feedback = this.#flow?.feedback;
    if (ssrc === undefined || !feedback) return false;
    if (!feedback.pli && !feedback.fir) {
      this.#options.keyFrameNeeded();
      return true;
    }
    const ours = this.#options.ssrc();
    this.#options.tell(feedback.pli ? pictureLoss(ours, ssrc) : intraRequest(ours, ssrc, ++this.#intraRequests & 0xff));
    return true;
  }
}
