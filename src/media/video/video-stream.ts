import type { Clock } from '../../lib/clock.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { VideoFlow, VideoStatistics } from '../../telephony/video.ts';
import type { VideoConfig } from '../config.ts';
import type { PassingVideo } from '../measures.ts';
import type { Showing } from '../protocol.ts';
import { RtcpControl } from '../rtp/control.ts';
import { FarSide } from '../rtp/far-side.ts';
import { emptyHeader, readHeader } from '../rtp/header.ts';
import type { PortPair } from '../rtp/ports.ts';
import type { Displacement, PacketAddress } from '../rtp/source-lock.ts';
import { statisticsOf } from '../rtp/statistics.ts';
import { BundledPair } from '../webrtc/bundle.ts';
import {
  type BitrateBound,
  bitrateNotification,
  type FeedbackListener,
  type IntraRequests,
  readFeedback,
} from './feedback.ts';
import { LocalCamera } from './local-camera.ts';
import type { PacketRoom } from './packet-room.ts';
import { ShownStream } from './shown-stream.ts';
import { streamNumbers } from './stream-memory.ts';

type VideoStreamOptions = {
  session: number;
  stream: number;
  clock: Clock;
  config: VideoConfig;
  /** See {@link MediaConfig.natSearchMs}. */
  natSearchMs: number;
  random32: () => number;
  /** Counts limits that were reached. */
  hit: LimitHit;
  /** Memory for packets. */
  room: PacketRoom;
  /** The name that the session's audio has in RTCP. */
  cname: string | undefined;
  memory: SharedArrayBuffer;
  located: (source: PacketAddress) => void;
  /** Located address of the far side's other streams. */
  found: () => Displacement | undefined;
  /** See {@link LocalCameraOptions.keyFrameNeeded}. */
  keyFrameNeeded: () => void;
  /** See {@link ShownStreamOptions.sentInAll}. */
  sentInAll: () => number;
  /** It cannot go on: a fault of ours. */
  faulted: (error: unknown) => void;
};

/** One stream of video of a session: a pair of ports, what comes in there, and what is shown there. */
export class VideoStream {
  readonly stream: number;
  readonly camera: LocalCamera;
  readonly shown: ShownStream;
  readonly #clock: Clock;
  readonly #config: VideoConfig;
  readonly #control: RtcpControl;
  readonly #far: FarSide;
  readonly #found: VideoStreamOptions['found'];
  readonly #header = emptyHeader();
  readonly #intra: IntraRequests = { last: -1 };
  readonly #hit: LimitHit;
  #flow: VideoFlow | undefined;
  /** Packets that had passed when that was asked last. */
  #passed = 0;
  /** The far side's request that is to be confirmed. */
  #bound: BitrateBound | undefined;
  readonly #listener: FeedbackListener = {
    keyFrameAsked: () => this.shown.keyFrameAsked(),
    missed: (sequence) => this.shown.missed(sequence),
    bitrateAsked: (bitrate, bound) => {
      this.shown.bitrateAsked(bitrate, bound ? 'tmmbr' : 'remb');
      if (bound) this.#bound = bound;
    },
  };
  /** RTCP packets that may still be read in this tick. */
  #controlsLeft = 0;

  constructor(options: VideoStreamOptions) {
    const { session, stream, clock, config, random32, hit, room } = options;
    const memory = streamNumbers(options.memory);
    this.stream = stream;
    this.#clock = clock;
    this.#config = config;
    this.#found = options.found;
    this.#hit = hit;
    this.#control = new RtcpControl(clock, random32, options.cname);
    const now = () => clock.monotonic();
    this.#far = new FarSide({
      ...{ clock, memory },
      natSearchMs: options.natSearchMs,
      located: options.located,
      faulted: options.faulted,
      packet: (packet, address, port) => this.#receive(packet, address, port),
      control: (packet) => this.#receiveControl(packet),
    });
    this.shown = new ShownStream({
      config,
      now,
      clockZero: clock.now() - clock.monotonic(),
      random32,
      memory,
      hit,
      room,
      send: (packet) => this.#far.send(packet),
      copies: () => this.#far.copies,
      faulted: options.faulted,
      sentInAll: options.sentInAll,
    });
    this.camera = new LocalCamera({
      session,
      config,
      now,
      random32,
      memory,
      hit,
      ssrc: () => this.shown.ssrc,
      tell: (feedback) => this.#far.sendControl(this.#control.behindReport(this.shown, [feedback])),
      keyFrameNeeded: options.keyFrameNeeded,
    });
  }

  /** The ports, once they are bound. */
  get pair(): PortPair | undefined {
    return this.#far.pair;
  }

  /** See {@link FarSide.displaced}. */
  get displaced(): FarSide['displaced'] {
    return this.#far.displaced;
  }

  /** Begins to hear what arrives. */
  attach(pair: PortPair): void {
    this.#far.attach(pair);
  }

  /** Goes on with a far side that was found before. */
  resume(source: PacketAddress): void {
    this.#far.resume(source);
  }

  configure(flow: VideoFlow): void {
    this.#flow = flow;
    this.camera.configure(flow);
    this.shown.configure(flow);
    if (this.pair instanceof BundledPair) this.pair.carry(flow);
    this.#far.agree(flow, this.#clock.monotonic());
  }

  /** To be called once a tick. @param now monotonic ms. */
  tick(now: number): void {
    this.#controlsLeft = this.#config.controlsPerTick;
    if (!this.#flow) return;
    this.#far.seek(this.#found);
    this.camera.tick(now);
    this.shown.tick(now);
    this.#confirm();
    this.#tellArrivals(now);
    if (this.#control.due(now)) this.#far.sendControl(this.#control.report(this.shown, ...this.camera.receptions));
  }

  /** Figures so far; undefined while nothing flows. */
  statistics(): Showing<VideoStatistics> | undefined {
    const flow = this.#flow;
    if (!flow) return undefined;
    const { camera, shown, stream } = this;
    const { clockRate, unseen } = shown;
    const { keyFrames, keyFramesAsked, askedAgain, leftOut } = camera.figures;
    return {
      ...statisticsOf({ sender: shown, control: this.#control, receptions: camera.receptions, clockRate, late: 0 }),
      stream,
      codec: flow.codec,
      key_frames: keyFrames,
      key_frames_asked: keyFramesAsked,
      ...(camera.bitrateAsked !== undefined && { bitrate_asked: camera.bitrateAsked }),
      ...(shown.bitrateTaken !== Number.POSITIVE_INFINITY && { bitrate_taken: shown.bitrateTaken }),
      bitrate_sent: Math.round(shown.layers.sent),
      ...(shown.camera && shown.layers.sizeOf(shown.camera)),
      sent_again: shown.sentAgain,
      asked_again: askedAgain,
      ...(shown.current !== undefined && { shown: shown.current }),
      ...(unseen !== undefined && shown.camera && { awaited: shown.camera.session, unseen }),
      switches: shown.switches,
      left_out: shown.leftOut + leftOut,
    };
  }

  /** The same where something has passed since this was asked last, and how it flows. */
  passing(): PassingVideo | undefined {
    const statistics = this.statistics();
    const flow = this.#flow;
    if (!statistics || !flow) return undefined;
    const before = this.#passed;
    this.#passed = statistics.rxcount + statistics.txcount;
    return this.#passed === before ? undefined : { flow, statistics };
  }

  /** Ends it with BYE. Its ports can then be released. */
  close(): void {
    if (this.shown.packets > 0) this.#far.sendControl(this.#control.bye(this.shown));
    this.#far.close();
    this.camera.close();
    this.shown.close();
  }

  /** A request for a lower bit rate is confirmed, at most once a tick (RFC 5104 4.2.2). */
  #confirm(): void {
    if (!this.#bound) return;
    const notification = bitrateNotification(this.shown.ssrc, this.#bound);
    this.#bound = undefined;
    this.#far.sendControl(this.#control.behindReport(this.shown, [notification]));
  }

  /** Tells when packets came that are numbered in their transport. */
  #tellArrivals(now: number): void {
    if (!(this.pair instanceof BundledPair)) return;
    const due = this.pair.dueFeedback(this.shown.ssrc, now);
    if (due.length > 0) this.#far.sendControl(this.#control.behindReport(this.shown, due));
  }

  #receive(packet: Uint8Array, address: string, port: number): void {
    const flow = this.#flow;
    const header = this.#header;
    if (flow) this.#far.greeted(address, port, this.#found);
    if (!flow || !readHeader(packet, header)) return;
    const isRepair = header.payloadType === flow.rtx?.receivePayloadType;
    if (!isRepair && header.payloadType !== (flow.receivePayloadType ?? flow.payloadType)) return;
    const now = this.#clock.monotonic();
    if (!this.#far.admits(address, port, header, now)) return;
    if (isRepair) this.camera.repair(packet, header);
    else this.camera.receive(packet, header, now);
  }

  #receiveControl(packet: Uint8Array): boolean {
    if (this.#controlsLeft <= 0) {
      this.#hit('media.video.control_packets');
      return false;
    }
    this.#controlsLeft--;
    this.#control.remoteFraction = undefined;
    const isReport = this.#control.receive(packet, this.shown, this.camera.receptions);
    if (this.#control.remoteFraction !== undefined) this.shown.lost(this.#control.remoteFraction);
    const target = { ssrc: this.shown.ssrc, intra: this.#intra, mostMissed: this.#config.resendPackets };
    readFeedback(packet, target, this.#listener);
    return isReport;
  }
}
