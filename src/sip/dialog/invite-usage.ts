import type { DigestClient } from '../auth/client.ts';
import type { HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Target } from '../transport/transport.ts';
import { type Dialog, type DialogRequestOptions, inOrder, refreshed } from './dialog.ts';
import { createDialogRequests } from './dialog-requests.ts';
import { type OkRepeats, repeatOk } from './ok-repeats.ts';
import { createReinviter, type Reinviter } from './reinviter.ts';
import { createSessionTimer, tooShortSession } from './session-timer.ts';
import { type Stack, Timers } from './stack.ts';

/** Why a call that stood is over without our asking: the peer's BYE, or the peer is lost (as the status says). */
export type UsageEnd = { by: 'bye'; request: SipRequest } | { by: 'lost'; status: number };

/** What the user of a call inside a dialog is asked and told. */
export type UsageHandlers = {
  /** The peer offers anew (re-INVITE, UPDATE): the answer, or undefined to refuse and leave everything as it was. */
  answerOffer(sdp: string, request: SipRequest): string | undefined;
  /** An offer is wanted: for a re-INVITE of ours, or of the peer's without SDP. */
  makeOffer(): string;
  /** The peer's answer to it. False when it is of no use. */
  acceptAnswer(sdp: string): boolean;
  /** The peer refused the offer of a re-INVITE; the session stays as it was. */
  onOfferRefused?(status: number): void;
  /** A request inside the call that changes nothing of it (INFO, MESSAGE, NOTIFY…): the status to answer with. */
  onRequest(request: SipRequest): number;
  /** The ACK to our 200 to the first INVITE came. */
  onAcknowledged?(): void;
  /** The call is over without our asking. Told once, and not after `bye`. */
  onEnded(end: UsageEnd): void;
  /** Nothing of the usage is left; told once, last. */
  onClosed(): void;
};

/** `early`: before a 2xx · `ending`: our BYE waits to be sent or answered. */
export type UsageState = 'early' | 'confirmed' | 'ending' | 'closed';

export type UsageOptions = {
  stack: Stack;
  dialog: Dialog;
  /** Our Contact towards a target. */
  contactFor(target: Target): NameAddr | undefined;
  digest?: DigestClient | undefined;
  /** Value of Allow. */
  allow: string;
  handlers: UsageHandlers;
};

/** What a 200 to an INVITE carries besides what every one does. */
export type AcceptOptions = { sdp: string; offer?: boolean; headers?: HeaderLines };

/** A call inside a dialog (RFC 3261 12 to 15), the same for both sides once there is a dialog. */
export interface InviteUsage {
  readonly dialog: Dialog;
  readonly state: UsageState;
  /** A request of this dialog other than ACK. */
  receive(transaction: ServerTransaction): void;
  receiveAck(ack: SipRequest): void;
  /** UAS: sends the 200 and repeats it until the ACK comes; the dialog is confirmed. `offer`: the SDP is an offer. */
  accept(transaction: ServerTransaction, options: AcceptOptions): void;
  /** UAC: a 2xx to the first INVITE, first or repeated: the dialog is confirmed, the ACK is sent (again). */
  confirm(response: SipResponse): void;
  /** Ends the call: BYE as soon as RFC 3261 15 allows. In an early dialog it is only forgotten. Idempotent. */
  bye(headers?: HeaderLines): void;
  /** Offers anew by re-INVITE, now or when what is under way is done; several wishes meanwhile become one. */
  reinvite(): void;
  /** Sends another request inside the dialog. `done` hears the final status; 408 and 503 when there was none. */
  request(method: string, options: DialogRequestOptions, done: (status: number) => void): void;
  /** Forgets everything at once, without a word to the peer. */
  drop(): void;
}

export function createInviteUsage(options: UsageOptions): InviteUsage {
  const { stack, handlers } = options;
  const timers = new Timers(stack, 'a call', () => lose(500));
  let state: UsageState = 'early';
  let pendingOk: (OkRepeats & { cseq: number; offer: boolean; first: boolean }) | undefined;
  let byeHeaders: HeaderLines | undefined;

  const requests = createDialogRequests({ ...options, isClosed: () => state === 'closed' });
  const { send, acknowledge } = requests;

  const close = () => {
    if (state === 'closed') return;
    state = 'closed';
    timers.clearAll();
    pendingOk = undefined;
    reinviter.end();
    handlers.onClosed();
  };

  /** The state changes before it is told: whoever hears it may well call `bye` at once. */
  const end = (reason: UsageEnd) => {
    if (state !== 'early' && state !== 'confirmed') return;
    state = 'ending';
    handlers.onEnded(reason);
  };

  /** The peer has forgotten the dialog or never answers (RFC 3261 12.2.1.2). */
  const lose = (status: number) => {
    if (state === 'ending' || state === 'closed') return;
    end({ by: 'lost', status });
    if (status === 481) close();
    else sendBye([]);
  };

  const sendBye = (headers: HeaderLines) => {
    if (state === 'closed') return;
    state = 'ending';
    send('BYE', { headers }, { onFinal: close, onFailure: close });
  };

  const sessionTimer = createSessionTimer(
    timers,
    () => reinviter.start(),
    () => lose(408),
  );

  const reinviter: Reinviter = createReinviter({
    stack,
    timers,
    ownsCallId: options.dialog.ownsCallId,
    canStart: () => state === 'confirmed' && pendingOk === undefined,
    offer: () => handlers.makeOffer(),
    send: (sdp, told) =>
      send(
        'INVITE',
        { headers: [['Allow', options.allow], ...sessionTimer.headers()], contentType: 'application/sdp', body: sdp },
        told,
      ),
    accepted(response) {
      requests.update(refreshed(requests.dialog, response));
      sessionTimer.renew();
      acknowledge(response);
    },
    repeated: acknowledge,
    answered(sdp) {
      if (state !== 'confirmed' || handlers.acceptAnswer(sdp)) return;
      end({ by: 'lost', status: 488 });
      sendBye([]);
    },
    refused: (status) => handlers.onOfferRefused?.(status),
    lost: lose,
  });

  const afterAck = () => {
    if (byeHeaders) sendBye(byeHeaders);
    else reinviter.proceed();
  };

  const accept = (transaction: ServerTransaction, { sdp, offer = false, headers = [] }: AcceptOptions) => {
    const first = state === 'early';
    if (first) state = 'confirmed';
    const contact = options.contactFor(transaction.source);
    transaction.reply(200, {
      ...(contact && { contact }),
      headers: [
        ['Server', stack.userAgent],
        ['Allow', options.allow],
        ...sessionTimer.accept(transaction.request),
        ...headers,
      ],
      contentType: 'application/sdp',
      body: sdp,
    });
    const repeats = repeatOk(stack.timing, timers, transaction, () => {
      pendingOk = undefined;
      stack.log.info({ callId: options.dialog.callId }, 'the answer was never acknowledged');
      if (!byeHeaders) end({ by: 'lost', status: 408 });
      sendBye(byeHeaders ?? []);
    });
    pendingOk = { ...repeats, cseq: transaction.request.cseq.number, offer, first };
  };

  const receiveInvite = (transaction: ServerTransaction) => {
    const { request } = transaction;
    if (state === 'early') return void refuseForNow(stack, transaction);
    // RFC 3261 14.2: an INVITE of ours, or an offer in our 200, is still open.
    if (reinviter.busy || pendingOk?.offer) return void transaction.reply(491);
    // The peer would not send another INVITE had it not seen our 200: its ACK was lost.
    pendingOk?.stop();
    pendingOk = undefined;
    const offered = hasSdp(request);
    const sdp = offered ? handlers.answerOffer(request.bodyText, request) : handlers.makeOffer();
    if (sdp === undefined) return void transaction.reply(488);
    requests.update(refreshed(requests.dialog, request, transaction.source));
    accept(transaction, { sdp, offer: !offered });
  };

  const receiveUpdate = (transaction: ServerTransaction) => {
    const { request } = transaction;
    const offered = hasSdp(request);
    // RFC 3311 5.2: no new offer while another is open; before the answer to the INVITE there always is one.
    if (offered && state === 'early') return void refuseForNow(stack, transaction);
    if (offered && (reinviter.busy || pendingOk?.offer)) return void transaction.reply(491);
    const sdp = offered ? handlers.answerOffer(request.bodyText, request) : undefined;
    if (offered && sdp === undefined) return void transaction.reply(488);
    requests.update(refreshed(requests.dialog, request, transaction.source));
    const contact = options.contactFor(transaction.source);
    transaction.reply(200, {
      ...(contact && { contact }),
      headers: [['Allow', options.allow], ...sessionTimer.accept(request)],
      ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
    });
  };

  const receiveBye = (transaction: ServerTransaction) => {
    transaction.reply(200);
    // Two BYEs that cross: ours is still to be answered.
    const crossing = state === 'ending' && pendingOk === undefined;
    end({ by: 'bye', request: transaction.request });
    if (!crossing) close();
  };

  const receive = (transaction: ServerTransaction) => {
    const { request } = transaction;
    const next = inOrder(requests.dialog, request);
    if (!next) return void transaction.reply(500);
    requests.update(next);
    if (request.method === 'BYE') return receiveBye(transaction);
    if (state === 'ending' || state === 'closed') return void transaction.reply(481);
    // RFC 3261 14.2 and 21.4.13: a body that we cannot read is not the same as no offer.
    if (/^(INVITE|UPDATE)$/.test(request.method) && request.body.length > 0 && !hasSdp(request))
      return void transaction.reply(415, { headers: [['Accept', 'application/sdp']] });
    const tooShort = /^(INVITE|UPDATE)$/.test(request.method) ? tooShortSession(request) : undefined;
    if (tooShort) return void transaction.reply(422, { headers: tooShort });
    if (request.method === 'INVITE') return receiveInvite(transaction);
    if (request.method === 'UPDATE') return receiveUpdate(transaction);
    const status = handlers.onRequest(request);
    transaction.reply(status, {
      headers: status === 405 || request.method === 'OPTIONS' ? [['Allow', options.allow]] : [],
    });
  };

  return {
    get dialog() {
      return requests.dialog;
    },
    get state() {
      return state;
    },
    receive,
    receiveAck(ack) {
      if (!pendingOk || ack.cseq.number !== pendingOk.cseq) return;
      const { offer, first } = pendingOk;
      pendingOk.stop();
      pendingOk = undefined;
      if (first && state === 'confirmed') handlers.onAcknowledged?.();
      if (offer && state === 'confirmed' && !(hasSdp(ack) && handlers.acceptAnswer(ack.bodyText))) {
        end({ by: 'lost', status: 488 });
        return sendBye([]);
      }
      afterAck();
    },
    accept,
    confirm(response) {
      if (state === 'early') {
        state = 'confirmed';
        // A 2xx replaces target and route set of the early dialog (RFC 3261 13.2.2.4).
        const routes = [...response.recordRoutes].reverse();
        requests.update({ ...refreshed(requests.dialog, response), routes, remote: response.to });
      }
      acknowledge(response);
    },
    bye(headers = []) {
      if (state === 'early') return close();
      if (state !== 'confirmed') return;
      // The callee waits for the ACK (RFC 3261 15).
      if (!pendingOk) return sendBye(headers);
      state = 'ending';
      byeHeaders = headers;
    },
    reinvite: () => reinviter.start(),
    request(method, extra, done) {
      send(method, extra, {
        onFinal({ status }) {
          if (status === 481 || status === 408) lose(status);
          done(status);
        },
        onFailure: (status) => done(status),
      });
    },
    drop: close,
  };
}

const hasSdp = (message: SipRequest): boolean => message.body.length > 0 && message.contentType === 'application/sdp';

/** RFC 3261 14.2 and RFC 3311 5.2: try again after 0 to 10 seconds. */
function refuseForNow(stack: Stack, transaction: ServerTransaction): void {
  const seconds = Number.parseInt(stack.ids.hex(2), 16) % 11;
  transaction.reply(500, { headers: [['Retry-After', String(seconds)]] });
}
