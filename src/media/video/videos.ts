import type { Clock } from '../../lib/clock.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Logger } from '../../lib/log.ts';
import { RtpTraceWriter } from '../../lib/rtp-trace.ts';
import type { MediaSource } from '../../telephony/media.ts';
import type { VideoFlow, VideoStatistics } from '../../telephony/video.ts';
import type { MediaConfig } from '../config.ts';
import type { PassingVideo } from '../measures.ts';
import type { PipePlan } from '../pipe/pipe-wire.ts';
import type { Pipes } from '../pipe/pipes.ts';
import type { WakeUps } from '../pipe/wake-up.ts';
import type { EngineReport, Showing } from '../protocol.ts';
import { noPortFree, type PortPair, type PortPool } from '../rtp/ports.ts';
import type { Displacement } from '../rtp/source-lock.ts';
import { tracedPair, traceOf } from '../rtp/traced-pair.ts';
import { type Bundle, BundledPair } from '../webrtc/bundle.ts';
import type { VideoMember } from './camera.ts';
import { Forwarder } from './forwarder.ts';
import { PacketRoom } from './packet-room.ts';
import { streamNumbers } from './stream-memory.ts';
import { VideoPipeMeeting, VideoPipeMember } from './video-pipes.ts';
import { VideoSide } from './video-side.ts';
import { VideoStream } from './video-stream.ts';
import { VideoWire } from './video-wire.ts';

type VideosOptions = {
  config: MediaConfig;
  clock: Clock;
  log: Logger;
  random32: () => number;
  ports: PortPool;
  pipes: Pipes;
  wakeUps: WakeUps;
  report: (report: EngineReport) => void;
  /** Counts limits that were reached. */
  hit: LimitHit;
};

/** How a stream is opened. */
export type OpenVideo = {
  stream: number;
  /** Memory of its numbers; a stream that has begun continues. */
  memory: SharedArrayBuffer;
  /** It shares the port of the audio. */
  bundled?: boolean | undefined;
  /** The port it had before; absent = any. */
  port?: number | undefined;
  /** The far side that was found before. */
  source?: MediaSource | undefined;
  /** The name that the session's audio has in RTCP. */
  cname?: string | undefined;
  /** Says where the audio's far side was found: video is sought there, too. And what may share the audio's transport. */
  audio?: {
    readonly displaced: Displacement | undefined;
    readonly bundle: Bundle;
    readonly pair: PortPair | undefined;
  };
  /** Takes the heads of the packets of all its streams. */
  trace?: SharedArrayBuffer | undefined;
};

/** A stream in the transport of the audio. @throws Error when the audio has no port. */
function bundledPair(
  { audio, memory, port = audio?.pair?.rtp.port }: OpenVideo,
  traced: { clock: Clock; writer: RtpTraceWriter } | undefined,
): BundledPair {
  if (!audio || port === undefined) throw new Error('the session has no port to share');
  const trace = traced && traceOf(traced.writer, traced.clock, port);
  return audio.bundle.open({ memory: streamNumbers(memory), port, trace });
}

type PipeSide = VideoPipeMeeting | VideoPipeMember;

/** All video streams of one thread, and stand-ins for those of others. */
export class Videos {
  readonly #options: VideosOptions;
  readonly #room = new PacketRoom();
  /** Of sessions that live here. */
  readonly #sides = new Map<number, VideoSide>();
  /** Sides of pipes, by the number of their session here, and how they are no longer woken. */
  readonly #pipes = new Map<number, { side: PipeSide; end: () => void }>();
  readonly #memberOf = (session: number): VideoMember | undefined => {
    const pipe = this.#pipes.get(session)?.side;
    return pipe instanceof VideoPipeMember ? pipe : this.#sides.get(session);
  };

  constructor(options: VideosOptions) {
    this.#options = options;
  }

  /** The forwarder of a mix. */
  forwarder(mix: number): Forwarder {
    const { config, report } = this.#options;
    return new Forwarder({ mix, config: config.video, memberOf: this.#memberOf, report });
  }

  /** Opens a stream with ports of its own. @throws Error when there are none, or it was closed meanwhile. */
  async open(session: number, open: OpenVideo): Promise<{ address: string; port: number }> {
    const { ports, config, clock, hit } = this.#options;
    const side = this.#sideOf(session);
    if (side.streams.has(open.stream)) throw new Error('the stream is open already');
    if (side.streams.size >= config.video.streams) {
      hit('media.video.streams');
      throw new Error('the session has no free video stream');
    }
    const stream = this.#newStream(session, open);
    side.opened(stream);
    const address = config.announcedAddress ?? config.address;
    if (open.trace) side.trace ??= new RtpTraceWriter(open.trace, address);
    let pair: PortPair;
    try {
      pair = open.bundled
        ? bundledPair(open, side.trace && { clock, writer: side.trace })
        : await (open.port === undefined ? ports.acquire() : ports.acquireAt(open.port));
    } catch (error) {
      if ((error as Error).message.startsWith(noPortFree)) hit('media.rtp_ports');
      this.#closeStream(session, stream);
      throw error;
    }
    if (this.#sides.get(session)?.streams.get(open.stream) !== stream) {
      this.#release(pair);
      throw new Error('the stream was closed while it was opened');
    }
    stream.attach(side.trace && !open.bundled ? tracedPair(pair, side.trace, clock) : pair);
    return { address, port: pair.rtp.port };
  }

  /** Sets how a stream flows; undefined = it is closed. */
  configure(session: number, number: number, flow: VideoFlow | undefined): void {
    const stream = this.#sides.get(session)?.streams.get(number);
    if (!stream) return;
    if (flow) this.#guard(session, stream, () => stream.configure(flow));
    else this.#closeStream(session, stream);
  }

  /** The far side needs key frames of all that it is shown. */
  askKeyFrame(session: number): void {
    for (const { shown } of this.#sides.get(session)?.streams.values() ?? []) shown.keyFrameAsked();
  }

  /** Figures of the streams that flow, in their order. */
  statistics(session: number): Showing<VideoStatistics>[] {
    const streams = [...(this.#sides.get(session)?.streams.values() ?? [])];
    return streams
      .map((stream) => stream.statistics())
      .filter((statistics) => statistics !== undefined)
      .sort((one, other) => one.stream - other.stream);
  }

  /** Streams in which something has passed since this was asked last, in their order. */
  passing(session: number): PassingVideo[] {
    const streams = [...(this.#sides.get(session)?.streams.values() ?? [])];
    return streams
      .map((stream) => stream.passing())
      .filter((passing) => passing !== undefined)
      .sort((one, other) => one.statistics.stream - other.statistics.stream);
  }

  /** Lets video pass between a session and a mix that are not in the same thread. */
  openPipe(session: number, plan: PipePlan, at: 'session' | 'mix', beside: number): void {
    const { wakeUps, hit, pipes, clock } = this.#options;
    const now = () => clock.monotonic();
    this.closePipe(session);
    const wire = new VideoWire(plan, wakeUps, hit);
    const side =
      at === 'mix'
        ? new VideoPipeMember(session, wire, now)
        : new VideoPipeMeeting(this.#sideOf(session), beside, wire, now);
    const end = pipes.watch(plan.pipe, () => this.#guardPipe(session, () => side.wake()));
    this.#pipes.set(session, { side, end });
  }

  /** @param beside only the one beside that pipe of audio, when it is given. */
  closePipe(session: number, beside?: number): void {
    const pipe = this.#pipes.get(session);
    if (!pipe || (beside !== undefined && (!(pipe.side instanceof VideoPipeMeeting) || pipe.side.beside !== beside)))
      return;
    this.#pipes.delete(session);
    pipe.end();
    pipe.side.close();
  }

  /** To be called once a tick, before forwarders are. @param now monotonic ms. */
  tick(now: number): void {
    for (const [session, side] of this.#sides)
      for (const stream of side.streams.values()) this.#guard(session, stream, () => stream.tick(now));
    for (const [session, { side }] of this.#pipes) this.#guardPipe(session, () => side.tick());
  }

  /** A session of any kind has ended. */
  close(session: number): void {
    this.closePipe(session);
    for (const stream of [...(this.#sides.get(session)?.streams.values() ?? [])]) this.#closeStream(session, stream);
    this.#sides.delete(session);
  }

  #sideOf(session: number): VideoSide {
    const known = this.#sides.get(session);
    if (known) return known;
    const side = new VideoSide();
    this.#sides.set(session, side);
    return side;
  }

  #newStream(session: number, { stream: number, memory, source, cname, audio }: OpenVideo): VideoStream {
    const { config, clock, random32, report, hit } = this.#options;
    const stream: VideoStream = new VideoStream({
      ...{
        session,
        stream: number,
        clock,
        random32,
        hit,
        room: this.#room,
        memory,
        cname,
        config: config.video,
        natSearchMs: config.natSearchMs,
      },
      located: (found) => report({ type: 'videoLocated', session, stream: number, source: found }),
      found: () => audio?.displaced ?? this.#sides.get(session)?.streams.get(0)?.displaced,
      keyFrameNeeded: () => report({ type: 'keyFrameNeeded', session }),
      sentInAll: () => {
        let sent = 0;
        for (const { shown } of this.#sides.get(session)?.streams.values() ?? []) sent += shown.layers.sent;
        return sent;
      },
      faulted: (error) => this.#fault(session, stream, error),
    });
    if (source) stream.resume(source);
    return stream;
  }

  #closeStream(session: number, stream: VideoStream): void {
    const streams = this.#sides.get(session)?.streams;
    if (streams?.get(stream.stream) === stream) streams.delete(stream.stream);
    stream.close();
    if (stream.pair) this.#release(stream.pair);
  }

  /** The port of a bundle is its audio's. */
  #release(pair: PortPair): void {
    if (pair instanceof BundledPair) pair.rtp.close();
    else this.#options.ports.release(pair);
  }

  #guard(session: number, stream: VideoStream, fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.#fault(session, stream, error);
    }
  }

  /** A mistake of ours in one stream ends that stream and no other. */
  #fault(session: number, stream: VideoStream, error: unknown): void {
    this.#options.log.error({ error, session, stream: stream.stream }, 'a stream of video failed');
    this.#closeStream(session, stream);
  }

  #guardPipe(session: number, fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.#options.log.error({ error, session }, 'a pipe of video failed');
      this.closePipe(session);
    }
  }
}
