import type { DigestClient } from '../auth/client.ts';
import type { HeaderLines } from '../message/build.ts';
import { keepRequest, keptRequest } from '../message/kept.ts';
import type { SipRequest } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import { descriptionIn } from '../message/session-body.ts';
import type { Uri } from '../message/uri.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Source, Target } from '../transport/transport.ts';
import { Deadlines, type DeadlinesData } from './deadlines.ts';
import { uasDialog } from './dialog.ts';
import { createInviteUsage, type InviteUsage, type UsageData } from './invite-usage.ts';
import { replyToOffer } from './offers.ts';
import {
  acknowledgedBy,
  RELIABLE,
  type Reliability,
  type ReliableData,
  type ReliableDeadline,
  ReliableResponses,
  wantsReliable,
} from './reliable.ts';
import type { SessionTerms } from './session-timer.ts';
import type { Stack } from './stack.ts';
import type { UsageEnd, UsageHandlers } from './usage-handlers.ts';

export type IncomingHandlers = UsageHandlers & {
  /** The caller gave up before the answer; the INVITE has been answered 487. Told once, then `onClosed`. */
  onCancelled(cancel: SipRequest | undefined): void;
  /** The 200 was sent: from within `answer`, or later where a PRACK had to come first. */
  onAnswerSent?(): void;
  /** A provisional response was not acknowledged properly: the INVITE was refused. Called once, before `onClosed`. */
  onSetupFailed?(status: number): void;
};

export type ResponseOptions = { sdp?: string; headers?: HeaderLines };

/** A call that came in. Before the answer only `provisional`, `answer`, `refuse` and `hangup` do anything, after it only the rest. */
export interface IncomingCall {
  readonly request: SipRequest;
  readonly source: Source;
  /** The session description of the INVITE; undefined when it has none. */
  readonly offer: string | undefined;
  /** True when the INVITE has no SDP: our answer then carries the offer, the ACK the answer. */
  readonly wantsOffer: boolean;
  /**
   * Its provisional responses are reliable: if the INVITE has no SDP, the first one may carry our offer (RFC 3262 5).
   */
  readonly isReliable: boolean;
  /** Sends 101-199; repeated every minute so that proxies keep the call (RFC 3261 13.3.1.1). */
  provisional(status: number, options?: ResponseOptions): void;
  /**
   * Sends the 200 and repeats it until the ACK; where a description of ours waits for its PRACK, as soon as that has come
   * (RFC 3262 3).
   */
  answer(sdp: string, headers?: HeaderLines): void;
  /** Sends a final response from 300 on; `onClosed` follows. */
  refuse(status: number, options?: { headers?: HeaderLines; contact?: NameAddr }): void;
  /** Ends the call however it stands: before its final response with this status, else with BYE. */
  hangup(status: number, headers?: HeaderLines): void;
  /** The call inside its dialog. */
  readonly usage: InviteUsage;
  /** Whether a provisional response was sent (RFC 3261 12.1: its dialog is early then). */
  readonly isEarly: boolean;
  /** Everything that the call is, as plain data: enough for another process to go on with it. */
  dump(): IncomingCallData;
}

/** A call that came in, as plain data. */
export type IncomingCallData = {
  /** The INVITE in base64, where it came from, and the key of its transaction. */
  readonly request: string;
  readonly source: Source;
  readonly transaction: string;
  /** The INVITE has its final response. */
  readonly final: boolean;
  /** The last provisional response but 100. */
  readonly provisional?: { readonly status: number; readonly options: ResponseOptions };
  readonly deadlines: DeadlinesData<IncomingDeadline>;
  readonly usage: UsageData;
  /** Its provisional responses, where they are reliable. */
  readonly reliable?: ReliableData<Told>;
  /** The 200 that waits for a PRACK. */
  readonly held?: Held;
};

/** A provisional response as it was asked for. */
type Told = { readonly status: number; readonly sdp?: string; readonly headers?: HeaderLines };
type Held = { readonly sdp: string; readonly headers: HeaderLines };

type IncomingDeadline = 'repeatProvisional' | 'expired' | ReliableDeadline;

type IncomingOptions = {
  stack: Stack;
  /** The transaction of the INVITE, or data of a previous process. */
  from: ServerTransaction | IncomingCallData;
  contactFor(target: Target, asked?: Uri): NameAddr | undefined;
  allow: string;
  /** Keep sending to where the INVITE came from when the caller is behind a NAT. */
  symmetric: boolean;
  /** Whether its provisional responses are to be reliable. */
  reliability: Reliability;
  /** How the session is watched. */
  session?: SessionTerms;
  /** Answers challenges to our requests inside the call. */
  digest?: DigestClient | undefined;
  handlers: IncomingHandlers;
  /** Called before the handlers hear that nothing of the call is left. */
  closing(): void;
};

const REPEAT_PROVISIONAL_MS = 60_000;
/** A reliable one is new each time, and keeps proxies going as well (RFC 3262 3). */
const REPEAT_RELIABLE_MS = 150_000;
const LONGEST_EXPIRES_SECONDS = 86_400;

/** A call that came in, new or restored where another process left off. */
export const createIncomingCall = (options: IncomingOptions): IncomingCall => new Incoming(options);

class Incoming implements IncomingCall {
  readonly request: SipRequest;
  readonly offer: string | undefined;
  readonly source: Source;
  readonly usage: InviteUsage;
  readonly #options: IncomingOptions;
  readonly #deadlines: Deadlines<IncomingDeadline>;
  readonly #key: string;
  /** Undefined when it was over before the call was restored. */
  readonly #transaction: ServerTransaction | undefined;
  #final = false;
  #provisional: IncomingCallData['provisional'];
  readonly #reliable: ReliableResponses<Told> | undefined;
  #held: Held | undefined;

  constructor(options: IncomingOptions) {
    this.#options = options;
    const { stack, from } = options;
    const transaction = 'deadlines' in from ? stack.transactions.pending(from.transaction) : from;
    this.#transaction = transaction;
    this.#key = 'deadlines' in from ? from.transaction : from.key;
    this.source = from.source;
    this.request = 'deadlines' in from ? keptRequest(from.request) : from.request;
    this.offer = descriptionIn(this.request);
    this.#deadlines = new Deadlines<IncomingDeadline>({
      stack,
      what: 'a call that came in',
      due: (name) => this.#due(name),
    });
    const reliable =
      'deadlines' in from ? from.reliable !== undefined : wantsReliable(this.request, options.reliability);
    this.#reliable = reliable
      ? new ReliableResponses<Told>(
          {
            t1Ms: stack.timing.t1Ms,
            most: stack.waitingProvisional,
            hit: stack.hit,
            // 30 random bits, so that there is room above (RFC 3262 3).
            firstNumber: () => (Number.parseInt(stack.ids.hex(8), 16) >>> 2) + 1,
            send: (told, rseq) => this.#sendProvisional(told, rseq),
            set: (name, ms) => this.#deadlines.set(name, ms),
            clear: (name) => this.#deadlines.clear(name),
          },
          'deadlines' in from ? from.reliable : undefined,
        )
      : undefined;
    this.usage = createInviteUsage({
      stack,
      from: 'deadlines' in from ? from.usage : this.#dialog(from),
      contactFor: options.contactFor,
      allow: options.allow,
      session: options.session,
      digest: options.digest,
      handlers: options.handlers,
      onPrack: (transaction) => this.#receivePrack(transaction),
      onEnded: (end) => this.#ended(end),
      closing: options.closing,
    });
    if (this.#transaction)
      this.#transaction.handlers = {
        onCancel: (cancel) => this.#giveUp(cancel),
        onTerminated: () => this.#deadlines.clearAll(),
      };
    if ('deadlines' in from) this.#resume(from);
    else this.#watchExpiry();
  }

  #due(name: IncomingDeadline): void {
    switch (name) {
      case 'repeatProvisional':
        if (this.#provisional) this.provisional(this.#provisional.status, this.#provisional.options);
        return;
      case 'expired':
        return void this.#giveUp(undefined);
      case 'repeatReliable':
        return void this.#reliable?.repeat();
      // RFC 3262 3: a peer that never sends PRACK did not get the response.
      case 'reliableLost':
        this.#fail(504);
    }
  }

  get wantsOffer(): boolean {
    return this.offer === undefined;
  }

  get isReliable(): boolean {
    return this.#reliable !== undefined;
  }

  get isEarly(): boolean {
    return this.#provisional !== undefined;
  }

  provisional(status: number, options: ResponseOptions = {}): void {
    if (this.#final || this.#held) return;
    const told: Told = { status, ...options };
    if (this.#reliable) this.#reliable.tell(this.#reliable.settled ? withoutSdp(told) : told);
    else this.#sendProvisional(told);
    this.#provisional = { status, options };
    this.#deadlines.set('repeatProvisional', this.#reliable ? REPEAT_RELIABLE_MS : REPEAT_PROVISIONAL_MS);
  }

  answer(sdp: string, headers: HeaderLines = []): void {
    if (this.#final || !this.#transaction) return;
    if (this.#reliable?.holdsAnswer) {
      this.#held = { sdp, headers };
      return;
    }
    this.#finish();
    const described = this.#reliable?.settled ? {} : { sdp };
    this.usage.accept(this.#transaction, { ...described, offer: this.wantsOffer && 'sdp' in described, headers });
    this.#options.handlers.onAnswerSent?.();
  }

  refuse(status: number, { headers = [], contact }: { headers?: HeaderLines; contact?: NameAddr } = {}): void {
    if (this.#final) return;
    this.#finish();
    this.#transaction?.reply(status, {
      headers: [['Server', this.#options.stack.userAgent], ...headers],
      ...(contact && { contact }),
    });
    this.usage.drop();
  }

  hangup(status: number, headers: HeaderLines = []): void {
    if (this.#final) this.usage.bye(headers);
    else this.refuse(status, { headers });
  }

  dump(): IncomingCallData {
    return {
      request: keepRequest(this.request),
      source: this.source,
      transaction: this.#key,
      final: this.#final,
      ...(this.#provisional && { provisional: this.#provisional }),
      deadlines: this.#deadlines.dump(),
      usage: this.usage.dump(),
      ...(this.#reliable && { reliable: this.#reliable.data }),
      ...(this.#held && { held: this.#held }),
    };
  }

  #dialog({ toTag }: ServerTransaction) {
    return uasDialog(this.request, toTag, this.source, this.#options.symmetric ? this.source : undefined);
  }

  #resume({ final, provisional, deadlines, held }: IncomingCallData): void {
    this.#final = final;
    this.#held = held;
    this.#provisional = provisional;
    this.#deadlines.restore(deadlines);
  }

  #watchExpiry(): void {
    const { expires } = this.request;
    if (expires !== undefined && expires > 0 && expires < LONGEST_EXPIRES_SECONDS)
      this.#deadlines.set('expired', expires * 1000);
  }

  #finish(): void {
    this.#final = true;
    this.#held = undefined;
    this.#reliable?.end();
    this.#deadlines.clearAll();
    // The transaction outlives the call by up to 32 s: it must not keep it in memory.
    if (this.#transaction) this.#transaction.handlers = {};
  }

  /** @param rseq of a reliable one. */
  #sendProvisional({ status, sdp, headers = [] }: Told, rseq?: number): void {
    const contact = this.#options.contactFor(this.source, this.request.uri);
    const reliable: HeaderLines =
      rseq === undefined
        ? []
        : [
            ['Require', RELIABLE],
            ['RSeq', String(rseq)],
          ];
    this.#transaction?.reply(status, {
      ...(contact && { contact }),
      headers: [['Server', this.#options.stack.userAgent], ['Allow', this.#options.allow], ...reliable, ...headers],
      ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
    });
  }

  /** RFC 3262 3 and 5: what it acknowledges, and the offer or the answer that it brings. */
  #receivePrack(transaction: ServerTransaction): void {
    const { request } = transaction;
    const acknowledged = this.#reliable?.acknowledge(acknowledgedBy(request), this.request.cseq.number);
    if (!acknowledged || !this.#reliable) return void transaction.reply(481);
    const { handlers } = this.#options;
    if (acknowledged.response.sdp !== undefined && this.wantsOffer) {
      // Ours was an offer: the PRACK has to bring the answer.
      transaction.reply(200);
      const answer = descriptionIn(request);
      if (answer === undefined || !handlers.acceptAnswer(answer)) return void this.#fail(488);
      this.usage.settle();
    } else {
      if (acknowledged.response.sdp !== undefined) this.usage.settle();
      replyToOffer(transaction, handlers, this.usage.isSettled);
    }
    const held = this.#held;
    this.#held = undefined;
    if (this.#final) return;
    if (held) this.answer(held.sdp, held.headers);
    else this.#reliable.next();
  }

  /** The call cannot be set up. */
  #fail(status: number): void {
    if (this.#final) return;
    this.refuse(status);
    this.#options.handlers.onSetupFailed?.(status);
  }

  /** The caller gave up, or waited as long as it said it would. */
  #giveUp(cancel: SipRequest | undefined): void {
    if (this.#final) return;
    this.#cancelled(cancel);
    this.usage.drop();
  }

  /** A BYE inside the early dialog: the INVITE still needs its final response (RFC 3261 15.1.2). */
  #ended(end: UsageEnd): void {
    if (this.#final) this.#options.handlers.onEnded(end);
    else this.#cancelled(end.by === 'bye' ? end.request : undefined);
  }

  #cancelled(by: SipRequest | undefined): void {
    this.#finish();
    this.#transaction?.reply(487, { headers: [['Server', this.#options.stack.userAgent]] });
    this.#options.handlers.onCancelled(by);
  }
}

const withoutSdp = ({ status, headers }: Told): Told => ({ status, ...(headers && { headers }) });
