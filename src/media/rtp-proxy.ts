import { isDeepStrictEqual } from 'node:util';
import { formatAddress } from '../lib/addresses.ts';
import type { EstablishedDtls } from '../lib/webrtc.ts';
import type { MediaRest, MediaSessionDump, RtpFlow, RtpSession } from '../telephony/media.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';
import type { OpenedVideo, VideoFlow, VideoStatistics } from '../telephony/video.ts';
import type { EngineReport } from './protocol.ts';
import type { PacketAddress } from './rtp/source-lock.ts';
import { memoryWord, type SessionMemory, secretWords } from './session-memory.ts';
import { SessionProxy, type SessionProxyOptions } from './session-proxy.ts';
import type { ThreadLink } from './thread-link.ts';
import { VideoLines } from './video/video-lines.ts';
import type { IceTcpEnd, IceTcpServer } from './webrtc/ice-tcp.ts';

/** How a session is opened. */
type OpenProxy = {
  /** A session of another process that is gone on with. */
  from?: MediaSessionDump | undefined;
  /** It is a browser's. */
  gathers?: boolean | undefined;
  /** Takes connections of browsers. */
  tcp?: IceTcpServer | undefined;
};

/** Lets a stream go on with the numbers that it had. */
function goOnIn(memory: SessionMemory, stream: NonNullable<MediaSessionDump['stream']>): void {
  // In the time of its thread, if that has it already.
  const zeroMs = memory[memoryWord.begun] === 1 ? memory[memoryWord.clockZero]! : stream.zeroMs;
  memory[memoryWord.begun] = 1;
  memory[memoryWord.ssrc] = stream.ssrc;
  memory[memoryWord.sequence] = stream.sequence;
  memory[memoryWord.timestamp] = stream.timestamp;
  memory[memoryWord.origin] = stream.origin + ((zeroMs - stream.zeroMs) * stream.clockRate) / 1000;
  memory[memoryWord.clockZero] = zeroMs;
  memory[memoryWord.clockRate] = stream.clockRate;
  memory[memoryWord.packets] = stream.packets;
  memory[memoryWord.octets] = stream.octets;
  for (const word of secretWords) memory[memoryWord[word]] = stream.secret?.[word] ?? 0;
}

const isBrowser = ({ standing }: MediaSessionDump): boolean =>
  standing.some((command) => command.type === 'configure' && command.flow.webrtc !== undefined);

/** The main thread's side of an RTP session. */
export class RtpProxy extends SessionProxy implements RtpSession {
  /** Set before anyone else sees the session. */
  local: RtpSession['local'] = { address: '', port: 0 };
  /** Settled once the port is open, or has failed. */
  readonly opened: Promise<void>;
  readonly #trace: SharedArrayBuffer | undefined;
  readonly #gathers: boolean;
  /** Connections by TCP; undefined where there are none. */
  readonly #tcp: IceTcpEnd | undefined;
  readonly #tcpPort: number | undefined;
  readonly #videoTrace: SessionProxyOptions['trace'];
  #videoLines: VideoLines | undefined;
  #flow: RtpFlow | undefined;
  #established: EstablishedDtls | undefined;
  #settle: { resolve(): void; reject(error: Error): void } = { resolve: () => {}, reject: () => {} };

  /** @param how a session of another process that is gone on with, or how a new one is opened. */
  constructor(options: SessionProxyOptions, link: ThreadLink, { from, gathers, tcp }: OpenProxy) {
    super(options);
    this.#gathers = gathers ?? (from !== undefined && isBrowser(from));
    this.#tcp = this.#gathers ? tcp?.open((source, packets) => this.#heardTcp(source, packets)) : undefined;
    this.#tcpPort = this.#tcp && tcp?.port;
    this.opened = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#trace = options.trace?.('audio');
    this.#videoTrace = options.trace;
    this.link = link;
    this.place = link.add(this);
    if (from) {
      if (from.local) this.local = from.local;
      this.source = from.source;
      if (from.stream) goOnIn(this.place.memory, from.stream);
    }
    this.#open();
    if (from) this.restore(from.standing);
    for (const command of from?.standing ?? []) if (command.type === 'configure') this.#flow = command.flow;
    if (this.#flow?.webrtc) this.#tcp?.use(this.#flow.webrtc);
    this.#established = this.#flow?.webrtc?.established;
    if (from?.video) this.#video.restore(from.video);
  }

  /** Its streams of video, from the first one on. */
  get #video(): VideoLines {
    const createTrace = this.#videoTrace;
    let trace: SharedArrayBuffer | undefined;
    return (this.#videoLines ??= new VideoLines({
      lives: () => (!this.ended && this.link && this.place ? { link: this.link, place: this.place } : undefined),
      trace: () => {
        trace ??= createTrace?.('video');
        return trace;
      },
    }));
  }

  configure(flow: RtpFlow): void {
    if (flow.webrtc) this.#tcp?.use(flow.webrtc);
    const before = this.#flow?.remote;
    this.#flow = this.#withKeys(flow);
    if (before && (before.address !== flow.remote.address || before.port !== flow.remote.port)) this.source = undefined;
    this.command({ type: 'configure', flow: this.#flow });
  }

  override get hasVideo(): boolean {
    return this.#videoLines?.any === true;
  }

  openVideo(stream: number, bundled = false): Promise<OpenedVideo> {
    const opened = this.#video.open(stream, bundled);
    this.mix?.videoOpened(this);
    return opened;
  }

  configureVideo(stream: number, flow: VideoFlow | undefined): void {
    this.#videoLines?.configure(stream, flow);
  }

  askKeyFrame(): void {
    this.#videoLines?.askKeyFrame();
  }

  async videoStatistics(): Promise<VideoStatistics[]> {
    return ((await this.#videoLines?.statistics()) ?? []).map((each) => this.showing(each));
  }

  override async statistics(): Promise<RtpStatistics | undefined> {
    const statistics = await super.statistics();
    return statistics && { ...statistics, ...this.#shownRemote };
  }

  /** Destination of audio: the located far side, else the address in its SDP. */
  get #shownRemote(): { remote?: string } {
    const remote = this.source ?? this.#flow?.remote;
    return remote ? { remote: formatAddress(remote) } : {};
  }

  override dump(): MediaSessionDump {
    return {
      ...super.dump(),
      ...(this.local.port > 0 && { local: this.local }),
      ...(this.#videoLines?.any && { video: this.#videoLines.dump() }),
    };
  }

  override goOn(rest: MediaRest['sessions'][number]): void {
    super.goOn(rest);
    if (rest.stream && this.place) goOnIn(this.place.memory, rest.stream);
    for (const { stream, numbers } of rest.video ?? []) this.#videoLines?.goOn(stream, numbers);
  }

  override heard(report: EngineReport): void {
    if (report.type === 'secured') this.#secured(report.established);
    else if (report.type === 'tcpSent') this.#tcp?.send(report.to, report.packets);
    else if (report.type === 'videoLocated') this.#videoLines?.located(report.stream, report.source);
    else if (report.type === 'measured')
      super.heard({ ...report, measures: { ...report.measures, ...this.#shownRemote } });
    else super.heard(report);
  }

  /** A thread or process that goes on with the session needs the keys: DTLS agrees on them once. */
  #secured(established: EstablishedDtls): void {
    this.#established = established;
    const flow = this.#flow;
    if (!flow) return;
    this.#flow = this.#withKeys(flow);
    this.keep({ type: 'configure', flow: this.#flow });
    this.changed();
  }

  #withKeys(flow: RtpFlow): RtpFlow {
    const { webrtc } = flow;
    const established = this.#established;
    if (!webrtc || !established || !isDeepStrictEqual(established.fingerprint, webrtc.fingerprint)) return flow;
    return { ...flow, webrtc: { ...webrtc, established } };
  }

  #heardTcp(from: PacketAddress, packets: readonly Uint8Array[]): void {
    if (this.place) this.link?.send({ type: 'tcp', session: this.place.session, from, packets });
  }

  override close(): void {
    super.close();
    this.#tcp?.close();
    this.#videoLines?.end('the session was closed');
  }

  override lost(reason: string): void {
    super.lost(reason);
    this.#tcp?.close();
    this.#videoLines?.end(reason);
  }

  override moveTo(link: ThreadLink): void {
    super.moveTo(link);
    this.#videoLines?.again();
  }

  override audible(): number | undefined {
    return this.ended ? undefined : this.place?.session;
  }

  protected override open(): void {
    this.#open();
  }

  protected override tellLost(reason: string): void {
    // A session that never opened has no listener: `openRtp` itself rejects.
    if (this.local.port > 0) super.tellLost(reason);
    this.#settle.reject(new Error(reason));
  }

  #open(): void {
    const { link, place, source } = this;
    const trace = this.#trace;
    if (!link || !place) return;
    const { session, slot } = place;
    const { port } = this.local;
    link
      .request(
        (request) => ({
          type: 'openRtp',
          session,
          slot,
          request,
          ...(port > 0 && { port }),
          ...(source && { source }),
          ...(trace && { trace }),
          // What was lent to another thread is lost with it.
          ...(this.#gathers && port === 0 && { gathers: true }),
        }),
        // Directly: the thread's next report needs an open session.
        (answer) => {
          const { address, port: opened, candidates = [] } = answer;
          const tcp = this.#tcpPort === undefined ? [] : [{ type: 'tcp' as const, port: this.#tcpPort }];
          const all = [...candidates, ...tcp];
          const { memory } = place;
          this.local = {
            ...{ address, port: opened },
            ...(all.length > 0 && { candidates: all }),
            ...(memory[memoryWord.begun] === 1 && { ssrc: memory[memoryWord.ssrc]! }),
          };
          this.#settle.resolve();
        },
      )
      .catch((error: Error) => {
        // In another thread by now, or about to be: that one will answer.
        if (this.place !== place || !link.alive) return;
        link.remove(place);
        this.lost(error.message);
      });
  }
}
