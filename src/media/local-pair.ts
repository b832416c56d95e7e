import type { MediaReport, MediaSession, SessionCommand } from '../telephony/media.ts';
import type { EngineReport } from './protocol.ts';
import { SessionProxy, type SessionProxyOptions } from './session-proxy.ts';
import type { ThreadLink } from './thread-link.ts';

/**
 * Two sessions joined back to back. The media thread only gets a half when it plays, sends digits, or has a listener.
 * Everything else is state of this side.
 *
 * @param thread gives a media thread, undefined once the plane is closed; `near`: preferred thread.
 */
export function createLocalPair(
  options: readonly [SessionProxyOptions, SessionProxyOptions],
  thread: (near?: ThreadLink) => ThreadLink | undefined,
): [LocalHalf, LocalHalf] {
  const first = new LocalHalf(options[0], thread);
  const second = new LocalHalf(options[1], thread);
  first.other = second;
  second.other = first;
  return [first, second];
}

class LocalHalf extends SessionProxy implements MediaSession {
  other: LocalHalf | undefined;
  readonly #thread: (near?: ThreadLink) => ThreadLink | undefined;
  #echoing = false;

  constructor(options: SessionProxyOptions, thread: () => ThreadLink | undefined) {
    super(options);
    this.#thread = thread;
  }

  override audible(near?: ThreadLink): number | undefined {
    if (this.ended) return undefined;
    this.#openHere(near);
    this.other?.openFor();
    return this.place?.session;
  }

  override echo(on: boolean): void {
    this.#echoing = on;
    super.echo(on);
  }

  override heard(report: EngineReport): void {
    if (report.type === 'digitSent') this.other?.receiveDigit(report.digit, report.durationMs);
    else super.heard(report);
  }

  /** A digit that the other half sent; an echoing half sends it back. */
  receiveDigit(digit: string, durationMs: number): void {
    if (this.ended) return;
    this.#tellDigit(digit, durationMs);
    if (this.#echoing) this.other?.hearEcho(digit, durationMs);
  }

  /** A digit of our own that came back. It is not echoed again, or two echoing halves would never rest. */
  hearEcho(digit: string, durationMs: number): void {
    if (!this.ended) this.#tellDigit(digit, durationMs);
  }

  /** Opens it, because the other half is to be heard or listened to. */
  openFor(): void {
    if (!this.ended) this.#openHere();
  }

  protected override prepare(command: SessionCommand): void {
    switch (command.type) {
      case 'play':
      case 'sendDigits':
        this.#openHere();
        return;
      case 'record':
        this.audible();
        return;
      case 'detectTalking':
      case 'detectTone':
        if (command.detection) this.audible();
        return;
    }
  }

  protected override open(): void {
    if (!this.place) return;
    const { session, slot } = this.place;
    // A half opened earlier is in the thread; one opened later joins this one.
    const peer = this.other?.thread === this.link ? this.other?.number : undefined;
    this.link?.send({ type: 'openLocal', session, slot, ...(peer !== undefined && { peer }) });
  }

  /** Its number in the thread, once it is there. */
  get number(): number | undefined {
    return this.ended ? undefined : this.place?.session;
  }

  protected override tellLost(_reason: string): void {
    // Nothing is heard on a pair then, as before anything was played: its channels go on.
  }

  #tellDigit(digit: string, durationMs: number): void {
    const report: MediaReport = { type: 'media.digit', digit, durationMs };
    this.told(report);
  }

  #openHere(near?: ThreadLink): void {
    if (this.place) return;
    this.link = this.other?.thread ?? this.#thread(near);
    if (!this.link) return;
    this.place = this.link.add(this);
    this.open();
    this.askAgain();
  }
}
