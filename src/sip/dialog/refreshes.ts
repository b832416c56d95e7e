import type { HeaderLines } from '../message/build.ts';
import type { SipResponse } from '../message/message.ts';
import { Announcer, type AnnouncerData, type AnnouncerOptions, nothingAnnounced } from './announcer.ts';
import type { Deadlines } from './deadlines.ts';
import { refreshed } from './dialog.ts';
import type { DialogRequests } from './dialog-requests.ts';
import { glareMs } from './one-at-a-time.ts';
import { neverReinvited, type ReinviteData, Reinviter, type ReinviterOptions } from './reinviter.ts';
import type { SessionTimer } from './session-timer.ts';
import { defaultAnnounceDelayMs, type Stack } from './stack.ts';
import type { UsageHandlers } from './usage-handlers.ts';

/** State of our re-INVITEs and UPDATEs: plain data. */
export type RefreshesData = {
  /** Left out before the first. */
  readonly reinvite?: ReinviteData;
  readonly announcer?: AnnouncerData;
};

/** Deadlines that end a pause which the peer asked for. */
export type RefreshDeadline = 'reinvite' | 'announce';

type RefreshesOptions = {
  stack: Stack;
  /** Value of Allow. */
  allow: string;
  handlers: UsageHandlers;
  requests: DialogRequests;
  sessionTimer: SessionTimer;
  deadlines: Pick<Deadlines<RefreshDeadline>, 'set'>;
  /** Whether the call stands. */
  isConfirmed(): boolean;
  /** Whether a 200 of ours waits for its ACK. */
  isUnacknowledged(): boolean;
  /** The peer's answer is of no use: the call cannot go on. */
  unusable(): void;
  /** The peer has forgotten the dialog, or never answers. */
  lose(status: number): void;
};

/** Labels of the requests. */
const REINVITE = 'reinvite';
const UPDATE = 'update';

/** Our renegotiations with a call's peer: offers by re-INVITE, other changes by UPDATE. */
export class Refreshes {
  readonly #options: RefreshesOptions;
  /** Created by the first use: most calls never renegotiate. */
  #reinviting: Reinviter | undefined;
  #announcing: Announcer | undefined;
  /** The dialog was over before the first re-INVITE. */
  #ended = false;
  /** When the call was acknowledged, by the monotonic clock. */
  #begunAt = Number.NEGATIVE_INFINITY;

  constructor(options: RefreshesOptions, data: RefreshesData = {}) {
    this.#options = options;
    if (data.reinvite) this.#reinviting = new Reinviter(this.#reinviteOptions(), data.reinvite);
    if (data.announcer) this.#announcing = new Announcer(this.#announceOptions(), data.announcer);
  }

  /** The call was acknowledged just now. */
  begun(): void {
    this.#begunAt = this.#options.stack.clock.monotonic();
  }

  /** An offer of ours waits for its answer. */
  get offering(): boolean {
    return this.#reinviting?.busy === true;
  }

  /** Sends a re-offer, now or after the current request. */
  reinvite(): void {
    this.#reinviter.start();
  }

  /** Tells the standing headers, by UPDATE when the peer takes that, else by re-INVITE. */
  announce(): void {
    this.#announcer.start();
  }

  /** Pending requests may be sent now. */
  proceed(): void {
    this.#reinviting?.proceed();
    this.#announcing?.proceed();
  }

  /** A deadline is over. */
  due(name: RefreshDeadline): void {
    if (name === 'reinvite') this.#reinviter.waited();
    else this.#announcer.waited();
  }

  /** The final response to the request sent as `label`. @returns false when that was none of these. */
  receive(label: string, response: SipResponse): boolean {
    if (label === REINVITE) this.#reinviter.receive(response);
    else if (label !== UPDATE) return false;
    else if (this.#options.isConfirmed()) this.#announcer.receive(response);
    return true;
  }

  /** No response (408), or the request could not be sent (503). @returns false for other requests. */
  failed(label: string, status: 408 | 503): boolean {
    if (label === REINVITE) this.#reinviter.failed(status);
    else if (label !== UPDATE) return false;
    else this.#announcer.failed(status);
    return true;
  }

  /** The dialog is over. */
  end(): void {
    this.#ended = true;
    this.#reinviting?.end();
  }

  dump(): RefreshesData {
    const reinvite = this.#reinviting?.data ?? (this.#ended ? this.#noReinvite : undefined);
    return { ...(reinvite && { reinvite }), ...(this.#announcing && { announcer: this.#announcing.data }) };
  }

  get #noReinvite(): ReinviteData {
    return this.#ended ? { ...neverReinvited, ended: true } : neverReinvited;
  }

  get #reinviter(): Reinviter {
    return (this.#reinviting ??= new Reinviter(this.#reinviteOptions(), this.#noReinvite));
  }

  get #announcer(): Announcer {
    return (this.#announcing ??= new Announcer(this.#announceOptions(), nothingAnnounced));
  }

  #reinviteOptions(): ReinviterOptions {
    const { requests, sessionTimer, deadlines, handlers, isConfirmed, unusable, lose } = this.#options;
    return {
      glareMs: () => this.#glareMs(),
      canStart: () => this.#canStart(),
      send: () =>
        requests.send(REINVITE, 'INVITE', {
          headers: this.#headers(),
          contentType: 'application/sdp',
          body: handlers.makeOffer(),
        }),
      cancel: () => requests.cancel(REINVITE),
      wait: (ms) => deadlines.set('reinvite', ms),
      accepted: (response) => {
        requests.update(refreshed(requests.dialog, response));
        sessionTimer.renew();
        requests.acknowledge(response);
      },
      repeated: (response) => requests.acknowledge(response),
      answered: (sdp) => {
        if (!isConfirmed()) return;
        // As in Asterisk: without an answer to our offer the session stays as it was.
        if (sdp === undefined) handlers.onOfferRefused?.(488);
        else if (!handlers.acceptAnswer(sdp)) unusable();
      },
      refused: (status) => handlers.onOfferRefused?.(status),
      lost: lose,
    };
  }

  #announceOptions(): AnnouncerOptions {
    const { requests, sessionTimer, deadlines, lose } = this.#options;
    return {
      glareMs: () => this.#glareMs(),
      canStart: () => this.#canStart(),
      isAllowed: () => requests.dialog.takesUpdate === true,
      send: () => requests.send(UPDATE, 'UPDATE', { headers: this.#headers() }),
      reinvite: () => this.#reinviter.start(),
      quietMs: () => this.#quietMs(),
      wait: (ms) => deadlines.set('announce', ms),
      accepted: (response) => {
        requests.update(refreshed(requests.dialog, response));
        sessionTimer.renew();
      },
      lost: lose,
    };
  }

  #glareMs(): number {
    const { stack, requests } = this.#options;
    return glareMs(Number.parseInt(stack.ids.hex(4), 16), requests.dialog.ownsCallId);
  }

  /** Phones send re-INVITEs of their own right after the ACK: those of ours that tell something let them go first. */
  #quietMs(): number {
    const { clock, announceDelayMs } = this.#options.stack;
    return this.#begunAt + (announceDelayMs?.() ?? defaultAnnounceDelayMs) - clock.monotonic();
  }

  #canStart(): boolean {
    return this.#options.isConfirmed() && !this.#options.isUnacknowledged();
  }

  #headers(): HeaderLines {
    const { allow, handlers, sessionTimer } = this.#options;
    return [['Allow', allow], ...sessionTimer.headers(), ...(handlers.standingHeaders?.() ?? [])];
  }
}
