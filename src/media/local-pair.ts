import type { MediaReport, MediaSession, PlayHandle, PlayItem, PlayReport } from '../telephony/media.ts';
import type { EngineReport } from './protocol.ts';
import type { DigitTiming } from './rtp/digit-sender.ts';
import { endedHandle, Plays, playHandle } from './session-proxy.ts';
import type { LinkedSession, ThreadLink } from './thread-link.ts';

type Told = (report: MediaReport) => void;

/**
 * Two sessions joined back to back. The media thread hears of a half only when it plays or sends digits, because only
 * those take time; all else is state of this side.
 *
 * @param thread gives the media thread, undefined once the plane is closed.
 */
export function createLocalPair(
  ids: readonly [string, string],
  told: readonly [Told, Told],
  thread: () => ThreadLink | undefined,
): [MediaSession, MediaSession] {
  const first = new LocalHalf(ids[0], told[0], thread);
  const second = new LocalHalf(ids[1], told[1], thread);
  first.other = second;
  second.other = first;
  return [first, second];
}

class LocalHalf implements MediaSession, LinkedSession {
  readonly id: string;
  other: LocalHalf | undefined;
  readonly #told: Told;
  readonly #thread: () => ThreadLink | undefined;
  #plays: Plays | undefined;
  #link: ThreadLink | undefined;
  #session = 0;
  #echoing = false;
  #closed = false;

  constructor(id: string, told: Told, thread: () => ThreadLink | undefined) {
    this.id = id;
    this.#told = told;
    this.#thread = thread;
  }

  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
    const link = this.#open();
    this.#plays ??= new Plays();
    const play = this.#plays.add(told);
    if (!link) {
      this.#plays.failAll('the session was closed');
      return endedHandle;
    }
    link.send({ type: 'play', session: this.#session, play, item });
    return playHandle(this.#plays, play, this.#session, link);
  }

  sendDigits(sequence: DigitTiming): void {
    this.#open()?.send({ type: 'sendDigits', session: this.#session, sequence });
  }

  /** A tone between the halves is heard by nobody. */
  indicate(): void {}

  echo(on: boolean): void {
    this.#echoing = on;
  }

  /** Mutes audio, and no audio is heard by anyone. Digits pass, as everywhere. */
  mute(): void {}

  statistics(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#link?.send({ type: 'close', session: this.#session });
    this.#link?.remove(this.#session);
    this.#plays?.failAll('the session was closed');
  }

  heard(report: EngineReport): void {
    if (report.type === 'played') this.#plays?.end(report.play, report.report);
    if (report.type === 'digitSent') this.other?.receiveDigit(report.digit, report.durationMs);
    if (report.type === 'faulted') {
      this.#link?.remove(this.#session);
      this.lost(report.reason);
    }
  }

  lost(reason: string): void {
    this.#link = undefined;
    this.#plays?.failAll(reason);
  }

  /** A digit that the other half sent; an echoing half sends it back. */
  receiveDigit(digit: string, durationMs: number): void {
    if (this.#closed) return;
    this.#told({ type: 'media.digit', digit, durationMs });
    if (this.#echoing) this.other?.hearEcho(digit, durationMs);
  }

  /** A digit of our own that came back. It is not echoed again, or two echoing halves would never rest. */
  hearEcho(digit: string, durationMs: number): void {
    if (!this.#closed) this.#told({ type: 'media.digit', digit, durationMs });
  }

  /** The thread, with this half opened there; after a crash it is opened again in the next one. */
  #open(): ThreadLink | undefined {
    if (this.#closed) return undefined;
    if (this.#link?.alive) return this.#link;
    this.#link = this.#thread();
    if (!this.#link) return undefined;
    this.#session = this.#link.add(this);
    this.#link.send({ type: 'openLocal', session: this.#session });
    return this.#link;
  }
}
