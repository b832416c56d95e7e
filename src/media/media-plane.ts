import type { Clock } from '../lib/clock.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import type { LoopReader } from '../lib/loop-reader.ts';
import type { TracedKind } from '../lib/rtp-trace.ts';
import { Roster, SlotMap } from '../lib/slot-map.ts';
import type { SupervisedThread } from '../native/inherited.ts';
import type { ExternalAudio, ExternalReport, ExternalRequest, ExternalSession } from '../telephony/external.ts';
import type {
  AudioDirection,
  MediaMeasures,
  MediaPlane,
  MediaReport,
  MediaRest,
  MediaSession,
  MediaSessionDump,
  Mix,
  MixReport,
  Overhearer,
  RtpSession,
} from '../telephony/media.ts';
import type { PlaneLoad } from '../telephony/plane-figures.ts';
import type { VideoMeasures } from '../telephony/video.ts';
import type { MediaConfig } from './config.ts';
import { ExternalProxy } from './external-proxy.ts';
import { createLocalPair } from './local-pair.ts';
import { MixProxy } from './mix-proxy.ts';
import { newWakeUp } from './pipe/wake-up.ts';
import type { EngineReport, MediaUsage } from './protocol.ts';
import { newHeardCounter } from './report-window.ts';
import { closeLeft, leftOpen, newDescriptorTable } from './rtp/descriptors.ts';
import { noPortFree } from './rtp/ports.ts';
import { RtpProxy } from './rtp-proxy.ts';
import type { SessionProxy, SessionProxyOptions } from './session-proxy.ts';
import { SnoopProxy } from './snoop-proxy.ts';
import { type StartThread, startWorker } from './start-worker.ts';
import { ThreadLink } from './thread-link.ts';
import type { IceTcpServer } from './webrtc/ice-tcp.ts';

type MediaPlaneOptions = {
  config: MediaConfig;
  clock: Clock;
  log: Logger;
  /** How the media thread is started; tests put one in its place that can be made to crash. */
  startThread?: StartThread;
  /** Gets measurements of RTP sessions and video streams, by id, every {@link MediaConfig.measureMs}. */
  measured?: ((id: string, measures: MediaMeasures | VideoMeasures) => void) | undefined;
  /** Hears that a session must be saved again: its far side was found, or keys were agreed on. */
  changed?: ((id: string) => void) | undefined;
  /** Gives memory for the heads of the RTP packets of a session that is opened (`lib/rtp-trace.ts`), where they are kept. */
  trace?: ((id: string, kind: TracedKind) => SharedArrayBuffer | undefined) | undefined;
  /** A supervisor holds the sockets: those of a lost thread stay open, and the next one takes them up. */
  supervised?:
    | (SupervisedThread & {
        inherit(descriptors: readonly number[]): void;
        /** Another process sends and takes audio until {@link MediaPlane.goOn}. */
        follows: boolean;
      })
    | undefined;
  /** Takes connections of browsers; left out: they come by UDP only. */
  tcp?: IceTcpServer | undefined;
  /** Counts sessions without a free port, and limits reached in a thread. */
  hit?: LimitHit | undefined;
};

const noUsage: MediaUsage = {
  ...{ sessions: 0, ports: 0, players: 0, timers: 0 },
  ...{ externalWaitingMs: 0, externalDroppedMs: 0, externalUnsentFrames: 0 },
};

/**
 * A thread that dies more often within this time, in ms, is not given its sessions again: one of them may be the cause.
 */
const restarts = { most: 3, withinMs: 60_000 };

/** Sessions that a thread may have beyond twice those of the idlest one and still get related sessions. */
const nearbyLoad = 16;

/**
 * The media plane: packets, timers and files are handled in worker threads; this side passes commands and reports.
 * Sessions of a lost thread are opened again in a new one, on the same ports.
 */
export function createMediaPlane(options: MediaPlaneOptions): MediaPlane & ExternalAudio {
  return new WorkerMediaPlane(options);
}

class WorkerMediaPlane implements MediaPlane, ExternalAudio {
  readonly #options: MediaPlaneOptions;
  readonly #startThread: StartThread;
  /** All sessions, and named ones by id. */
  readonly #sessions = new Roster<SessionProxy>();
  readonly #byId = new SlotMap<string, SessionProxy>();
  readonly #mixes = new Roster<MixProxy>();
  /** Running threads, each in a place of its own. */
  readonly #links: (ThreadLink | undefined)[];
  /** When the thread of each place was lost. */
  readonly #lostAt: number[][];
  /** Whether another process still has the audio. */
  #follows: boolean;
  #wakeUps = 0;
  #closed = false;
  /** See {@link MediaConfig.measureMs}. */
  #measureMs: number;

  constructor(options: MediaPlaneOptions) {
    this.#options = options;
    this.#startThread = options.startThread ?? startWorker;
    this.#measureMs = options.config.measureMs;
    this.#follows = options.supervised?.follows ?? false;
    const places = Math.max(1, options.config.threads);
    this.#links = new Array(places).fill(undefined);
    this.#lostAt = Array.from(this.#links, () => []);
    // The first calls find them running; others are started for the first session that they get.
    for (let place = 0; place < Math.min(places, Math.max(1, options.config.threadsAtStart)); place++)
      this.#start(place);
  }

  async openRtp(id: string, told: (report: MediaReport) => void, near?: string, gathers = false): Promise<RtpSession> {
    return this.#openRtp(id, told, { near, gathers });
  }

  async reopenRtp(dump: MediaSessionDump, told: (report: MediaReport) => void): Promise<RtpSession> {
    if (dump.version !== 1) throw new Error(`a dump of version ${dump.version} is not understood`);
    return this.#openRtp(dump.id, told, { from: dump });
  }

  openPair(
    ids: readonly [string, string],
    told: readonly [(report: MediaReport) => void, (report: MediaReport) => void],
  ): [MediaSession, MediaSession] {
    const options = [this.#sessionOptions(ids[0], told[0]), this.#sessionOptions(ids[1], told[1])] as const;
    const pair = createLocalPair(options, (near) => (this.#closed ? undefined : this.#thread(near)));
    for (const half of pair) this.#add(half);
    return pair;
  }

  openMix(id: string, kind: 'mixing' | 'holding', told: (report: MixReport) => void): Mix {
    const mix = new MixProxy({
      id,
      kind,
      told,
      pipeBytes: this.#options.config.pipeBytes,
      videoPipeBytes: this.#options.config.video.pipeBytes,
      thread: (near) => (this.#closed ? undefined : this.#thread(near)),
      sessionOf: ({ id: session }) => this.#byId.get(session),
      ended: () => this.#mixes.remove(number),
    });
    const number = this.#mixes.add(mix);
    return mix;
  }

  openSnoop(
    id: string,
    target: MediaSession,
    directions: { spy: AudioDirection; whisper: AudioDirection },
    told: (report: MediaReport) => void,
  ): MediaSession {
    const found = this.#byId.get(target.id);
    if (!found || this.#closed) throw new Error(`'${target.id}' is no session that can be listened to`);
    const snoop = new SnoopProxy(this.#sessionOptions(id, told), found, directions);
    this.#add(snoop);
    return snoop;
  }

  openExternal(
    id: string,
    request: ExternalRequest,
    told: (report: ExternalReport) => void,
    near?: string,
  ): ExternalSession {
    if (this.#closed) throw new Error('the media plane is closed');
    const relayBytes = this.#options.config.external.unsentBytes;
    const options = { ...this.#sessionOptions(id, () => {}), told };
    const thread = () => (this.#closed ? undefined : this.#thread());
    const proxy = new ExternalProxy(options, this.#near(near), { request, relayBytes, thread });
    this.#add(proxy);
    return proxy;
  }

  overhear(id: string, overhearer: Overhearer): (() => void) | undefined {
    return this.#closed ? undefined : this.#byId.get(id)?.overhear(overhearer);
  }

  async usage(): Promise<MediaUsage> {
    const links = this.#closed ? [] : this.#links.filter((link) => link?.alive);
    const answers = await Promise.all(links.map((link) => link!.request((request) => ({ type: 'usage', request }))));
    const sum = { ...noUsage };
    for (const { usage } of answers)
      for (const name of Object.keys(sum) as (keyof MediaUsage)[]) sum[name] += usage[name];
    return sum;
  }

  async load(reader: LoopReader = 'metrics'): Promise<PlaneLoad[]> {
    const links = this.#closed ? [] : this.#links.filter((link) => link?.alive);
    const answers = await Promise.all(
      links.map((link) => link!.request((request) => ({ type: 'load', request, reader }))),
    );
    return answers.map(({ load }) => load);
  }

  measure(everyMs: number): void {
    this.#measureMs = everyMs;
    if (this.#closed) return;
    for (const link of this.#links) link?.send({ type: 'measure', everyMs });
  }

  compact(): void {
    if (this.#closed) return;
    for (const link of this.#links) link?.send({ type: 'compact' });
  }

  async linger(): Promise<void> {
    await Promise.all(this.#links.map((link) => (link?.alive ? link.linger() : undefined)));
  }

  halt(): MediaRest {
    const reports = this.#links.flatMap((link) => link?.halt() ?? []);
    const sessions = [...this.#sessions].map((session) => session.rest());
    const mixes = [...this.#mixes].flatMap(({ id, positionMs }) =>
      positionMs === undefined ? [] : [{ id, positionMs }],
    );
    return { sessions, mixes, reports };
  }

  async prepared(): Promise<void> {
    await Promise.allSettled([...this.#sessions].map((each) => (each instanceof RtpProxy ? each.opened : undefined)));
  }

  goOn({ sessions = [], mixes = [], reports = [] }: Partial<MediaRest> = {}): void {
    try {
      for (const rest of sessions) this.#byId.get(rest.id)?.goOn(rest);
      const positions = new Map(mixes.map(({ id, positionMs }) => [id, positionMs]));
      for (const mix of this.#mixes) mix.goOnAt(positions.get(mix.id));
    } finally {
      this.#follows = false;
      for (const link of this.#links) link?.goOn();
    }
    for (const [id, report] of reports) this.#byId.get(id)?.heard(report as EngineReport);
  }

  spread(): number[] {
    return this.#links.map((_link, place) => this.#loadOf(place));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#links.map((link) => link?.close()));
  }

  async #openRtp(
    id: string,
    told: (report: MediaReport) => void,
    { near, from, gathers }: { near?: string | undefined; from?: MediaSessionDump; gathers?: boolean },
  ): Promise<RtpSession> {
    if (this.#closed) throw new Error('the media plane is closed');
    const link = this.#near(near);
    const proxy = new RtpProxy(this.#sessionOptions(id, told), link, { from, gathers, tcp: this.#options.tcp });
    this.#add(proxy);
    try {
      await proxy.opened;
    } catch (error) {
      if ((error as Error).message.startsWith(noPortFree)) this.#options.hit?.('media.rtp_ports');
      throw error;
    }
    return proxy;
  }

  #sessionOptions(id: string, told: (report: MediaReport) => void): SessionProxyOptions {
    const { measured, trace, changed } = this.#options;
    return {
      id,
      told,
      measured: measured && ((measures) => measured(id, measures)),
      changed: changed && (() => changed(id)),
      trace: trace && ((kind) => trace(id, kind)),
      ended: (session) => this.#remove(session),
    };
  }

  #add(session: SessionProxy): void {
    session.listed = this.#sessions.add(session);
    this.#byId.set(session.id, session);
  }

  #remove(session: SessionProxy): void {
    this.#sessions.remove(session.listed);
    if (this.#byId.get(session.id) === session) this.#byId.delete(session.id);
    session.mix?.forget(session);
  }

  /** A thread for a session that will probably meet the one of an id. */
  #near(id: string | undefined): ThreadLink {
    return this.#thread(id === undefined ? undefined : this.#byId.get(id)?.thread);
  }

  /** A thread for a session: `near`, unless that has far more to do than others, or else the one with the least to do. */
  #thread(near?: ThreadLink): ThreadLink {
    let least = 0;
    for (let place = 1; place < this.#links.length; place++)
      if (this.#loadOf(place) < this.#loadOf(least)) least = place;
    if (near?.alive && near.load <= 2 * this.#loadOf(least) + nearbyLoad) return near;
    const link = this.#links[least];
    return link?.alive ? link : this.#start(least);
  }

  #loadOf(place: number): number {
    const link = this.#links[place];
    return link?.alive ? link.load : 0;
  }

  /** Starts the thread of a place: the first time, or after a crash. */
  #start(place: number): ThreadLink {
    const { clock, log, supervised } = this.#options;
    const config = { ...this.#options.config, measureMs: this.#measureMs };
    const held = supervised && { link: supervised.link, inherited: supervised.inherited };
    const wakeUp = newWakeUp(++this.#wakeUps);
    const descriptors = newDescriptorTable();
    const heard = newHeardCounter();
    const follows = this.#follows;
    const started = this.#startThread({ config, thread: place, wakeUp, heard, descriptors, follows, supervised: held });
    const link: ThreadLink = new ThreadLink(started, {
      clock,
      log,
      timeoutMs: config.threadTimeoutMs,
      wakeUp,
      heard,
      hit: this.#options.hit,
      lost: (reason) => {
        // Before others bind the same ports.
        if (supervised) supervised.inherit(leftOpen(descriptors));
        else closeLeft(descriptors);
        this.#lost(link, place, reason);
      },
    });
    if (follows) link.hold();
    this.#links[place] = link;
    return link;
  }

  /** Moves what a lost thread had to a new one: sessions in the order they were opened, then mixes. */
  #lost(link: ThreadLink, place: number, reason: string): void {
    const sessions = [...this.#sessions].filter((session) => session.thread === link);
    const mixes = [...this.#mixes].filter((mix) => mix.thread === link);
    if (this.#closed || this.#losesTooOften(place)) {
      for (const each of sessions) each.lost(reason);
      // After closing the plane nobody needs the end of its mixes.
      for (const mix of mixes)
        if (this.#closed) mix.close();
        else mix.lost(reason);
      return;
    }
    if (sessions.length + mixes.length === 0) return;
    const running = this.#links[place];
    const next = running?.alive ? running : this.#start(place);
    for (const each of [...sessions, ...mixes]) each.moveTo(next);
    for (const mix of this.#mixes) mix.followMembers();
    this.#options.log.warn({ sessions: sessions.length, mixes: mixes.length }, 'media continues in a new thread');
  }

  #losesTooOften(place: number): boolean {
    const now = this.#options.clock.monotonic();
    const lost = [...this.#lostAt[place]!.filter((at) => now - at < restarts.withinMs), now];
    this.#lostAt[place] = lost;
    return lost.length > restarts.most;
  }
}
