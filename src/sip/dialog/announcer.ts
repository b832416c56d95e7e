import type { SipResponse } from '../message/message.ts';

/** Where UPDATEs of ours that only tell something stand: plain data. */
export type AnnouncerData = {
  /** One waits for its final response. */
  readonly busy: boolean;
  /** There is something to be told as soon as nothing stands in the way. */
  readonly wanted: boolean;
  /** The peer asked for a pause (491, 500): the deadline `announce` ends it. */
  readonly waiting: boolean;
  /** The peer has refused the method: re-INVITEs tell instead. */
  readonly refused: boolean;
};

export type AnnouncerOptions = {
  /** How long to wait after a 491 (RFC 3261 14.1), in ms. */
  glareMs(): number;
  /** Whether nothing else of the dialog stands in the way. */
  canStart(): boolean;
  /** Whether the peer has said that it takes UPDATE. */
  isAllowed(): boolean;
  /** Sends one, with what is to be told now. */
  send(): void;
  /** Tells it by re-INVITE instead. */
  reinvite(): void;
  /** Calls `waited` after `ms`. */
  wait(ms: number): void;
  accepted(response: SipResponse): void;
  lost(status: number): void;
};

const fresh: AnnouncerData = { busy: false, wanted: false, waiting: false, refused: false };

/** Longest pause that a peer may ask for, in s. */
const longestPause = 30;

/**
 * Tells the peer of a call something that is no offer (who it is connected to) by UPDATE (RFC 3311 5.1), one at a time,
 * or by re-INVITE when the peer does not take that method. What changes meanwhile is told in the next one.
 */
export class Announcer {
  readonly #options: AnnouncerOptions;
  #data: AnnouncerData;

  constructor(options: AnnouncerOptions, data: AnnouncerData = fresh) {
    this.#options = options;
    this.#data = data;
  }

  get data(): AnnouncerData {
    return this.#data;
  }

  /** There is something new: it is told now, or after what is under way. */
  start(): void {
    this.#change({ wanted: true });
    this.proceed();
  }

  /** Something that stood in the way is gone. */
  proceed(): void {
    const { wanted, busy, waiting, refused } = this.#data;
    if (!wanted || busy || waiting || !this.#options.canStart()) return;
    const byUpdate = !refused && this.#options.isAllowed();
    this.#change({ wanted: false, busy: byUpdate });
    if (byUpdate) this.#options.send();
    else this.#options.reinvite();
  }

  /** The pause is over. */
  waited(): void {
    this.#change({ waiting: false });
    this.proceed();
  }

  /** The final response to one of them. */
  receive(response: SipResponse): void {
    const { status } = response;
    this.#change({ busy: false });
    if (status < 300) this.#options.accepted(response);
    else if (status === 481 || status === 408) return void this.#options.lost(status);
    else if (status === 491) this.#pause(this.#options.glareMs());
    else if (status === 500 && response.header('Retry-After') !== undefined) this.#pause(retryAfterMs(response));
    else if (status === 405 || status === 501) this.#change({ refused: true, wanted: true });
    // Whatever else it does not like of it is its affair: the call goes on as it is.
    this.proceed();
  }

  /** Nobody answered (408), or nothing could be sent (503). */
  failed(status: 408 | 503): void {
    this.#change({ busy: false });
    if (status === 408) this.#options.lost(status);
    else this.proceed();
  }

  #pause(ms: number): void {
    this.#change({ wanted: true, waiting: true });
    this.#options.wait(ms);
  }

  #change(change: Partial<AnnouncerData>): void {
    this.#data = { ...this.#data, ...change };
  }
}

/** RFC 3261 20.33, bounded, and never at once. */
function retryAfterMs(response: SipResponse): number {
  const seconds = Number.parseInt(response.header('Retry-After') ?? '', 10);
  return Math.min(Math.max(seconds || 1, 1), longestPause) * 1000;
}
