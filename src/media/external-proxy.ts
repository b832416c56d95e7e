import type { ExternalReport, ExternalRequest } from '../telephony/external.ts';
import type { EngineReport } from './protocol.ts';
import { SessionProxy, type SessionProxyOptions } from './session-proxy.ts';
import type { ThreadLink } from './thread-link.ts';

/** The main thread's side of a session that is connected to a server. A connection that is lost with its thread stays so. */
export class ExternalProxy extends SessionProxy {
  readonly #request: ExternalRequest;
  readonly #told: (report: ExternalReport) => void;

  constructor(
    { id, told, ended }: Omit<SessionProxyOptions, 'told'> & { told: (report: ExternalReport) => void },
    link: ThreadLink,
    request: ExternalRequest,
  ) {
    super({ id, told, ended });
    this.#request = request;
    this.#told = told;
    this.link = link;
    this.place = link.add(this);
    this.open();
  }

  override audible(): number | undefined {
    return this.ended ? undefined : this.place?.session;
  }

  override heard(report: EngineReport): void {
    switch (report.type) {
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

  override moveTo(): void {
    this.lost('the media thread ended');
  }

  protected override open(): void {
    if (!this.place) return;
    const { session, slot } = this.place;
    this.link?.send({ type: 'openExternal', session, slot, external: this.#request });
  }
}
