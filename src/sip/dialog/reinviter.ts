import type { SipResponse } from '../message/message.ts';
import { descriptionIn } from '../message/session-body.ts';
import { nothingAsked, OneAtATime, type OneAtATimeData, type OneAtATimeOptions } from './one-at-a-time.ts';

/** State of our re-INVITEs: plain data. */
export type ReinviteData = OneAtATimeData & {
  /** CSeq of the last one that was answered with a 2xx; 0 before: a 2xx up to it is a repeated one. */
  readonly answered: number;
  /** The dialog is over. */
  readonly ended: boolean;
};

export type ReinviterOptions = OneAtATimeOptions & {
  /** Sends one with an offer made now. */
  send(): void;
  /** Cancels the one under way as soon as that is allowed. */
  cancel(): void;
  /** The same 2xx once more, to be acknowledged as the first (`accepted`) was. */
  repeated(response: SipResponse): void;
  /** Its answer; undefined when the 2xx has none. */
  answered(sdp: string | undefined): void;
  refused(status: number): void;
};

/** Before the first re-INVITE of a dialog. */
export const neverReinvited: ReinviteData = { ...nothingAsked, answered: 0, ended: false };

/** Sends re-INVITEs one at a time (RFC 3261 14.1). */
export class Reinviter extends OneAtATime<ReinviteData, ReinviterOptions> {
  protected begin(): void {
    this.change({ wanted: false, busy: true });
    this.options.send();
  }

  /** A final response to one of them; of a 2xx every one that comes. */
  receive(response: SipResponse): void {
    const { answered, ended } = this.data;
    const success = response.status < 300;
    if (success && (ended || response.cseq.number <= answered)) return void this.options.repeated(response);
    if (ended) return;
    this.change({ busy: false, ...(success && { answered: response.cseq.number }) });
    this.#settle(response);
    this.proceed();
  }

  /** No response (408), or the request could not be sent (503). */
  failed(status: 408 | 503): void {
    this.change({ busy: false });
    if (this.data.ended) return;
    if (status === 408) this.options.lost(status);
    else this.options.refused(status);
    this.proceed();
  }

  /**
   * The dialog has ended. The peer should still respond to our open re-INVITE (RFC 3261 15.1.2) but may not: a CANCEL
   * bounds the wait. Nothing more is reported; a late 2xx is acknowledged.
   */
  end(): void {
    const { busy } = this.data;
    this.change({ ended: true });
    if (busy) this.options.cancel();
  }

  #settle(response: SipResponse): void {
    const { status } = response;
    if (status < 300) {
      this.options.accepted(response);
      this.options.answered(descriptionIn(response));
    } else if (status === 491) this.pause();
    else if (status === 481 || status === 408) this.options.lost(status);
    else this.options.refused(status);
  }
}
