import type { DigestClient } from '../auth/client.ts';
import { buildRequest, type HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import type { Uri } from '../message/uri.ts';
import type { Target } from '../transport/transport.ts';
import { keyOfResponse, uacDialog } from './dialog.ts';
import { createInviteUsage, type InviteUsage, type UsageHandlers } from './invite-usage.ts';
import { locate } from './locate.ts';
import { type Sent, sendRequest } from './requester.ts';
import type { Stack } from './stack.ts';

export type OutgoingHandlers = UsageHandlers & {
  /** 101-199, from any branch of a forked call. */
  onProvisional(response: SipResponse): void;
  /** The first 2xx: the call stands, the ACK has been sent. */
  onAnswered(response: SipResponse): void;
  /** 300-699: nobody takes the call. Told once, then `onClosed`. */
  onRefused(response: SipResponse): void;
  /** Nobody answered at all (408) or nothing could be sent (503). Told once, then `onClosed`. */
  onFailed(status: 408 | 503): void;
};

export type OutgoingRequest = {
  /** One that was not used before; made when left out. */
  callId?: string;
  /** The Request-URI. */
  uri: Uri;
  /** Without tags. */
  from: NameAddr | ((target: Target) => NameAddr);
  to: NameAddr;
  /** Routes to preload, the outbound proxy first. */
  routes?: readonly NameAddr[];
  /** Where to send; else where the first route or the Request-URI leads. */
  target?: Target | undefined;
  headers?: HeaderLines | ((target: Target) => HeaderLines);
  sdp: string;
  digest?: DigestClient | undefined;
  /** Keep sending to the same place inside the dialog unless there is a route set. */
  symmetric?: boolean;
};

/** A call that we place. */
export interface OutgoingCall {
  readonly callId: string;
  /** The dialog of the answer; undefined before it. */
  readonly usage: InviteUsage | undefined;
  /** Ends the call whatever state it is in: CANCEL before the final response, BYE after a 2xx. Idempotent. */
  hangup(headers?: HeaderLines): void;
}

export type OutgoingOptions = {
  stack: Stack;
  request: OutgoingRequest;
  contactFor(target: Target): NameAddr | undefined;
  allow: string;
  handlers: OutgoingHandlers;
  /** Makes a dialog findable for requests of the peer, and lost again. */
  enlist(key: string, usage: InviteUsage, peer: Target): void;
  discharge(key: string): void;
};

/** Places a call (RFC 3261 13.2): one INVITE, an early dialog for each branch that answers, one of them the winner. */
export function createOutgoingCall(options: OutgoingOptions): OutgoingCall {
  const { stack, handlers } = options;
  const { callId = stack.ids.uuid() } = options.request;
  const tag = stack.ids.hex(16);
  const dialogs = new Map<string, InviteUsage>();
  let winner: InviteUsage | undefined;
  let sent: Sent | undefined;
  let hangupHeaders: HeaderLines | undefined;
  let over = false;
  let closed = false;
  let cseq = 0;

  /** Nothing is left when the INVITE is decided and no dialog remains. */
  const closeWhenDone = () => {
    if (closed || !over || dialogs.size > 0) return;
    closed = true;
    handlers.onClosed();
  };

  const usageOf = (request: SipRequest, response: SipResponse, target: Target): InviteUsage => {
    const key = keyOfResponse(response);
    const known = dialogs.get(key);
    if (known) return known;
    const usage: InviteUsage = createInviteUsage({
      stack,
      dialog: uacDialog(request, response, options.request.symmetric ? target : undefined),
      contactFor: options.contactFor,
      digest: options.request.digest,
      allow: options.allow,
      handlers: {
        answerOffer: (sdp, message) => (usage === winner ? handlers.answerOffer(sdp, message) : undefined),
        makeOffer: () => handlers.makeOffer(),
        acceptAnswer: (sdp) => usage === winner && handlers.acceptAnswer(sdp),
        onOfferRefused: (status) => handlers.onOfferRefused?.(status),
        onRequest: (message) => handlers.onRequest(message),
        onEnded: (end) => usage === winner && handlers.onEnded(end),
        onClosed() {
          dialogs.delete(key);
          options.discharge(key);
          closeWhenDone();
        },
      },
    });
    dialogs.set(key, usage);
    options.enlist(key, usage, target);
    return usage;
  };

  const dropEarly = () => {
    for (const usage of [...dialogs.values()]) if (usage.state === 'early') usage.drop();
  };

  const onProvisional = (response: SipResponse, request: SipRequest, target: Target) => {
    if (response.status === 100 || over) return;
    if (response.toTag !== undefined) usageOf(request, response, target);
    if (!hangupHeaders) handlers.onProvisional(response);
  };

  const onSuccess = (response: SipResponse, request: SipRequest, target: Target) => {
    const usage = usageOf(request, response, target);
    const repeated = usage.state !== 'early';
    usage.confirm(response);
    if (repeated) return;
    over = true;
    if (winner || hangupHeaders) {
      // Another branch answered too, or our CANCEL came too late: taken and ended at once (RFC 3261 13.2.2.4).
      usage.bye(hangupHeaders ?? []);
    } else {
      winner = usage;
      handlers.onAnswered(response);
    }
    dropEarly();
  };

  const fail = (tell: () => void) => {
    if (over) return;
    over = true;
    if (!hangupHeaders) tell();
    dropEarly();
    closeWhenDone();
  };

  const start = (target: Target | undefined) => {
    if (over) return;
    if (!target) return fail(() => handlers.onFailed(503));
    sent = sendRequest(
      stack,
      {
        target,
        digest: options.request.digest,
        build: () => buildInvite(options, { callId, tag, cseq: ++cseq, target }),
      },
      {
        onProvisional: (response, request) => onProvisional(response, request, target),
        onFinal(response, request) {
          if (response.status < 300) onSuccess(response, request, target);
          else fail(() => handlers.onRefused(response));
        },
        onFailure: (status) => fail(() => handlers.onFailed(status)),
      },
    );
  };

  const place = options.request.target;
  if (place) start(place);
  else locate(stack, options.request.routes?.[0]?.uri ?? options.request.uri, start);

  return {
    callId,
    get usage() {
      return winner;
    },
    hangup(headers = []) {
      if (hangupHeaders) return;
      hangupHeaders = headers;
      if (winner) winner.bye(headers);
      else if (sent) sent.cancel(headers);
      else fail(() => {});
    },
  };
}

function buildInvite(
  options: OutgoingOptions,
  { callId, tag, cseq, target }: { callId: string; tag: string; cseq: number; target: Target },
): SipRequest {
  const { stack, request } = options;
  const from = typeof request.from === 'function' ? request.from(target) : request.from;
  const contact = options.contactFor(target);
  const headers = typeof request.headers === 'function' ? request.headers(target) : request.headers;
  return buildRequest({
    method: 'INVITE',
    uri: request.uri,
    from: { ...from, params: { ...from.params, tag } },
    to: request.to,
    callId,
    cseq,
    ...(request.routes && { routes: request.routes }),
    ...(contact && { contact }),
    headers: [['Allow', options.allow], ['User-Agent', stack.userAgent], ...(headers ?? [])],
    contentType: 'application/sdp',
    body: request.sdp,
  });
}
