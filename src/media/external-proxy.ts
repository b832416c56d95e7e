import type { ArrivedSocket, ExternalReport, ExternalRequest, ExternalSession } from '../telephony/external.ts';
import { SocketRelay } from './external/socket-relay.ts';
import type { EngineReport } from './protocol.ts';
import { SessionProxy, type SessionProxyOptions } from './session-proxy.ts';
import type { ThreadLink } from './thread-link.ts';

/**
 * The main thread's side of a session that is connected to a server. A connection that is lost with its thread is made
 * again by another one; the WebSocket that a server has opened to us is in no such thread, and only its session is new.
 */
export class ExternalProxy extends SessionProxy implements ExternalSession {
  readonly #request: ExternalRequest;
  readonly #told: (report: ExternalReport) => void;
  readonly #relayBytes: number;
  readonly #thread: () => ThreadLink | undefined;
  #relay: SocketRelay | undefined;
  #persists = false;

  /**
   * @param relayBytes octets that may be under way between a WebSocket of the main thread and the session.
   * @param thread one to connect again in; undefined once there is none.
   */
  constructor(
    { id, told, ended }: Omit<SessionProxyOptions, 'told'> & { told: (report: ExternalReport) => void },
    link: ThreadLink,
    {
      request,
      relayBytes,
      thread,
    }: { request: ExternalRequest; relayBytes: number; thread: () => ThreadLink | undefined },
  ) {
    super({ id, told, ended });
    this.#request = request;
    this.#relayBytes = relayBytes;
    this.#thread = thread;
    this.#told = told;
    this.link = link;
    this.place = link.add(this);
    this.open();
  }

  override audible(): number | undefined {
    return this.ended ? undefined : this.place?.session;
  }

  attach(socket: ArrivedSocket): void {
    if (this.ended || this.#relay) {
      socket.end();
      return;
    }
    this.#relay = new SocketRelay(
      socket,
      (relay) => {
        if (!this.ended && this.place) this.link?.send({ type: 'relay', session: this.place.session, relay });
      },
      this.#relayBytes,
    );
  }

  override close(): void {
    super.close();
    this.#relay?.end();
  }

  persist(on: boolean): void {
    this.#persists = on;
  }

  reconnect(): void {
    const link = this.#thread();
    if (this.ended || !link) return;
    const again = (): void => {
      if (this.place) {
        this.link?.send({ type: 'close', session: this.place.session });
        this.link?.remove(this.place);
      }
      this.reopen(link);
    };
    if (this.mix) this.mix.rejoin(this, again);
    else again();
  }

  override lost(reason: string): void {
    if (this.#persists && !this.ended) {
      this.place = undefined;
      this.tellLost(reason);
      return;
    }
    super.lost(reason);
    this.#relay?.end();
  }

  override heard(report: EngineReport): void {
    switch (report.type) {
      case 'relayed':
        this.#relay?.hear(report.relay);
        return;
      case 'connected':
        this.#told({ type: 'media.connected', local: report.local });
        return;
      case 'flowing':
        this.#told({ type: 'media.flowing' });
        return;
      case 'hangupAsked':
        this.#told({ type: 'media.hangupAsked' });
        return;
      case 'answerAsked':
        this.#told({ type: 'media.answerAsked' });
        return;
      default:
        super.heard(report);
    }
  }

  override moveTo(link: ThreadLink): void {
    super.moveTo(link);
    if (this.ended) return;
    this.#told({ type: 'media.cut' });
    this.#relay?.again();
  }

  protected override open(): void {
    if (!this.place) return;
    const { session, slot } = this.place;
    this.link?.send({ type: 'openExternal', session, slot, external: this.#request });
  }
}
