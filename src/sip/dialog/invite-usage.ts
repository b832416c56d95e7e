import type { DigestClient } from '../auth/client.ts';
import type { HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import { TARGET_DIALOG } from '../message/named-dialog.ts';
import { descriptionIn } from '../message/session-body.ts';
import type { Uri } from '../message/uri.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Target } from '../transport/transport.ts';
import { Deadlines, type DeadlinesData } from './deadlines.ts';
import {
  type Dialog,
  type DialogRequestOptions,
  inOrder,
  isKnownSource,
  isPeerAddress,
  metAt,
  refreshed,
} from './dialog.ts';
import { DialogRequests, type DialogRequestsData } from './dialog-requests.ts';
import { earlyVerdict, type OfferVerdict, refuseBody, refuseForNow, replyTo } from './offers.ts';
import { type AcceptedData, type OkDeadline, OkRepeats } from './ok-repeats.ts';
import { type RefreshDeadline, Refreshes, type RefreshesData } from './refreshes.ts';
import { reliableNumber } from './reliable.ts';
import {
  type SessionDeadline,
  type SessionTerms,
  SessionTimer,
  type SessionTimerData,
  tooShortSession,
} from './session-timer.ts';
import type { Stack } from './stack.ts';
import type { OfferAnswer, UsageEnd, UsageHandlers } from './usage-handlers.ts';

/** `early`: before a 2xx · `ending`: our BYE waits to be sent or answered. */
type UsageState = 'early' | 'confirmed' | 'ending' | 'closed';

/** Everything that a call inside a dialog is, as plain data: enough for another process to go on with it. */
export type UsageData = RefreshesData & {
  readonly state: UsageState;
  readonly requests: DialogRequestsData;
  /** Our 200 that waits for its ACK. */
  readonly accepted?: AcceptedData;
  /** Headers of a BYE that waits for the ACK, or for the peer to send one. */
  readonly bye?: HeaderLines;
  readonly sessionTimer: SessionTimerData;
  readonly deadlines: DeadlinesData<UsageDeadline>;
  /** Offer and answer of the INVITE were done before its final response. */
  readonly settled?: true;
  /** RSeq of the last reliable provisional response of the peer's. */
  readonly rseq?: number;
};

type UsageDeadline = OkDeadline | SessionDeadline | RefreshDeadline | 'bye';

type UsageOptions = {
  stack: Stack;
  /** A new dialog, or data of a previous process. */
  from: Dialog | UsageData;
  /** Our Contact towards a target. */
  contactFor(target: Target, asked?: Uri): NameAddr | undefined;
  digest?: DigestClient | undefined;
  /** Value of Allow. */
  allow: string;
  /** How the session is watched. */
  session?: SessionTerms;
  handlers: UsageHandlers;
  /** UAS: a PRACK came before the answer, or soon after it; left out, none is expected. */
  onPrack?(transaction: ServerTransaction): void;
  /** Hears of the end instead of the handlers. */
  onEnded?(end: UsageEnd): void;
  /** Called before the handlers hear that nothing of it is left. */
  closing?(): void;
};

/** Content of a 200 to an INVITE. */
type AcceptOptions = { sdp?: string; offer?: boolean; headers?: HeaderLines };

/** A call inside a dialog (RFC 3261 12 to 15), the same for both sides once there is a dialog. */
export interface InviteUsage {
  readonly dialog: Dialog;
  readonly state: UsageState;
  /** Its user's name of the call. */
  readonly owner: string | undefined;
  /** A request of this dialog other than ACK. */
  receive(transaction: ServerTransaction): void;
  receiveAck(ack: SipRequest, source?: Target): void;
  /** UAS: sends the 200 and repeats it until the ACK comes; the dialog is confirmed. `offer`: the SDP is an offer. */
  accept(transaction: ServerTransaction, options: AcceptOptions): void;
  /**
   * Offer and answer of the INVITE are complete on both sides: further offers are allowed before its final response.
   */
  settle(): void;
  readonly isSettled: boolean;
  /**
   * UAC: a provisional response of the early dialog. A reliable one is acknowledged by PRACK (RFC 3262 4).
   * @returns false for one that is repeated or comes before one that is missing: it is to be ignored.
   */
  receiveProvisional(response: SipResponse): boolean;
  /** UAC: RSeq of the last reliable one; undefined while there was none. */
  readonly lastReliable: number | undefined;
  /** UAC: a 2xx to the first INVITE, first or repeated: the dialog is confirmed, the ACK is sent (again). */
  confirm(response: SipResponse): void;
  /** Ends the call: BYE as soon as RFC 3261 15 allows. In an early dialog it is only forgotten. Idempotent. */
  bye(headers?: HeaderLines): void;
  /** The peer is about to send a BYE: ours waits for it, `ms` at most. */
  expectBye(ms: number): void;
  /** Sends a re-offer by re-INVITE, now or after the current request. Several requests meanwhile become one. */
  reinvite(): void;
  /** The standing headers are other than before: tells the peer, by UPDATE when it takes that, else by re-INVITE. */
  announce(): void;
  /** Sends another request inside the dialog; `onRequestEnded` tells under its label how it ended. */
  request(label: string, method: string, options?: DialogRequestOptions): void;
  /** Drops all state without a message to the peer. */
  drop(): void;
  /** Data for `from`. */
  dump(): UsageData;
}

/** A call inside a dialog, new or restored where another process left off. */
export const createInviteUsage = (options: UsageOptions): InviteUsage => new Usage(options);

/** Labels of a usage's own requests; a prefix marks those of `request`. */
const BYE = 'bye';
const PRACK = 'prack';
const ASKED = 'asked:';

class Usage implements InviteUsage {
  readonly #options: UsageOptions;
  readonly #deadlines: Deadlines<UsageDeadline>;
  readonly #requests: DialogRequests;
  readonly #repeats: OkRepeats;
  readonly #refreshes: Refreshes;
  readonly #sessionTimer: SessionTimer;
  #state: UsageState = 'early';
  #byeHeaders: HeaderLines | undefined;
  #byeWaitMs = 0;
  #settled: boolean;
  #rseq: number | undefined;

  constructor(options: UsageOptions) {
    this.#options = options;
    const { stack, from } = options;
    const data = 'requests' in from ? from : undefined;
    const dialog = data?.requests.dialog ?? (from as Dialog);
    this.#deadlines = new Deadlines<UsageDeadline>({
      stack,
      what: 'a call',
      due: (name) => this.#due(name),
      failed: () => this.#lose(500),
    });
    this.#requests = new DialogRequests(
      {
        stack,
        contactFor: options.contactFor,
        digest: options.digest,
        isClosed: () => this.#state === 'closed',
        registeredFlow: (dialog) => options.handlers.registeredFlow?.(dialog),
        onFinal: (label, response) => this.#receiveFinal(label, response),
        onFailure: (label, status) => this.#requestFailed(label, status),
      },
      dialog,
    );
    this.#settled = data?.settled ?? false;
    this.#rseq = data?.rseq;
    this.#repeats = new OkRepeats(stack.timing, this.#deadlines);
    this.#sessionTimer = new SessionTimer(this.#deadlines, options.session, data?.sessionTimer);
    this.#refreshes = new Refreshes(
      {
        stack,
        allow: options.allow,
        handlers: options.handlers,
        requests: this.#requests,
        sessionTimer: this.#sessionTimer,
        deadlines: this.#deadlines,
        isConfirmed: () => this.#state === 'confirmed',
        isUnacknowledged: () => this.#repeats.accepted !== undefined,
        unusable: () => this.#unusable(),
        lose: (status) => this.#lose(status),
      },
      data,
    );
    if (data) this.#resume(data);
  }

  #due(name: UsageDeadline): void {
    switch (name) {
      case 'repeatOk':
        return void this.#repeats.repeat();
      case 'okLost':
        return void this.#neverAcknowledged();
      case 'refreshSession':
        return void this.reinvite();
      case 'sessionExpired':
        return void this.#lose(408);
      case 'bye':
        return void this.#sendWaitingBye();
      default:
        this.#refreshes.due(name);
    }
  }

  get dialog(): Dialog {
    return this.#requests.dialog;
  }

  get state(): UsageState {
    return this.#state;
  }

  get owner(): string | undefined {
    return this.#options.handlers.owner?.();
  }

  receive(transaction: ServerTransaction): void {
    const { request, source } = transaction;
    if (!isKnownSource(this.dialog, source)) {
      // Before anything is remembered of it: a stranger's CSeq must not make the peer's own requests come too late.
      if (this.#options.handlers.challengeStranger?.(transaction, this.dialog)) return;
      this.#requests.update(metAt(this.dialog, source));
    }
    this.#requests.heardAt(source);
    const next = inOrder(this.dialog, request);
    // BYE is always accepted: nothing later can be out of order.
    if (!next && request.method !== 'BYE') return void transaction.reply(500);
    if (next) this.#requests.update(next);
    if (request.method === 'BYE') return void this.#receiveBye(transaction);
    if (this.#state === 'ending' || this.#state === 'closed') return void transaction.reply(481);
    if (request.method === 'INVITE' || request.method === 'UPDATE') return void this.#receiveOffering(transaction);
    const { onPrack, handlers } = this.#options;
    if (request.method === 'PRACK') return void (onPrack ? onPrack(transaction) : transaction.reply(481));
    const contact = this.#options.contactFor(transaction.source);
    replyTo(transaction, handlers.onRequest(request), this.#options.allow, contact);
  }

  /** INVITE or UPDATE, which may have an offer. */
  #receiveOffering(transaction: ServerTransaction): void {
    const { request } = transaction;
    // RFC 3261 14.2: a body that we cannot read is not the same as no offer.
    const unread = refuseBody(request);
    if (unread) return void transaction.reply(unread.status, { headers: unread.headers });
    const tooShort = tooShortSession(request, this.#options.session);
    if (tooShort) return void transaction.reply(422, { headers: tooShort });
    if (request.method === 'INVITE') this.#receiveInvite(transaction);
    else this.#receiveUpdate(transaction);
  }

  receiveAck(ack: SipRequest, source?: Target): void {
    const { accepted } = this.#repeats;
    if (!accepted || ack.cseq.number !== accepted.cseq) return;
    // An ACK cannot be challenged: one that says where our audio goes must come from where the peer is.
    if (accepted.offer && source && !isPeerAddress(this.dialog, source.address)) return;
    const { handlers } = this.#options;
    this.#repeats.stop();
    if (accepted.first) this.#refreshes.begun();
    if (accepted.first && this.#state === 'confirmed') handlers.onAcknowledged?.();
    if (accepted.offer && this.#state === 'confirmed' && !this.#acceptLateAnswer(ack)) {
      if (accepted.first) return void this.#unusable();
      // A session that stands goes on without the offer of a re-INVITE, as in Asterisk.
      handlers.onOfferRefused?.(488);
    }
    if (this.#byeHeaders) this.#sendWaitingBye();
    else this.#refreshes.proceed();
  }

  /** The answer to our offer in a 200. @returns false where there is none that we can accept. */
  #acceptLateAnswer(ack: SipRequest): boolean {
    const answer = descriptionIn(ack);
    return answer !== undefined && this.#options.handlers.acceptAnswer(answer);
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  settle(): void {
    this.#settled = true;
  }

  get lastReliable(): number | undefined {
    return this.#rseq;
  }

  receiveProvisional(response: SipResponse): boolean {
    const rseq = reliableNumber(response);
    if (rseq === undefined) return true;
    if (this.#rseq !== undefined && rseq !== this.#rseq + 1) return false;
    this.#rseq = rseq;
    if (descriptionIn(response) !== undefined) this.#settled = true;
    const { number, method } = response.cseq;
    this.#requests.send(PRACK, 'PRACK', { headers: [['RAck', `${rseq} ${number} ${method}`]] });
    return true;
  }

  accept(transaction: ServerTransaction, { sdp, offer = false, headers = [] }: AcceptOptions): void {
    const { stack, allow } = this.#options;
    const first = this.#state === 'early';
    if (first) this.#state = 'confirmed';
    const contact = this.#options.contactFor(transaction.source, transaction.request.uri);
    transaction.reply(200, {
      ...(contact && { contact }),
      headers: [
        ['Server', stack.userAgent],
        ['Allow', allow],
        ['Supported', `replaces, norefersub, ${TARGET_DIALOG}`], // RFC 3891 5, RFC 4488 4, RFC 4538 4
        ...this.#sessionTimer.accept(transaction.request),
        ...headers,
      ],
      ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
    });
    this.#repeats.start(transaction, { offer, first });
  }

  confirm(response: SipResponse): void {
    if (this.#state === 'early') {
      this.#state = 'confirmed';
      // A 2xx replaces target and route set of the early dialog (RFC 3261 13.2.2.4).
      const routes = [...response.recordRoutes].reverse();
      this.#requests.update({ ...refreshed(this.dialog, response), routes, remote: response.to });
      this.#sessionTimer.agree(response);
      this.#refreshes.begun();
    }
    this.#requests.acknowledge(response);
  }

  bye(headers: HeaderLines = []): void {
    if (this.#state === 'early') return void this.drop();
    if (this.#state !== 'confirmed') return;
    this.#state = 'ending';
    this.#byeHeaders = headers;
    if (this.#byeWaitMs > 0) this.#deadlines.set('bye', this.#byeWaitMs);
    else this.#sendWaitingBye();
  }

  expectBye(ms: number): void {
    this.#byeWaitMs = ms;
  }

  reinvite(): void {
    this.#refreshes.reinvite();
  }

  announce(): void {
    this.#refreshes.announce();
  }

  request(label: string, method: string, options?: DialogRequestOptions): void {
    this.#requests.send(ASKED + label, method, options);
  }

  drop(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#deadlines.clearAll();
    this.#repeats.stop();
    this.#refreshes.end();
    this.#requests.stop();
    this.#options.closing?.();
    this.#options.handlers.onClosed();
  }

  dump(): UsageData {
    const { accepted } = this.#repeats;
    return {
      state: this.#state,
      requests: this.#requests.dump(),
      ...(accepted && { accepted }),
      ...(this.#byeHeaders && { bye: this.#byeHeaders }),
      ...this.#refreshes.dump(),
      sessionTimer: this.#sessionTimer.data,
      deadlines: this.#deadlines.dump(),
      ...(this.#settled && { settled: true }),
      ...(this.#rseq !== undefined && { rseq: this.#rseq }),
    };
  }

  #resume({ state, requests, accepted, bye, deadlines }: UsageData): void {
    this.#state = state;
    this.#byeHeaders = bye;
    this.#deadlines.restore(deadlines);
    this.#requests.restore(requests);
    const transaction = accepted && this.#options.stack.transactions.answered(accepted.transaction);
    if (transaction) this.#repeats.resume(transaction, accepted);
  }

  #receiveFinal(label: string, response: SipResponse): void {
    const { status } = response;
    // A failed PRACK has no effect: the final response to its INVITE decides.
    if (label === PRACK || this.#refreshes.receive(label, response)) return;
    if (label === BYE) return void this.drop();
    // RFC 5057 5.1: a NOTIFY that finds no subscription ends that, and nothing else.
    const ofSubscription = response.cseq.method === 'NOTIFY' && status === 481;
    if ((status === 481 && !ofSubscription) || status === 408) this.#lose(status);
    this.#options.handlers.onRequestEnded?.(label.slice(ASKED.length), status);
  }

  #requestFailed(label: string, status: 408 | 503): void {
    if (label === PRACK || this.#refreshes.failed(label, status)) return;
    if (label === BYE) this.drop();
    else this.#options.handlers.onRequestEnded?.(label.slice(ASKED.length), status);
  }

  #receiveInvite(transaction: ServerTransaction): void {
    const { request } = transaction;
    const { stack, handlers } = this.#options;
    if (this.#state === 'early') return void refuseForNow(stack, transaction);
    // RFC 3261 14.2: an INVITE of ours, or an offer in our 200, is still open.
    if (this.#offerIsOpen()) return void transaction.reply(491);
    // The peer would not send another INVITE had it not seen our 200: its ACK was lost.
    this.#repeats.stop();
    const offer = descriptionIn(request);
    const sdp = offer === undefined ? handlers.makeOffer() : handlers.answerOffer(offer, request);
    if (typeof sdp !== 'string') return void transaction.reply(488, sdp);
    this.#requests.update(refreshed(this.dialog, request, transaction.source));
    this.accept(transaction, { sdp, offer: offer === undefined });
  }

  #receiveUpdate(transaction: ServerTransaction): void {
    const { request } = transaction;
    const { stack, handlers, allow } = this.#options;
    const offer = descriptionIn(request);
    const decision = offer !== undefined ? this.#decideOffer() : 'answer';
    if (decision === 'wait') return void refuseForNow(stack, transaction);
    if (decision === 'glare') return void transaction.reply(491);
    const answer: OfferAnswer = offer === undefined ? undefined : handlers.answerOffer(offer, request);
    if (offer !== undefined && typeof answer !== 'string') return void transaction.reply(488, answer);
    this.#requests.update(refreshed(this.dialog, request, transaction.source));
    // Before the answer there is no session that could end (RFC 4028 4): the INVITE has limits of its own.
    const watched = this.#state === 'early' ? [] : this.#sessionTimer.accept(request);
    const contact = this.#options.contactFor(transaction.source, transaction.request.uri);
    transaction.reply(200, {
      ...(contact && { contact }),
      headers: [['Allow', allow], ...watched],
      ...(typeof answer === 'string' && { contentType: 'application/sdp', body: answer }),
    });
    if (offer === undefined) handlers.onUpdated?.(request);
  }

  /** RFC 3311 5.2: no new offer while another is open. */
  #decideOffer(): OfferVerdict {
    if (this.#state !== 'early') return this.#offerIsOpen() ? 'glare' : 'answer';
    return earlyVerdict(this.#settled ? 'settled' : this.dialog.ownsCallId ? 'ours' : 'theirs');
  }

  #receiveBye(transaction: ServerTransaction): void {
    transaction.reply(200);
    // Two BYEs that cross: ours is still to be answered.
    const crossing = this.#state === 'ending' && this.#byeHeaders === undefined;
    this.#end({ by: 'bye', request: transaction.request });
    if (!crossing) this.drop();
  }

  #offerIsOpen(): boolean {
    return this.#refreshes.offering || this.#repeats.accepted?.offer === true;
  }

  #neverAcknowledged(): void {
    this.#repeats.stop();
    this.#options.stack.log.info({ callId: this.dialog.callId }, 'the answer was not acknowledged (no ACK)');
    if (!this.#byeHeaders) this.#end({ by: 'lost', status: 408 });
    this.#sendBye(this.#byeHeaders ?? []);
  }

  /** The state changes before the report, because the listener may call `bye`. */
  #end(reason: UsageEnd): void {
    if (this.#state !== 'early' && this.#state !== 'confirmed') return;
    this.#state = 'ending';
    if (this.#options.onEnded) this.#options.onEnded(reason);
    else this.#options.handlers.onEnded(reason);
  }

  /** The peer has forgotten the dialog or never answers (RFC 3261 12.2.1.2). */
  #lose(status: number): void {
    if (this.#state === 'ending' || this.#state === 'closed') return;
    this.#end({ by: 'lost', status });
    if (status === 481) this.drop();
    else this.#sendBye([]);
  }

  /** The peer's answer to an offer of ours is of no use. */
  #unusable(): void {
    this.#end({ by: 'lost', status: 488 });
    this.#sendBye([]);
  }

  /** The callee waits for the ACK (RFC 3261 15). */
  #sendWaitingBye(): void {
    const isHeld = this.#repeats.accepted !== undefined;
    if (this.#byeHeaders && !isHeld) this.#sendBye(this.#byeHeaders);
  }

  #sendBye(headers: HeaderLines): void {
    if (this.#state === 'closed') return;
    this.#deadlines.clear('bye');
    this.#byeHeaders = undefined;
    this.#state = 'ending';
    this.#requests.send(BYE, 'BYE', { headers });
  }
}
