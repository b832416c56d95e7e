import type { SipResponse } from '../message/message.ts';
import type { DialogSendingHandlers } from './dialog-requests.ts';
import type { Sent } from './requester.ts';
import type { Stack, Timers } from './stack.ts';

export type ReinviterOptions = {
  stack: Stack;
  timers: Timers;
  ownsCallId: boolean;
  /** Whether nothing else of the dialog stands in the way. */
  canStart(): boolean;
  offer(): string;
  send(sdp: string, handlers: DialogSendingHandlers): void;
  /** A 2xx, to be acknowledged; the same once more. */
  accepted(response: SipResponse): void;
  repeated(response: SipResponse): void;
  answered(sdp: string): void;
  refused(status: number): void;
  lost(status: number): void;
};

/** Sends re-INVITEs one at a time (RFC 3261 14.1). */
export interface Reinviter {
  /** True while one waits for its final response. */
  readonly busy: boolean;
  /** Sends one now, or after what is under way. */
  start(): void;
  /** Something that stood in the way is gone. */
  proceed(): void;
  /**
   * The dialog is over. A peer that has not answered our re-INVITE by then would have to (RFC 3261 15.1.2) and may
   * never do so: a CANCEL bounds how long it is waited for. Nothing is told any more; a late 2xx is acknowledged.
   */
  end(): void;
}

export function createReinviter(options: ReinviterOptions): Reinviter {
  const { stack, timers } = options;
  let busy = false;
  let wanted = false;
  let waiting: unknown;
  let ended = false;
  let sent: Sent | undefined;

  const proceed = () => {
    if (!wanted || busy || waiting !== undefined || !options.canStart()) return;
    wanted = false;
    busy = true;
    let answered = false;
    options.send(options.offer(), {
      onSent(request) {
        if (busy) sent = request;
      },
      onFinal(response) {
        sent = undefined;
        if (answered || (ended && response.status < 300)) return options.repeated(response);
        if (ended) return;
        answered = true;
        finish(response);
      },
      onFailure(status) {
        sent = undefined;
        busy = false;
        if (ended) return;
        if (status === 408) options.lost(status);
        else options.refused(status);
        proceed();
      },
    });
  };

  const finish = (response: SipResponse) => {
    const { status } = response;
    busy = false;
    if (status < 300) {
      options.accepted(response);
      options.answered(response.bodyText);
    } else if (status === 491) retryLater();
    else if (status === 481 || status === 408) options.lost(status);
    else options.refused(status);
    proceed();
  };

  /** Both sides offered at once: the owner of the Call-ID waits 2.1 to 4 s, the other up to 2 s, in steps of 10 ms. */
  const retryLater = () => {
    const random = Number.parseInt(stack.ids.hex(4), 16);
    const delayMs = options.ownsCallId ? 2100 + (random % 191) * 10 : (random % 201) * 10;
    wanted = true;
    waiting = timers.start(() => {
      waiting = undefined;
      proceed();
    }, delayMs);
  };

  return {
    get busy() {
      return busy;
    },
    start() {
      wanted = true;
      proceed();
    },
    proceed,
    end() {
      ended = true;
      sent?.cancel();
    },
  };
}
