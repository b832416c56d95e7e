import type { HeaderLines } from '../message/build.ts';
import { keepRequest, keptRequest } from '../message/kept.ts';
import type { SipRequest } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import type { Uri } from '../message/uri.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Source, Target } from '../transport/transport.ts';
import { Deadlines, type DeadlinesData } from './deadlines.ts';
import { uasDialog } from './dialog.ts';
import {
  createInviteUsage,
  type InviteUsage,
  type UsageData,
  type UsageEnd,
  type UsageHandlers,
} from './invite-usage.ts';
import type { Stack } from './stack.ts';

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
};

type IncomingDeadline = 'repeatProvisional' | 'expired';

export type IncomingOptions = {
  stack: Stack;
  /** The transaction of the INVITE, or what another process wrote down. */
  from: ServerTransaction | IncomingCallData;
  contactFor(target: Target, asked?: Uri): NameAddr | undefined;
  allow: string;
  /** Keep sending to where the INVITE came from when the caller is behind a NAT. */
  symmetric: boolean;
  handlers: IncomingHandlers;
};

const REPEAT_PROVISIONAL_MS = 60_000;
const LONGEST_EXPIRES_SECONDS = 86_400;

/** A call that came in, new or taken up where another process left off. */
export const createIncomingCall = (options: IncomingOptions): IncomingCall => new Incoming(options);

class Incoming implements IncomingCall {
  readonly request: SipRequest;
  readonly source: Source;
  readonly usage: InviteUsage;
  readonly #options: IncomingOptions;
  readonly #deadlines: Deadlines<IncomingDeadline>;
  readonly #key: string;
  /** Undefined when it was over before the call was taken up. */
  readonly #transaction: ServerTransaction | undefined;
  #final = false;
  #provisional: IncomingCallData['provisional'];

  constructor(options: IncomingOptions) {
    this.#options = options;
    const { stack, from } = options;
    const transaction = 'deadlines' in from ? stack.transactions.pending(from.transaction) : from;
    this.#transaction = transaction;
    this.#key = 'deadlines' in from ? from.transaction : from.key;
    this.source = from.source;
    this.request = 'deadlines' in from ? keptRequest(from.request) : from.request;
    this.#deadlines = new Deadlines<IncomingDeadline>({
      stack,
      what: 'a call that came in',
      due: {
        repeatProvisional: () =>
          this.#provisional && this.provisional(this.#provisional.status, this.#provisional.options),
        expired: () => this.#giveUp(undefined),
      },
    });
    this.usage = createInviteUsage({
      stack,
      from: 'deadlines' in from ? from.usage : this.#dialog(from),
      contactFor: options.contactFor,
      allow: options.allow,
      handlers: { ...options.handlers, onEnded: (end) => this.#ended(end) },
    });
    if (this.#transaction)
      this.#transaction.handlers = {
        onCancel: (cancel) => this.#giveUp(cancel),
        onTerminated: () => this.#deadlines.clearAll(),
      };
    if ('deadlines' in from) this.#resume(from);
    else this.#watchExpiry();
  }

  get wantsOffer(): boolean {
    return this.request.body.length === 0;
  }

  provisional(status: number, options: ResponseOptions = {}): void {
    if (this.#final) return;
    const { sdp, headers = [] } = options;
    const contact = this.#options.contactFor(this.source, this.request.uri);
    this.#transaction?.reply(status, {
      ...(contact && { contact }),
      headers: [['Server', this.#options.stack.userAgent], ['Allow', this.#options.allow], ...headers],
      ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
    });
    this.#provisional = { status, options };
    this.#deadlines.set('repeatProvisional', REPEAT_PROVISIONAL_MS);
  }

  answer(sdp: string, headers: HeaderLines = []): void {
    if (this.#final || !this.#transaction) return;
    this.#finish();
    this.usage.accept(this.#transaction, { sdp, offer: this.wantsOffer, headers });
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

  dump(): IncomingCallData {
    return {
      request: keepRequest(this.request),
      source: this.source,
      transaction: this.#key,
      final: this.#final,
      ...(this.#provisional && { provisional: this.#provisional }),
      deadlines: this.#deadlines.dump(),
      usage: this.usage.dump(),
    };
  }

  #dialog({ toTag }: ServerTransaction) {
    return uasDialog(this.request, toTag, this.source, this.#options.symmetric ? this.source : undefined);
  }

  #resume({ final, provisional, deadlines }: IncomingCallData): void {
    this.#final = final;
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
    this.#deadlines.clearAll();
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
