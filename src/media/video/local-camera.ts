import type { VideoFlow } from '../../telephony/video.ts';
import { emptyHeader, type RtpHeader, readHeader, readUint32 } from '../rtp/header.ts';
import type { Reception } from '../rtp/reception.ts';
import type { SessionMemory } from '../session-memory.ts';
import { textIn } from '../webrtc/mid.ts';
import { BitrateRequester } from './bitrate-requester.ts';
import { type Camera, leastTaken, type VideoPacket, type Viewer } from './camera.ts';
import { CameraSource, type SourceOptions } from './camera-source.ts';
import { bitrateRequest, estimatedBitrate } from './feedback.ts';
import { Layers } from './layers.ts';
import { unwrapRtx } from './rtx.ts';
import { videoWord } from './stream-memory.ts';

type LocalCameraOptions = SourceOptions & {
  session: number;
  /** 32 random bits, from which the generations of a source are counted. */
  random32: () => number;
  /** Memory of the stream's numbers. */
  memory: SessionMemory;
};

/** The camera of a far side whose packets come in here: from one source, or from one for each size (RFC 8853). */
export class LocalCamera implements Camera {
  readonly session: number;
  readonly bitrate: BitrateRequester;
  readonly #options: LocalCameraOptions;
  readonly #viewers = new Set<Viewer>();
  /** The first is the only one, unless the picture comes in several sizes. */
  readonly #sources: CameraSource[];
  readonly #header = emptyHeader();
  #flow: VideoFlow | undefined;
  layers: Layers | undefined;
  /** Packets that do not say of what size they are. */
  #unknown = 0;

  constructor(options: LocalCameraOptions) {
    const { session, config, hit } = options;
    this.session = session;
    this.#options = options;
    this.#sources = [this.#newSource(0)];
    this.bitrate = new BitrateRequester({
      ...{ everyMs: config.bitrateIntervalMs, lowest: config.lowestBitrate, hit },
      send: (bitrate) => this.#limitNow(bitrate),
    });
  }

  get live(): boolean {
    return this.#sources.some(({ live }) => live);
  }

  /** What has come from each of its sources. */
  get receptions(): readonly Reception[] {
    return this.#sources.map(({ reception }) => reception);
  }

  /** Key frames that began, and how often one was asked for; packets that are missed, asked for again, and of no use. */
  get figures(): { keyFrames: number; keyFramesAsked: number; missed: number; askedAgain: number; leftOut: number } {
    const sum = (of: (source: CameraSource) => number) => this.#sources.reduce((all, source) => all + of(source), 0);
    return {
      keyFrames: sum(({ keyFrames }) => keyFrames),
      keyFramesAsked: sum(({ keyFrameRequester }) => keyFrameRequester.asked),
      missed: sum(({ missed }) => missed.size),
      askedAgain: sum(({ missed }) => missed.asked),
      leftOut: sum(({ leftOut }) => leftOut) + this.#unknown,
    };
  }

  /** Bit/s that its far side was asked to send at most; undefined while it may send as it likes, or cannot be asked. */
  get bitrateAsked(): number | undefined {
    const { tmmbr = false, remb = false } = this.#flow?.feedback ?? {};
    return tmmbr || remb ? this.bitrate.told : undefined;
  }

  /** Sets how its packets come in. */
  configure(flow: VideoFlow): void {
    const count = flow.bundled?.simulcast?.rids.length ?? 0;
    if (count !== (this.#flow?.bundled?.simulcast?.rids.length ?? 0)) this.#resize(count);
    this.bitrate.again();
    this.#flow = flow;
    for (const source of this.#sources) source.configure(flow);
  }

  watch(viewer: Viewer): void {
    this.#viewers.add(viewer);
    this.bitrate.changed();
  }

  unwatch(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    this.bitrate.changed();
    if (this.#viewers.size === 0) for (const { missed } of this.#sources) missed.clear();
  }

  askKeyFrame(layer?: number): void {
    const now = this.#options.now();
    if (layer === undefined) for (const { keyFrameRequester } of this.#sources) keyFrameRequester.ask(now);
    else this.#sources[Math.max(0, layer - 1)]?.keyFrameRequester.ask(now);
  }

  takesChanged(): void {
    this.bitrate.changed();
  }

  /** Takes a packet of the far side into account and hands it on. */
  receive(octets: Uint8Array, header: RtpHeader, now: number): void {
    const source = this.layers ? this.#sourceOf(octets, 'layers') : this.#sources[0];
    if (source) source.receive(octets, header, now);
    else this.#unknown++;
  }

  /** Takes a retransmission in a stream of its own (RFC 4588). One of nothing that has come, or of padding, is left out. @param packet is changed. */
  repair(packet: Uint8Array, header: RtpHeader): void {
    const flow = this.#flow;
    const source = this.layers ? this.#sourceOf(packet, 'repairs') : this.#sources[0];
    const ssrc = source?.reception.ssrc;
    // What is sent again has another source than what was sent first (RFC 4588 5.3).
    if (!flow || !source || ssrc === undefined || ssrc === header.ssrc) return void this.#unknown++;
    const original = unwrapRtx(packet, header, flow.receivePayloadType ?? flow.payloadType, ssrc);
    if (original && readHeader(original, this.#header)) source.repair(original, this.#header);
  }

  /** Asks for what is due. @param now monotonic ms. */
  tick(now: number): void {
    for (const source of this.#sources) source.tick(now);
    if (this.bitrate.isChanged) this.bitrate.want(leastTaken(this, this.#viewers));
    this.bitrate.tick(now);
  }

  /** Removes all viewers. */
  close(): void {
    this.#viewers.clear();
    this.#flow = undefined;
    for (const source of this.#sources) source.configure(undefined);
  }

  /** Another number of sizes; 0: the picture comes in one. */
  #resize(count: number): void {
    this.layers = count > 0 ? new Layers() : undefined;
    this.#sources.length = 0;
    for (let source = 0; source < Math.max(1, count); source++)
      this.#sources.push(this.#newSource(count > 0 ? source + 1 : 0));
    this.bitrate.changed();
  }

  #newSource(layer: number): CameraSource {
    return new CameraSource({
      ...this.#options,
      ...{ camera: this, layer, generation: this.#options.random32() },
      begun: () => this.bitrate.again(),
      isWatched: () => this.#viewers.size > 0,
      pass: (packet) => this.#pass(packet),
    });
  }

  #pass(packet: VideoPacket): void {
    this.layers?.took(packet.layer, packet.octets.length, this.#options.now());
    for (const viewer of this.#viewers) viewer.take(packet);
  }

  /**
   * A source names its size until it is heard (RFC 8852 3.1); which it is outlives the thread. Undefined: it never did.
   * @param kind whether it sends packets first, or again.
   */
  #sourceOf(octets: Uint8Array, kind: 'layers' | 'repairs'): CameraSource | undefined {
    const { memory } = this.#options;
    const simulcast = this.#flow?.bundled?.simulcast;
    const extension = kind === 'layers' ? simulcast?.ridExtension : simulcast?.repairedExtension;
    if (!simulcast || extension === undefined) return undefined;
    const ssrc = readUint32(octets, 8);
    const words = videoWord[kind];
    for (const [index, source] of this.#sources.entries()) if (memory[words + index] === ssrc + 1) return source;
    const layer = simulcast.rids.indexOf(textIn(octets, extension) ?? '');
    if (layer >= 0) memory[words + layer] = ssrc + 1;
    return this.#sources[layer];
  }

  #limitNow(bitrate: number): boolean {
    const ssrc = this.#sources[0]?.reception.ssrc;
    const feedback = this.#flow?.feedback;
    if (ssrc === undefined || !feedback) return false;
    const { tell } = this.#options;
    const ours = this.#options.ssrc();
    if (feedback.tmmbr) tell(bitrateRequest(ours, ssrc, bitrate));
    else if (feedback.remb) tell(estimatedBitrate(ours, ssrc, bitrate));
    return true;
  }
}
