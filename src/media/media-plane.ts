import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { ExternalAudio, ExternalReport, ExternalRequest, ExternalSession } from '../telephony/external.ts';
import type {
  AudioDirection,
  MediaPlane,
  MediaReport,
  MediaSession,
  MediaSessionDump,
  Mix,
  MixReport,
  RtpSession,
} from '../telephony/media.ts';
import type { MediaConfig } from './config.ts';
import { ExternalProxy } from './external-proxy.ts';
import { createLocalPair } from './local-pair.ts';
import { MixProxy } from './mix-proxy.ts';
import type { MediaUsage } from './protocol.ts';
import { RtpProxy } from './rtp-proxy.ts';
import type { SessionProxy, SessionProxyOptions } from './session-proxy.ts';
import { SnoopProxy } from './snoop-proxy.ts';
import { type StartThread, startWorker } from './start-worker.ts';
import { ThreadLink } from './thread-link.ts';

export type MediaPlaneOptions = {
  config: MediaConfig;
  clock: Clock;
  log: Logger;
  /** How the media thread is started; tests put one in its place that can be made to crash. */
  startThread?: StartThread;
};

const noUsage: MediaUsage = {
  ...{ sessions: 0, ports: 0, players: 0, timers: 0 },
  ...{ externalWaitingMs: 0, externalDroppedMs: 0, externalUnsentFrames: 0 },
};

/** A thread that is lost more often than this within this many ms is not given its sessions again: one may be why. */
const restarts = { most: 3, withinMs: 60_000 };

/**
 * The media plane: everything about packets, timers and files happens in a worker thread; this side only passes
 * commands and reports. What a lost thread had is opened again in a new one, on the same ports, and goes on.
 */
export function createMediaPlane(options: MediaPlaneOptions): MediaPlane & ExternalAudio {
  return new WorkerMediaPlane(options);
}

class WorkerMediaPlane implements MediaPlane, ExternalAudio {
  readonly #options: MediaPlaneOptions;
  readonly #startThread: StartThread;
  /** All sessions, and those that others may name, by their id. */
  readonly #sessions = new Set<SessionProxy>();
  readonly #byId = new Map<string, SessionProxy>();
  readonly #mixes = new Set<MixProxy>();
  #link: ThreadLink | undefined;
  #closed = false;
  #lostAt: number[] = [];

  constructor(options: MediaPlaneOptions) {
    this.#options = options;
    this.#startThread = options.startThread ?? startWorker;
    this.#thread();
  }

  async openRtp(id: string, told: (report: MediaReport) => void): Promise<RtpSession> {
    return this.#openRtp(id, told);
  }

  async reopenRtp(dump: MediaSessionDump, told: (report: MediaReport) => void): Promise<RtpSession> {
    if (dump.version !== 1) throw new Error(`a dump of version ${dump.version} is not understood`);
    return this.#openRtp(dump.id, told, dump);
  }

  openPair(
    ids: readonly [string, string],
    told: readonly [(report: MediaReport) => void, (report: MediaReport) => void],
  ): [MediaSession, MediaSession] {
    const options = [this.#sessionOptions(ids[0], told[0]), this.#sessionOptions(ids[1], told[1])] as const;
    const pair = createLocalPair(options, () => (this.#closed ? undefined : this.#thread()));
    for (const half of pair) this.#add(half);
    return pair;
  }

  openMix(id: string, kind: 'mixing' | 'holding', told: (report: MixReport) => void): Mix {
    const mix = new MixProxy(
      {
        id,
        kind,
        told,
        sessionOf: ({ id: session }) => this.#byId.get(session),
        ended: (ended) => this.#mixes.delete(ended),
      },
      this.#closed ? undefined : this.#thread(),
    );
    this.#mixes.add(mix);
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

  openExternal(id: string, request: ExternalRequest, told: (report: ExternalReport) => void): ExternalSession {
    if (this.#closed) throw new Error('the media plane is closed');
    const relayBytes = this.#options.config.external.unsentBytes;
    const options = { ...this.#sessionOptions(id, () => {}), told };
    const proxy = new ExternalProxy(options, this.#thread(), { request, relayBytes });
    this.#add(proxy);
    return proxy;
  }

  async usage(): Promise<MediaUsage> {
    if (this.#closed || !this.#link?.alive) return noUsage;
    return (await this.#link.request((request) => ({ type: 'usage', request }))).usage;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#link?.close();
  }

  async #openRtp(id: string, told: (report: MediaReport) => void, from?: MediaSessionDump): Promise<RtpSession> {
    if (this.#closed) throw new Error('the media plane is closed');
    const proxy = new RtpProxy(this.#sessionOptions(id, told), this.#thread(), from);
    this.#add(proxy);
    await proxy.opened;
    return proxy;
  }

  #sessionOptions(id: string, told: (report: MediaReport) => void): SessionProxyOptions {
    return { id, told, ended: (session) => this.#remove(session) };
  }

  #add(session: SessionProxy): void {
    this.#sessions.add(session);
    this.#byId.set(session.id, session);
  }

  #remove(session: SessionProxy): void {
    this.#sessions.delete(session);
    if (this.#byId.get(session.id) === session) this.#byId.delete(session.id);
    for (const mix of this.#mixes) mix.forget(session);
  }

  /** The running thread; a new one when there is none (the first time, or after a crash). */
  #thread(): ThreadLink {
    if (this.#link?.alive) return this.#link;
    const { config, clock, log } = this.#options;
    const link: ThreadLink = new ThreadLink(this.#startThread({ config }), {
      clock,
      log,
      timeoutMs: config.threadTimeoutMs,
      lost: (reason) => this.#lost(link, reason),
    });
    this.#link = link;
    return link;
  }

  /** Moves what a lost thread had to a new one: sessions in the order they were opened, then mixes. */
  #lost(link: ThreadLink, reason: string): void {
    const sessions = [...this.#sessions].filter((session) => session.thread === link);
    const mixes = [...this.#mixes].filter((mix) => mix.thread === link);
    if (this.#closed || this.#losesTooOften()) {
      for (const each of [...sessions, ...mixes]) each.lost(reason);
      return;
    }
    if (sessions.length + mixes.length === 0) return;
    const next = this.#thread();
    for (const each of [...sessions, ...mixes]) each.moveTo(next);
    this.#options.log.warn({ sessions: sessions.length, mixes: mixes.length }, 'media goes on in a new thread');
  }

  #losesTooOften(): boolean {
    const now = this.#options.clock.monotonic();
    this.#lostAt = [...this.#lostAt.filter((at) => now - at < restarts.withinMs), now];
    return this.#lostAt.length > restarts.most;
  }
}
