import type { SipResponse } from '../message/message.ts';
import { nothingAsked, OneAtATime, type OneAtATimeData, type OneAtATimeOptions } from './one-at-a-time.ts';

/** State of our UPDATEs without offer: plain data. */
export type AnnouncerData = OneAtATimeData & {
  /** The peer has refused the method: re-INVITEs tell instead. */
  readonly refused: boolean;
};

export type AnnouncerOptions = OneAtATimeOptions & {
  /** Whether the peer has said that it takes UPDATE. */
  isAllowed(): boolean;
  /** Sends an UPDATE with the present values. */
  send(): void;
  /** Sends a re-INVITE instead. */
  reinvite(): void;
  /** How long a re-INVITE should wait, in ms, as the peer may well send one of its own now. */
  quietMs(): number;
};

/** Longest pause that a peer may ask for, in s. */
const longestPause = 30;

/** Before the first change of a call. */
export const nothingAnnounced: AnnouncerData = { ...nothingAsked, refused: false };

/**
 * Sends a call's peer changes other than offers (the connected line) by UPDATE (RFC 3311 5.1), one at a time. If the
 * peer lacks UPDATE, it sends re-INVITE. Changes meanwhile go into the next one.
 */
export class Announcer extends OneAtATime<AnnouncerData, AnnouncerOptions> {
  protected begin(): void {
    const byUpdate = !this.data.refused && this.options.isAllowed();
    const quietMs = byUpdate ? 0 : this.options.quietMs();
    if (quietMs > 0) return void this.pause(quietMs);
    this.change({ wanted: false, busy: byUpdate });
    if (byUpdate) this.options.send();
    else this.options.reinvite();
  }

  /** The final response to one of them. */
  receive(response: SipResponse): void {
    const { status } = response;
    this.change({ busy: false });
    if (status < 300) this.options.accepted(response);
    else if (status === 481 || status === 408) return void this.options.lost(status);
    else if (status === 491) this.pause();
    else if (status === 500 && response.header('Retry-After') !== undefined) this.pause(retryAfterMs(response));
    else if (status === 405 || status === 501) this.change({ refused: true, wanted: true });
    // Other errors are ignored: the call continues unchanged.
    this.proceed();
  }

  /** No response (408), or the request could not be sent (503). */
  failed(status: 408 | 503): void {
    this.change({ busy: false });
    if (status === 408) this.options.lost(status);
    else this.proceed();
  }
}

/** RFC 3261 20.33, bounded, and never 0. */
function retryAfterMs(response: SipResponse): number {
  const seconds = Number.parseInt(response.header('Retry-After') ?? '', 10);
  return Math.min(Math.max(seconds || 1, 1), longestPause) * 1000;
}
