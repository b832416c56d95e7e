import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { RtpStatistics } from '../telephony/media.ts';
import type { MediaConfig } from './config.ts';
import type { AudioLoader } from './item-loader.ts';
import type { EngineReport, MediaUsage, SessionCommand } from './protocol.ts';
import { PortPool } from './rtp/ports.ts';
import { RtpAudioSession } from './rtp/rtp-session.ts';
import type { Sockets } from './rtp/sockets.ts';
import { LocalSession, type Session } from './session.ts';
import { Ticker } from './ticker.ts';

export type MediaEngineOptions = {
  config: MediaConfig;
  clock: Clock;
  log: Logger;
  sockets: Sockets;
  loader: AudioLoader;
  /** 32 random bits, unpredictable to others. */
  random32: () => number;
  /** Hears what happens; called from inside commands, packets and ticks. */
  report: (report: EngineReport) => void;
};

/** Skipped ticks are not logged more often than this, in ms. */
const skippedWarningMs = 10_000;

/** All sessions of the plane and the one tick that drives them. Knows nothing of threads. */
export class MediaEngine {
  readonly #options: MediaEngineOptions;
  readonly #ports: PortPool;
  readonly #ticker: Ticker;
  readonly #sessions = new Map<number, Session>();
  #warnedAt = Number.NEGATIVE_INFINITY;
  /** Sessions closed while their ports were being bound. */
  readonly #opening = new Map<number, { closed: boolean }>();

  constructor(options: MediaEngineOptions) {
    this.#options = options;
    const { config, clock, sockets, random32 } = options;
    this.#ports = new PortPool({
      clock,
      sockets,
      address: config.address,
      range: config.ports,
      drainMs: config.portDrainMs,
      random32,
    });
    this.#ticker = new Ticker(clock, (now, skipped) => this.#tick(now, skipped));
  }

  /** Opens a session with a port of its own. @throws Error when no port is free or the session was closed meanwhile. */
  async openRtp(session: number): Promise<{ address: string; port: number }> {
    const opening = { closed: false };
    this.#opening.set(session, opening);
    try {
      const pair = await this.#ports.acquire();
      if (opening.closed) {
        this.#ports.release(pair);
        throw new Error('the session was closed while it was opened');
      }
      const { config, random32 } = this.#options;
      const { rtpTimeoutMs, keepalive, natSearchMs } = config;
      const faulted = (error: unknown) => this.#fault(session, error);
      this.#add(
        new RtpAudioSession({
          ...this.#sessionOptions(session),
          pair,
          random32,
          rtpTimeoutMs,
          keepalive,
          natSearchMs,
          faulted,
        }),
      );
      return { address: config.announcedAddress ?? config.address, port: pair.rtp.port };
    } finally {
      this.#opening.delete(session);
    }
  }

  /** Opens half of a local pair. */
  openLocal(session: number): void {
    this.#add(new LocalSession(this.#sessionOptions(session)));
  }

  /** Carries out a command; one for a session that is not (or no longer) there is ignored. */
  apply(command: SessionCommand): void {
    if (command.type === 'close') {
      this.#close(command.session);
      return;
    }
    const session = this.#sessions.get(command.session);
    if (!session) {
      this.#applyToNone(command);
      return;
    }
    switch (command.type) {
      case 'play':
        session.play(command.play, command.item);
        return;
      case 'control':
        session.control(command.play, command.action);
        return;
      case 'seek':
        session.seek(command.play, command.ms);
        return;
      case 'sendDigits':
        session.sendDigits(command.sequence);
        return;
      case 'indicate':
        session.indicate(command.indication);
        return;
    }
    if (!(session instanceof RtpAudioSession)) return;
    switch (command.type) {
      case 'configure':
        session.configure(command.flow);
        return;
      case 'echo':
        session.echo(command.on);
        return;
      case 'mute':
        session.mute(command);
        return;
    }
  }

  /** RTP figures of a session; undefined when it has no RTP. */
  statistics(session: number): RtpStatistics | undefined {
    const found = this.#sessions.get(session);
    return found instanceof RtpAudioSession ? found.statistics() : undefined;
  }

  /** Counts of what is open. Ports that only drain, with their timer, are not counted. */
  usage(): MediaUsage {
    const sessions = [...this.#sessions.values()];
    return {
      sessions: sessions.length,
      ports: this.#ports.used,
      players: sessions.filter((session) => session.playing).length,
      timers: this.#ticker.running ? 1 : 0,
    };
  }

  /** Ticks that ran late or were left out since the start. */
  get ticks(): { late: number; skipped: number } {
    return { late: this.#ticker.late, skipped: this.#ticker.skipped };
  }

  /** Ends every session and lets go of all ports, those that drain included. */
  close(): void {
    for (const opening of this.#opening.values()) opening.closed = true;
    for (const session of [...this.#sessions.keys()]) this.#close(session);
    this.#ports.close();
    this.#ticker.stop();
    this.#options.log.debug(this.ticks, 'the media engine is closed');
  }

  #sessionOptions(session: number) {
    const { clock, loader, report, config } = this.#options;
    return { session, clock, loader, report, codec: config.codecs[0] ?? 'ulaw' };
  }

  #add(session: Session): void {
    this.#sessions.set(session.session, session);
    this.#ticker.start();
  }

  #close(key: number, reason = 'the session was closed'): void {
    const opening = this.#opening.get(key);
    if (opening) opening.closed = true;
    const session = this.#sessions.get(key);
    if (!session) return;
    this.#sessions.delete(key);
    if (this.#sessions.size === 0) this.#ticker.stop();
    session.close(reason);
    if (session instanceof RtpAudioSession) this.#ports.release(session.pair);
  }

  /** An item for a session that is gone still gets its one report. */
  #applyToNone(command: SessionCommand): void {
    if (command.type !== 'play') return;
    const { session, play } = command;
    this.#options.report({
      type: 'played',
      session,
      play,
      report: { type: 'media.failed', reason: 'the session was closed' },
    });
  }

  #tick(now: number, skipped: number): void {
    if (skipped > 0) this.#warnOfSkipped(now);
    for (const session of this.#sessions.values()) {
      try {
        if (skipped > 0) session.skipped();
        session.tick(now);
      } catch (error) {
        this.#fault(session.session, error);
      }
    }
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
    const reason = error instanceof Error ? error.message : String(error);
    this.#close(session, reason);
    this.#options.report({ type: 'faulted', session, reason });
  }
}
