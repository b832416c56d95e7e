import type {
  Indication,
  MediaReport,
  PlayHandle,
  PlayItem,
  PlayReport,
  RtpFlow,
  RtpSession,
  RtpStatistics,
} from '../telephony/media.ts';
import type { EngineReport } from './protocol.ts';
import type { DigitTiming } from './rtp/digit-sender.ts';
import type { LinkedSession, ThreadLink } from './thread-link.ts';

/** The items of one session as the main thread knows them: who is to be told how each ended. */
export class Plays {
  readonly #told = new Map<number, (report: PlayReport) => void>();
  #next = 1;

  /** Numbers an item and keeps who is told. */
  add(told: (report: PlayReport) => void): number {
    const play = this.#next++;
    this.#told.set(play, told);
    return play;
  }

  has(play: number): boolean {
    return this.#told.has(play);
  }

  /** Passes a report on, once. */
  end(play: number, report: PlayReport): void {
    const told = this.#told.get(play);
    this.#told.delete(play);
    told?.(report);
  }

  /** Tells all that are left that they failed: in a later turn, never from inside a call of theirs. */
  failAll(reason: string): void {
    const left = [...this.#told.values()];
    this.#told.clear();
    if (left.length > 0)
      queueMicrotask(() => {
        for (const told of left) told({ type: 'media.failed', reason });
      });
  }
}

/** Controls an item through the link; does nothing once it has ended. */
export function playHandle(plays: Plays, play: number, session: number, link: ThreadLink): PlayHandle {
  const control = (action: 'stop' | 'pause' | 'resume' | 'restart') => () => {
    if (plays.has(play)) link.send({ type: 'control', session, play, action });
  };
  return {
    stop: control('stop'),
    pause: control('pause'),
    resume: control('resume'),
    restart: control('restart'),
    seek: (ms) => {
      if (plays.has(play)) link.send({ type: 'seek', session, play, ms });
    },
  };
}

/** A handle of an item that could not even be started. */
export const endedHandle: PlayHandle = {
  stop: () => {},
  pause: () => {},
  resume: () => {},
  restart: () => {},
  seek: () => {},
};

/** The main thread's side of an RTP session. */
export class RtpSessionProxy implements RtpSession, LinkedSession {
  readonly id: string;
  readonly session: number;
  /** Set before anyone else sees the session. */
  local = { address: '', port: 0 };
  readonly #link: ThreadLink;
  readonly #told: (report: MediaReport) => void;
  readonly #plays = new Plays();
  #ended = false;

  constructor(id: string, link: ThreadLink, told: (report: MediaReport) => void) {
    this.id = id;
    this.#link = link;
    this.#told = told;
    this.session = link.add(this);
  }

  configure(flow: RtpFlow): void {
    this.#link.send({ type: 'configure', session: this.session, flow });
  }

  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
    const play = this.#plays.add(told);
    if (this.#ended) {
      this.#plays.failAll('the session was closed');
      return endedHandle;
    }
    this.#link.send({ type: 'play', session: this.session, play, item });
    return playHandle(this.#plays, play, this.session, this.#link);
  }

  sendDigits(sequence: DigitTiming): void {
    this.#link.send({ type: 'sendDigits', session: this.session, sequence });
  }

  indicate(indication: Indication | undefined): void {
    this.#link.send({ type: 'indicate', session: this.session, indication });
  }

  echo(on: boolean): void {
    this.#link.send({ type: 'echo', session: this.session, on });
  }

  mute(directions: { in: boolean; out: boolean }): void {
    this.#link.send({ type: 'mute', session: this.session, in: directions.in, out: directions.out });
  }

  async statistics(): Promise<RtpStatistics | undefined> {
    if (this.#ended) return undefined;
    const session = this.session;
    // A thread that ends meanwhile leaves nothing to tell.
    const answer = await this.#link
      .request((request) => ({ type: 'statistics', session, request }))
      .catch(() => undefined);
    return answer?.statistics;
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#link.send({ type: 'close', session: this.session });
    this.#link.remove(this.session);
    this.#plays.failAll('the session was closed');
  }

  heard(report: EngineReport): void {
    switch (report.type) {
      case 'played':
        this.#plays.end(report.play, report.report);
        return;
      case 'digit':
        this.#told({ type: 'media.digit', digit: report.digit, durationMs: report.durationMs });
        return;
      case 'timedOut':
        this.#told({ type: 'media.timedOut' });
        return;
      case 'faulted':
        this.#link.remove(this.session);
        this.lost(report.reason);
        return;
    }
  }

  lost(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#plays.failAll(reason);
    // A session that was never opened has nobody to tell: `openRtp` itself was rejected.
    if (this.local.port === 0) return;
    // Behind the items, and behind `openRtp` when that resolves just now: who opened it knows it before its end.
    this.#link.soon(() => this.#told({ type: 'media.lost', reason }));
  }
}
