import type { SipResponse } from '../message/message.ts';

/** Where re-INVITEs of ours stand: plain data. */
export type ReinviteData = {
  /** One waits for its final response. */
  readonly busy: boolean;
  /** One is to be sent as soon as nothing stands in the way. */
  readonly wanted: boolean;
  /** The peer offered at the same time (491): the deadline `reinvite` ends the wait. */
  readonly waiting: boolean;
  /** CSeq of the last one that was answered with a 2xx; 0 before: a 2xx up to it is a repeated one. */
  readonly answered: number;
  /** The dialog is over. */
  readonly ended: boolean;
};

export type ReinviterOptions = {
  /** How long to wait after a 491, in ms: {@link glareMs}. */
  glareMs(): number;
  /** Whether nothing else of the dialog stands in the way. */
  canStart(): boolean;
  /** Sends one with an offer made now. */
  send(): void;
  /** Cancels the one under way as soon as that is allowed. */
  cancel(): void;
  /** Calls `waited` after `ms`. */
  wait(ms: number): void;
  /** A 2xx, to be acknowledged; the same once more. */
  accepted(response: SipResponse): void;
  repeated(response: SipResponse): void;
  answered(sdp: string): void;
  refused(status: number): void;
  lost(status: number): void;
};

const fresh: ReinviteData = { busy: false, wanted: false, waiting: false, answered: 0, ended: false };

/**
 * How long to wait when both sides asked for something at once (RFC 3261 14.1), in ms: the owner of the Call-ID 2.1 to 4 s,
 * the other up to 2 s, in steps of 10 ms.
 * @param random 16 random bits.
 */
export const glareMs = (random: number, ownsCallId: boolean): number =>
  ownsCallId ? 2100 + (random % 191) * 10 : (random % 201) * 10;

/** Sends re-INVITEs one at a time (RFC 3261 14.1). */
export class Reinviter {
  readonly #options: ReinviterOptions;
  #data: ReinviteData;

  constructor(options: ReinviterOptions, data: ReinviteData = fresh) {
    this.#options = options;
    this.#data = data;
  }

  get data(): ReinviteData {
    return this.#data;
  }

  /** True while one waits for its final response. */
  get busy(): boolean {
    return this.#data.busy;
  }

  /** Sends one now, or after what is under way. */
  start(): void {
    this.#change({ wanted: true });
    this.proceed();
  }

  /** Something that stood in the way is gone. */
  proceed(): void {
    const { wanted, busy, waiting } = this.#data;
    if (!wanted || busy || waiting || !this.#options.canStart()) return;
    this.#change({ wanted: false, busy: true });
    this.#options.send();
  }

  /** The wait after a 491 is over. */
  waited(): void {
    this.#change({ waiting: false });
    this.proceed();
  }

  /** A final response to one of them; of a 2xx every one that comes. */
  receive(response: SipResponse): void {
    const { answered, ended } = this.#data;
    const success = response.status < 300;
    if (success && (ended || response.cseq.number <= answered)) return void this.#options.repeated(response);
    if (ended) return;
    this.#change({ busy: false, ...(success && { answered: response.cseq.number }) });
    this.#settle(response);
    this.proceed();
  }

  /** Nobody answered (408), or nothing could be sent (503). */
  failed(status: 408 | 503): void {
    this.#change({ busy: false });
    if (this.#data.ended) return;
    if (status === 408) this.#options.lost(status);
    else this.#options.refused(status);
    this.proceed();
  }

  /**
   * The dialog is over. A peer that has not answered our re-INVITE by then would have to (RFC 3261 15.1.2) and may
   * never do so: a CANCEL bounds how long it is waited for. Nothing is told any more; a late 2xx is acknowledged.
   */
  end(): void {
    const { busy } = this.#data;
    this.#change({ ended: true });
    if (busy) this.#options.cancel();
  }

  #settle(response: SipResponse): void {
    const { status } = response;
    if (status < 300) {
      this.#options.accepted(response);
      this.#options.answered(response.bodyText);
    } else if (status === 491) this.#retryLater();
    else if (status === 481 || status === 408) this.#options.lost(status);
    else this.#options.refused(status);
  }

  /** Both sides offered at once. */
  #retryLater(): void {
    this.#change({ wanted: true, waiting: true });
    this.#options.wait(this.#options.glareMs());
  }

  #change(change: Partial<ReinviteData>): void {
    this.#data = { ...this.#data, ...change };
  }
}
