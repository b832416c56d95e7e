import type { SipResponse } from '../message/message.ts';
import { nothingAsked, OneAtATime, type OneAtATimeData, type OneAtATimeOptions } from './one-at-a-time.ts';

/** Where UPDATEs of ours that only tell something stand: plain data. */
export type AnnouncerData = OneAtATimeData & {
  /** The peer has refused the method: re-INVITEs tell instead. */
  readonly refused: boolean;
};

export type AnnouncerOptions = OneAtATimeOptions & {
  /** Whether the peer has said that it takes UPDATE. */
  isAllowed(): boolean;
  /** Sends one, with what is to be told now. */
  send(): void;
  /** Tells it by re-INVITE instead. */
  reinvite(): void;
  /** How long a re-INVITE should wait, in ms, as the peer may well send one of its own now. */
  quietMs(): number;
};

/** Longest pause that a peer may ask for, in s. */
const longestPause = 30;

/**
 * Tells the peer of a call something that is no offer (who it is connected to) by UPDATE (RFC 3311 5.1), one at a time,
 * or by re-INVITE when the peer does not take that method. What changes meanwhile is told in the next one.
 */
export class Announcer extends OneAtATime<AnnouncerData, AnnouncerOptions> {
  constructor(options: AnnouncerOptions, data: AnnouncerData = { ...nothingAsked, refused: false }) {
    super(options, data);
  }

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
    // Whatever else it does not like of it is its affair: the call goes on as it is.
    this.proceed();
  }

  /** Nobody answered (408), or nothing could be sent (503). */
  failed(status: 408 | 503): void {
    this.change({ busy: false });
    if (status === 408) this.options.lost(status);
    else this.proceed();
  }
}

/** RFC 3261 20.33, bounded, and never at once. */
function retryAfterMs(response: SipResponse): number {
  const seconds = Number.parseInt(response.header('Retry-After') ?? '', 10);
  return Math.min(Math.max(seconds || 1, 1), longestPause) * 1000;
}
