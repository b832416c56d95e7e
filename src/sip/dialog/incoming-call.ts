import type { HeaderLines } from '../message/build.ts';
import type { SipRequest } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Source, Target } from '../transport/transport.ts';
import { uasDialog } from './dialog.ts';
import { createInviteUsage, type InviteUsage, type UsageHandlers } from './invite-usage.ts';
import { type Stack, Timers } from './stack.ts';

export type IncomingHandlers = UsageHandlers & {
  /** The caller gave up before the answer; the INVITE has been answered 487. Told once, then `onClosed`. */
  onCancelled(cancel: SipRequest | undefined): void;
};

export type ResponseOptions = { sdp?: string; headers?: HeaderLines };

/** A call that came in. Before the answer only `provisional`, `answer`, `refuse` do anything, after it only the rest. */
export interface IncomingCall {
  readonly request: SipRequest;
  readonly source: Source;
  /** True when the INVITE has no SDP: our answer then carries the offer, the ACK the answer. */
  readonly wantsOffer: boolean;
  /** Sends 101-199; repeated every minute so that proxies keep the call (RFC 3261 13.3.1.1). */
  provisional(status: number, options?: ResponseOptions): void;
  /** Sends the 200 and repeats it until the ACK. */
  answer(sdp: string, headers?: HeaderLines): void;
  /** Sends a final response from 300 on; `onClosed` follows. */
  refuse(status: number, options?: { headers?: HeaderLines; contact?: NameAddr }): void;
  /** The call inside its dialog. */
  readonly usage: InviteUsage;
}

export type IncomingOptions = {
  stack: Stack;
  transaction: ServerTransaction;
  contactFor(target: Target): NameAddr | undefined;
  allow: string;
  /** Keep sending to where the INVITE came from when the caller is behind a NAT. */
  symmetric: boolean;
  handlers: IncomingHandlers;
};

const REPEAT_PROVISIONAL_MS = 60_000;

export function createIncomingCall(options: IncomingOptions): IncomingCall {
  const { stack, transaction, handlers } = options;
  const { request, source } = transaction;
  const timers = new Timers(stack, 'a call that came in');
  let final = false;
  let repeat: unknown;

  const finish = () => {
    final = true;
    timers.clearAll();
  };

  const usage = createInviteUsage({
    stack,
    dialog: uasDialog(request, transaction.toTag, options.symmetric ? source : undefined),
    contactFor: options.contactFor,
    allow: options.allow,
    handlers: {
      ...handlers,
      onEnded(reason) {
        if (final) return handlers.onEnded(reason);
        // BYE inside the early dialog: the INVITE still needs its final response (RFC 3261 15.1.2).
        cancelled(reason.by === 'bye' ? reason.request : undefined);
      },
    },
  });

  const cancelled = (by: SipRequest | undefined) => {
    finish();
    transaction.reply(487, { headers: [['Server', stack.userAgent]] });
    handlers.onCancelled(by);
  };

  transaction.handlers = {
    onCancel(cancel) {
      if (final) return;
      cancelled(cancel);
      usage.drop();
    },
    onTerminated: () => timers.clearAll(),
  };

  const expires = request.expires;
  if (expires !== undefined && expires > 0 && expires < 86_400)
    timers.start(() => {
      if (final) return;
      cancelled(undefined);
      usage.drop();
    }, expires * 1000);

  const provisional = (status: number, { sdp, headers = [] }: ResponseOptions = {}) => {
    if (final) return;
    const contact = options.contactFor(source);
    transaction.reply(status, {
      ...(contact && { contact }),
      headers: [['Server', stack.userAgent], ['Allow', options.allow], ...headers],
      ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
    });
    timers.clear(repeat);
    repeat = timers.start(
      () => provisional(status, { headers, ...(sdp !== undefined && { sdp }) }),
      REPEAT_PROVISIONAL_MS,
    );
  };

  return {
    request,
    source,
    usage,
    wantsOffer: request.body.length === 0,
    provisional,
    answer(sdp, headers = []) {
      if (final) return;
      finish();
      usage.accept(transaction, { sdp, offer: request.body.length === 0, headers });
    },
    refuse(status, { headers = [], contact } = {}) {
      if (final) return;
      finish();
      transaction.reply(status, { headers: [['Server', stack.userAgent], ...headers], ...(contact && { contact }) });
      usage.drop();
    },
  };
}
