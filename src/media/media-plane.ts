import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { MediaPlane, MediaReport, MediaSession, RtpSession } from '../telephony/media.ts';
import type { MediaConfig } from './config.ts';
import { createLocalPair } from './local-pair.ts';
import type { MediaUsage } from './protocol.ts';
import { RtpSessionProxy } from './session-proxy.ts';
import { type StartThread, startWorker } from './start-worker.ts';
import { ThreadLink } from './thread-link.ts';

export type MediaPlaneOptions = {
  config: MediaConfig;
  clock: Clock;
  log: Logger;
  /** How the media thread is started; tests put one in its place that can be made to crash. */
  startThread?: StartThread;
};

/**
 * The media plane: everything about packets, timers and files happens in one worker thread; this side only passes
 * commands and reports. When the thread crashes, each item under way is told `media.failed`, each RTP session
 * `media.lost`, and a new thread serves what is opened from then on.
 */
export function createMediaPlane(options: MediaPlaneOptions): MediaPlane {
  return new WorkerMediaPlane(options);
}

class WorkerMediaPlane implements MediaPlane {
  readonly #config: MediaConfig;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #startThread: StartThread;
  #link: ThreadLink | undefined;
  #closed = false;

  constructor({ config, clock, log, startThread = startWorker }: MediaPlaneOptions) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
    this.#startThread = startThread;
    this.#thread();
  }

  async openRtp(id: string, told: (report: MediaReport) => void): Promise<RtpSession> {
    if (this.#closed) throw new Error('the media plane is closed');
    const link = this.#thread();
    const proxy = new RtpSessionProxy(id, link, told);
    try {
      await link.request(
        (request) => ({ type: 'openRtp', session: proxy.session, request }),
        // At once: what the thread tells of the session next must find it open.
        ({ address, port }) => {
          proxy.local = { address, port };
        },
      );
      return proxy;
    } catch (error) {
      link.remove(proxy.session);
      throw error;
    }
  }

  openPair(
    ids: readonly [string, string],
    told: readonly [(report: MediaReport) => void, (report: MediaReport) => void],
  ): [MediaSession, MediaSession] {
    return createLocalPair(ids, told, () => (this.#closed ? undefined : this.#thread()));
  }

  async usage(): Promise<MediaUsage> {
    if (this.#closed || !this.#link?.alive) return { sessions: 0, ports: 0, players: 0, timers: 0 };
    return (await this.#link.request((request) => ({ type: 'usage', request }))).usage;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#link?.close();
  }

  /** The running thread; a new one when there is none (the first time, or after a crash). */
  #thread(): ThreadLink {
    if (!this.#link?.alive)
      this.#link = new ThreadLink(this.#startThread({ config: this.#config }), {
        clock: this.#clock,
        log: this.#log,
        timeoutMs: this.#config.threadTimeoutMs,
      });
    return this.#link;
  }
}
