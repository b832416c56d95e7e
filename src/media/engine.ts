import type { Clock } from '../lib/clock.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { RtpTraceWriter } from '../lib/rtp-trace.ts';
import type { ExternalRequest } from '../telephony/external.ts';
import type { AudioDirection, MixCommand, RtpSession, SessionCommand } from '../telephony/media.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';
import type { VideoStatistics } from '../telephony/video.ts';
import type { MediaConfig } from './config.ts';
import { Detectors } from './detectors.ts';
import type { End } from './end.ts';
import { applyToNone, notPlayed } from './ended-sessions.ts';
import { openExternalEnd } from './external/open-external.ts';
import { streamUsage } from './external/stream-end.ts';
import { WebSocketEnd } from './external/web-socket-end.ts';
import { noWires, type Wires } from './external/wires.ts';
import type { AudioLoader } from './item-loader.ts';
import { LocalEnd } from './local-end.ts';
import { Measures } from './measures.ts';
import { Mixing } from './mix.ts';
import { Overhearers } from './overhearers.ts';
import { PipeEnd } from './pipe/pipe-end.ts';
import type { PipePlan } from './pipe/pipe-wire.ts';
import { Pipes } from './pipe/pipes.ts';
import { newWakeUp, noWakeUps, type WakeUps } from './pipe/wake-up.ts';
import type {
  EngineReport,
  MediaCommand,
  MediaUsage,
  OpenRtp,
  OverhearCommand,
  RelayedIn,
  Showing,
  TcpPackets,
} from './protocol.ts';
import { Recorders, type RecordersOptions } from './recorders.ts';
import { PortPool } from './rtp/ports.ts';
import { RtpEnd } from './rtp/rtp-end.ts';
import type { Sockets } from './rtp/sockets.ts';
import { tracedPair } from './rtp/traced-pair.ts';
import { ownMemory, type SessionMemory } from './session-memory.ts';
import { SnoopEnd } from './snoop-end.ts';
import { Snoops } from './snoops.ts';
import type { Tap } from './talk-tap.ts';
import { Ticker, tickMs } from './ticker.ts';
import { type OpenVideo, Videos } from './video/videos.ts';
import { gatheringOn } from './webrtc/gathering.ts';

export type MediaEngineOptions = {
  config: MediaConfig;
  clock: Clock;
  log: Logger;
  sockets: Sockets;
  /** Connections to servers; none when left out. */
  wires?: Wires;
  loader: AudioLoader;
  /** 32 random bits, unpredictable to others. */
  random32: () => number;
  /** Ours, which other threads ring, and how wake-ups are rung; no pipes work without. */
  wakeUp?: SharedArrayBuffer;
  wakeUps?: WakeUps;
  /** Its place among the threads: each ticks at a time of its own, and first takes RTP ports of its own share. */
  place?: { at: number; of: number };
  /** Registry of open recording files. */
  files?: RecordersOptions['files'];
  /** Hears what happens; called from inside commands, packets and ticks. */
  report: (report: EngineReport) => void;
  /** Whether a session may report more: connections are not read meanwhile. */
  mayTell?: (session: number) => boolean;
  /** Counts limits that were reached. */
  hit?: LimitHit;
};

/** Skipped ticks are not logged more often than this, in ms. */
const skippedWarningMs = 10_000;

/** All ends, mixes and taps of one thread, and the one tick that drives them. Knows nothing of threads. */
export class MediaEngine {
  readonly #options: MediaEngineOptions;
  readonly #ports: PortPool;
  readonly #ticker: Ticker;
  readonly #ends = new Map<number, End>();
  readonly #mixes = new Map<number, Mixing>();
  readonly #taps = new Set<Tap>();
  readonly #detectors: Detectors;
  readonly recorders: Recorders;
  readonly #overhearers: Overhearers;
  readonly #pipes: Pipes;
  readonly #measures: Measures;
  readonly #snoops: Snoops;
  readonly #videos: Videos;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: MediaEngineOptions) {
    this.#options = options;
    const { config, clock, sockets, random32, report, place = { at: 0, of: 1 }, hit = uncounted } = options;
    this.#ports = new PortPool({
      ...{ clock, sockets, random32, share: place, hit, browsers: config.webrtc },
      ...{ address: config.address, range: config.ports, drainMs: config.portDrainMs },
    });
    this.recorders = new Recorders({ taps: this.#taps, random32, config, files: options.files, report });
    this.#overhearers = new Overhearers(this.#taps, report);
    this.#detectors = new Detectors(this.#taps, config.toneZone, report);
    const { log, wakeUp = newWakeUp(0), wakeUps = noWakeUps } = options;
    this.#pipes = new Pipes({ clock, wakeUp, wakeUps, failed: (end, error) => this.#fault(end.session, error) });
    this.#snoops = new Snoops(({ session }, error) => this.#fault(session, error));
    this.#videos = new Videos({
      ...{ config, clock, log, random32, report, wakeUps, hit },
      ...{ ports: this.#ports, pipes: this.#pipes },
    });
    const passingVideo = (session: number) => this.#videos.passing(session);
    this.#measures = new Measures({ everyMs: config.measureMs, report, passingVideo });
    this.#ticker = new Ticker(clock, (now, skipped) => this.#tick(now, skipped), (place.at * tickMs) / place.of);
  }

  /**
   * Opens a session with a port of its own; what is asked of it meanwhile holds.
   * @throws Error when no port is free or the session was closed meanwhile.
   */
  async openRtp(
    session: number,
    { memory = ownMemory(), port, source, trace, gathers }: OpenRtp = {},
  ): Promise<RtpSession['local']> {
    const { config, random32 } = this.#options;
    const { rtpTimeoutMs, keepalive, natSearchMs, opus, webrtc } = config;
    const faulted = (error: unknown) => this.#fault(session, error);
    const end = new RtpEnd({
      ...this.#endOptions(session, memory),
      ...{ random32, rtpTimeoutMs, keepalive, natSearchMs, opus, webrtc, faulted },
    });
    if (source) end.resume(source);
    this.#add(end);
    try {
      const pair = await this.#ports.take({ port, gathers });
      if (this.#ends.get(session) !== end) {
        this.#ports.release(pair);
        throw new Error('the session was closed while it was opened');
      }
      const address = config.announcedAddress ?? config.address;
      const writer = trace && new RtpTraceWriter(trace, address);
      const gathering = gatheringOn(pair.rtp, gathers ? webrtc?.gathering : undefined, session, this.#options);
      const isOthers = (packet: Uint8Array) => end.far.isBeside(packet);
      end.far.attach(writer ? tracedPair(pair, writer, this.#options.clock, isOthers) : pair, gathering);
      const candidates = await gathering?.open();
      if (this.#ends.get(session) !== end) throw new Error('the session was closed while it was opened');
      return { address, port: pair.rtp.port, ...(candidates && { candidates }) };
    } catch (error) {
      if (this.#ends.get(session) === end) this.#close(session, reasonOf(error));
      throw error;
    }
  }

  /** Opens a stream of video of a session. @throws Error when no port is free or either was closed meanwhile. */
  async openVideo(session: number, open: OpenVideo): Promise<{ address: string; port: number }> {
    const end = this.#ends.get(session);
    if (!end) throw new Error('the session was closed');
    return this.#videos.open(session, { ...open, ...(end instanceof RtpEnd && { cname: end.cname, audio: end.far }) });
  }

  /** Lets video pass between a session and a mix, one of which is in another thread. */
  openVideoPipe({ session, plan, at, beside }: Extract<MediaCommand, { type: 'openVideoPipe' }>): void {
    if (this.#ends.has(session)) this.#videos.openPipe(session, plan, at, beside);
  }

  /** Figures of a session's streams of video. */
  videoStatistics(session: number): Showing<VideoStatistics>[] {
    return this.#videos.statistics(session);
  }

  /** Opens half of a local pair; `peer` is the number of the other half, when that is open. */
  openLocal(session: number, memory: SessionMemory = ownMemory(), peer?: number): void {
    const end = new LocalEnd(this.#endOptions(session, memory));
    this.#add(end);
    const other = peer === undefined ? undefined : this.#ends.get(peer);
    if (other instanceof LocalEnd) end.pair(other);
  }

  /** Opens a session between the sides of a target; without the target it fails. */
  openSnoop(
    session: number,
    target: number,
    { spy, whisper }: { spy: AudioDirection; whisper: AudioDirection },
    memory: SessionMemory = ownMemory(),
  ): void {
    const found = this.#ends.get(target);
    if (!found) {
      this.#options.report({ type: 'faulted', session, reason: 'the session has ended' });
      return;
    }
    const end = new SnoopEnd({ ...this.#endOptions(session, memory), target: found, spy, whisper });
    this.#snoops.add(found, end);
    this.#add(end);
  }

  /** Opens a session that is connected to a server; it faults when that cannot be, or is over. */
  openExternal(session: number, request: ExternalRequest, memory: SessionMemory = ownMemory()): void {
    const { config, wires = noWires, mayTell = () => true } = this.#options;
    const options = {
      ...this.#endOptions(session, memory),
      bounds: config.external,
      opus: config.opus,
      mayTell: () => mayTell(session),
      lost: (reason: string) => this.#end(session, reason),
    };
    this.#add(openExternalEnd(options, request, wires));
  }

  /** Handles a message of a session's WebSocket in the main thread; ignored without the session. */
  relay(session: number, relay: RelayedIn): void {
    const found = this.#ends.get(session);
    try {
      if (found instanceof WebSocketEnd) found.relayed(relay);
    } catch (error) {
      this.#fault(session, error);
    }
  }

  /** Lets a session meet a mix of another thread. */
  openPipe(session: number, plan: PipePlan): void {
    const end = this.#ends.get(session);
    if (!end) return;
    for (const mix of this.#mixes.values()) mix.leave(end);
    this.#pipes.enter(end, plan);
  }

  /** @param pipe the pipe to close; another stays. */
  closePipe(session: number, pipe: number): void {
    const end = this.#ends.get(session);
    if (end) this.#pipes.leave(end, pipe);
    this.#videos.closePipe(session, pipe);
  }

  /** Opens what stands for a session of another thread in mixes of this one. */
  openPipeEnd(session: number, plan: PipePlan): void {
    this.#add(this.#pipes.open(this.#endOptions(session, ownMemory()), plan));
  }

  openMix(mix: number, kind: 'mixing' | 'holding'): void {
    this.#mixes.set(mix, new Mixing({ ...this.#options, mix, kind, video: this.#videos.forwarder(mix) }));
    this.#ticker.start();
  }

  /** Adds a listener to a session; ignored without the session. */
  overhear({ session, ...command }: OverhearCommand & { session: number }): void {
    const end = this.#ends.get(session);
    if (end) this.#overhearers.apply(end, command);
  }

  /** Carries out a command; one for a session that is not (or no longer) there is ignored. */
  apply(command: (SessionCommand | TcpPackets) & { session: number }): void {
    const { session } = command;
    if (command.type === 'close') {
      this.#close(session);
      return;
    }
    const end = this.#ends.get(session);
    if (!end) {
      applyToNone(command, this.#options.report);
      return;
    }
    try {
      this.#applyToEnd(end, command);
    } catch (error) {
      this.#fault(session, error);
    }
  }

  /** Carries out a command for a mix; the same holds. */
  applyToMix(mix: number, command: MixCommand): void {
    const found = this.#mixes.get(mix);
    if (!found) {
      if (command.type === 'play') this.#options.report({ ...notPlayed, type: 'mixPlayed', mix, play: command.play });
      return;
    }
    this.#ticker.start();
    try {
      this.#applyToMixing(found, command);
    } catch (error) {
      this.#faultMix(mix, error);
    }
  }

  /** Sends and reads nothing until {@link goOn}. */
  hold(): void {
    this.#ticker.hold();
    this.#options.sockets.hold?.();
  }

  goOn(): void {
    this.#options.sockets.goOn?.();
    this.#ticker.goOn();
  }

  /** Measures sessions so often from now on, in ms; 0 = never. */
  measure(everyMs: number): void {
    this.#measures.change(everyMs, this.#options.clock.monotonic());
  }

  /** RTP figures of a session; undefined when it has no RTP. */
  statistics(session: number): RtpStatistics | undefined {
    const found = this.#ends.get(session);
    return found instanceof RtpEnd ? this.#measures.statistics(found, this.#options.clock.monotonic()) : undefined;
  }

  /** Number of forwarded packets of a session, and its mix's mode: for tests. */
  forwarded(session: number): number {
    const found = this.#ends.get(session);
    return found instanceof RtpEnd ? found.forwarded : 0;
  }

  /** Counts of what is open. Ports that only drain, with their timer, are not counted. */
  usage(): MediaUsage {
    const playing = (each: { playing: boolean }) => each.playing;
    return {
      ...streamUsage(this.#ends.values()),
      sessions: [...this.#ends.values()].filter((end) => !(end instanceof PipeEnd)).length,
      ports: this.#ports.used,
      players: [...this.#ends.values()].filter(playing).length + [...this.#mixes.values()].filter(playing).length,
      timers: this.#ticker.running ? 1 : 0,
    };
  }

  /** Ticks that ran late or were left out since the start. */
  get ticks(): { late: number; skipped: number } {
    return { late: this.#ticker.late, skipped: this.#ticker.skipped };
  }

  /** Ends everything and releases all ports, also draining ones. */
  close(): void {
    for (const mix of [...this.#mixes.keys()]) this.#closeMix(mix);
    for (const session of [...this.#ends.keys()]) this.#close(session);
    this.#ports.close();
    this.#ticker.stop();
    this.#options.log.debug(this.ticks, 'the media engine is closed');
  }

  #endOptions(session: number, memory: SessionMemory) {
    const { clock, loader, report, config: own } = this.#options;
    return { session, clock, loader, report, memory, codec: own.codecs[0] ?? 'ulaw', passedDigits: own.passedDigits };
  }

  #add(end: End): void {
    this.#ends.set(end.session, end);
    // Sessions with RTP are measured once their flow is known.
    if (!(end instanceof RtpEnd || end instanceof PipeEnd)) this.#measures.opened(end, this.#options.clock.monotonic());
    this.#ticker.start();
  }

  #close(session: number, reason = 'the session was closed'): void {
    const end = this.#ends.get(session);
    if (!end) return;
    this.#ends.delete(session);
    this.#detectors.forget(end);
    this.recorders.end(end);
    this.#overhearers.forget(end);
    for (const { session: snoop } of this.#snoops.forget(end)) this.#end(snoop, 'who it listened to is gone');
    for (const mix of this.#mixes.values()) mix.leave(end);
    this.#pipes.forget(end);
    this.#videos.close(session);
    end.close(reason);
    this.#measures.forget(end);
    if (end instanceof RtpEnd && end.far.pair) this.#ports.release(end.far.pair);
    this.#stopWhenIdle();
  }

  /** Ends a broken session; reported after its recordings are complete. */
  #end(session: number, reason: string): void {
    const end = this.#ends.get(session);
    if (!end) return;
    this.#close(session, reason);
    this.recorders.whenComplete(end, () => this.#options.report({ type: 'faulted', session, reason }));
  }

  #closeMix(mix: number, reason = 'the mix was closed'): void {
    const found = this.#mixes.get(mix);
    this.#mixes.delete(mix);
    if (found) this.recorders.end(found);
    found?.close(reason);
    this.#stopWhenIdle();
  }

  /** Empty mixes need time only to play or to be recorded. */
  #stopWhenIdle(): void {
    const isBusy = () => this.#taps.size > 0 || [...this.#mixes.values()].some(({ playing }) => playing);
    if (this.#ends.size === 0 && (this.#mixes.size === 0 || !isBusy())) this.#ticker.stop();
  }

  #applyToMixing(mixing: Mixing, command: MixCommand): void {
    switch (command.type) {
      case 'join': {
        const end = this.#ends.get(command.session);
        if (!end) return;
        for (const other of this.#mixes.values()) if (other !== mixing) other.leave(end);
        this.#pipes.leave(end);
        if (!(end instanceof PipeEnd)) this.#videos.closePipe(command.session);
        mixing.join(end, command.member);
        return;
      }
      case 'leave': {
        const end = this.#ends.get(command.session);
        if (end) mixing.leave(end);
        return;
      }
      case 'close':
        return void this.#closeMix(mixing.mix);
      case 'record':
      case 'controlRecording':
        return void this.recorders.apply(mixing, command);
      case 'video':
      case 'show':
        return void mixing.video.apply(command, this.#options.clock.monotonic());
      default:
        mixing.apply(command);
    }
  }

  #applyToEnd(end: End, command: SessionCommand | TcpPackets): void {
    switch (command.type) {
      case 'tcp':
        return void (end instanceof RtpEnd && end.far.hearTcp(command.from, command.packets));
      case 'detectTalking':
      case 'detectTone':
        return void this.#detectors.apply(end, command);
      case 'record':
      case 'controlRecording':
        return void this.recorders.apply(end, command);
      case 'configureVideo':
        return void this.#videos.configure(end.session, command.stream, command.flow);
      case 'askKeyFrame':
        return void this.#videos.askKeyFrame(end.session);
      default:
        end.apply(command);
        if (command.type === 'configure' && end instanceof RtpEnd)
          this.#measures.flowing(end, command.flow, this.#options.clock.monotonic());
    }
  }

  #tick(now: number, skipped: number): void {
    if (skipped > 0) this.#warnOfSkipped(now);
    for (const end of this.#ends.values()) {
      try {
        if (skipped > 0) end.skipped();
        if (now >= end.restsUntil) end.receive(now);
      } catch (error) {
        this.#fault(end.session, error);
      }
    }
    this.#pipes.tick(now);
    this.#videos.tick(now);
    for (const mix of this.#mixes.values()) {
      try {
        mix.tick(now);
        mix.video.tick(mix.speaker, now);
      } catch (error) {
        this.#faultMix(mix.mix, error);
      }
    }
    this.#snoops.send();
    for (const end of this.#ends.values()) {
      try {
        if (now >= end.restsUntil && !(end instanceof SnoopEnd)) end.send(now);
      } catch (error) {
        this.#fault(end.session, error);
      }
    }
    this.#measures.tick(now);
    for (const tap of this.#taps) {
      try {
        tap.tick();
      } catch (error) {
        this.#options.log.error({ error }, 'a listener of a media session failed');
        if (this.#taps.delete(tap)) tap.close();
      }
    }
    this.#stopWhenIdle();
  }

  /** Once in a while, with the totals: a busy machine must not be made to write logs as well. */
  #warnOfSkipped(now: number): void {
    if (now - this.#warnedAt < skippedWarningMs) return;
    this.#warnedAt = now;
    this.#options.log.warn(this.ticks, 'media ticks were skipped: the machine is too busy');
  }

  /** A mistake of ours in one session ends that session and no other. */
  #fault(session: number, error: unknown): void {
    this.#options.log.error({ error, session }, 'a media session failed');
    const reason = reasonOf(error);
    this.#close(session, reason);
    this.#options.report({ type: 'faulted', session, reason });
  }

  #faultMix(mix: number, error: unknown): void {
    this.#options.log.error({ error, mix }, 'a media mix failed');
    this.#closeMix(mix, reasonOf(error));
    this.#options.report({ type: 'mixFaulted', mix, reason: reasonOf(error) });
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
