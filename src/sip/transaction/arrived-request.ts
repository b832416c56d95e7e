import { type BuildResponseOptions, buildResponse } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { SendFailure, Source, Target } from '../transport/transport.ts';
import type { RunningServer } from './server.ts';
import type { ServerHandlers, ServerState, ServerTransaction } from './transaction.ts';

/** Why a request is to be remembered: its user lets it in, or has not answered yet. */
export type KeepReason = 'accepted' | 'pending';

/** Needs of an arrived request from its layer. */
export type ArrivalContext = {
  send(bytes: Buffer, target: Target, onFailure?: (failure: SendFailure) => void): void;
  newTag(): string;
  /** The tag of every answer to the request with that key, without anything being remembered (RFC 3261 8.2.7). */
  tagOf(key: string): string;
  /** Begins a transaction; undefined when the quota is used up. */
  keep(request: ArrivedRequest, why: KeepReason): RunningServer | undefined;
  guard(call: () => void): void;
};

type Arrival = {
  readonly request: SipRequest;
  readonly source: Source;
  /** Destination of responses. */
  readonly target: Target;
  readonly key: string;
  readonly merged: boolean;
  /** Whether the source has shown who it is. */
  readonly isKnown: boolean;
};

/** An answer to a source that could be forged is at most so many times as large as the request. */
const LARGEST_FACTOR = 3;

/** Retry-After of requests refused at a limit, in s (RFC 3261 21.5.4). */
const RETRY_AFTER_SECONDS = '10';

/**
 * A request as its user sees it. A stranger's request becomes a transaction only when it is admitted or not answered
 * directly. A refusal, a challenge and the response to OPTIONS are sent once and forgotten (RFC 3261 8.2.7, 26.3.2.4).
 * So strangers neither fill the memory nor cause retransmissions to forged addresses.
 */
export class ArrivedRequest implements ServerTransaction {
  readonly request: SipRequest;
  readonly source: Source;
  readonly target: Target;
  readonly key: string;
  readonly merged: boolean;
  readonly isKnown: boolean;
  readonly #context: ArrivalContext;
  /** The transaction, when the request is remembered. */
  #kept: RunningServer | undefined;
  #handlers: ServerHandlers = {};
  /** Answered without being remembered. */
  #over = false;
  #toTag: string | undefined;
  #last: SipResponse | undefined;

  constructor({ request, source, target, key, merged, isKnown }: Arrival, context: ArrivalContext) {
    this.request = request;
    this.source = source;
    this.target = target;
    this.key = key;
    this.merged = merged;
    this.isKnown = isKnown;
    this.#context = context;
  }

  get state(): ServerState {
    if (this.#over) return 'terminated';
    return this.#kept?.state ?? (this.request.method === 'INVITE' ? 'proceeding' : 'trying');
  }

  get handlers(): ServerHandlers {
    return this.#handlers;
  }

  set handlers(handlers: ServerHandlers) {
    this.#handlers = handlers;
    if (this.#kept) this.#kept.handlers = handlers;
  }

  get toTag(): string {
    return (this.#toTag ??= this.request.toTag ?? (this.isKnown ? this.#context.newTag() : this.#stableTag()));
  }

  /** Stores the request; false when the quota is used up. */
  keep(why: KeepReason): boolean {
    this.#kept = this.#context.keep(this, why);
    if (!this.#kept) return false;
    this.#kept.handlers = this.#handlers;
    this.#kept.begin();
    return true;
  }

  accept(): boolean {
    if (!this.#over && (this.#kept || this.keep('accepted'))) return true;
    if (!this.#over) this.refuseForRoom();
    return false;
  }

  /** Goes on with a request that another process had remembered. */
  resume(kept: RunningServer, toTag: string): void {
    this.#kept = kept;
    this.#toTag = toTag;
  }

  repeat(): void {
    this.#kept?.repeat();
  }

  /** Called after the transaction user ran: an unanswered request must be stored or refused. */
  settle(): void {
    if (!this.#kept && !this.#over && !this.keep('pending')) this.refuseForRoom();
  }

  respond(response: SipResponse): boolean {
    if (this.#over) return false;
    if (isChallenge(response.status) && this.#last === undefined) return this.#answerOnce(response);
    if (this.#kept) {
      if (!this.#kept.respond(response)) return false;
      this.#last = response;
      return true;
    }
    if (this.#isAnsweredOnce(response.status)) return this.#answerOnce(response);
    if (this.keep('accepted')) return this.respond(response);
    if (this.request.method !== 'INVITE') return this.#answerOnce(response);
    this.refuseForRoom();
    return false;
  }

  reply(status: number, options: BuildResponseOptions = {}): boolean {
    if (isChallenge(status)) this.#toTag ??= this.request.toTag ?? this.#stableTag();
    return this.respond(buildResponse(this.request, status, { toTag: this.toTag, ...options }));
  }

  /** Refusals, and the answer to OPTIONS; not inside a dialog, whose order a forgotten request would disturb. */
  #isAnsweredOnce(status: number): boolean {
    if (this.request.toTag !== undefined) return status === 481;
    return status >= 300 || (status >= 200 && this.request.method === 'OPTIONS');
  }

  #answerOnce(response: SipResponse): boolean {
    this.#over = true;
    this.#last = response;
    const bytes = this.#fitting(response);
    if (bytes)
      this.#context.send(bytes, this.target, (failure) =>
        this.#context.guard(() => this.#handlers.onTransportError?.(failure)),
      );
    if (this.#kept) this.#kept.terminate();
    else this.#context.guard(() => this.#handlers.onTerminated?.());
    return true;
  }

  /**
   * The response to a possibly forged source: at most three times its request (the rule of RFC 9000 8), without
   * optional headers if necessary; undefined for none.
   */
  #fitting(response: SipResponse): Buffer | undefined {
    const bytes = response.toBuffer();
    if (this.isKnown || this.source.protocol !== 'udp') return bytes;
    const most = LARGEST_FACTOR * this.request.octets;
    if (bytes.length <= most) return bytes;
    if (isChallenge(response.status)) return undefined;
    const bare = buildResponse(this.request, response.status, { toTag: this.toTag }).toBuffer();
    return bare.length <= most ? bare : undefined;
  }

  /** Answers 503 once (RFC 3261 21.5.4). The request is not remembered, so a repeated one may be taken. */
  refuseForRoom(): void {
    this.#toTag ??= this.request.toTag ?? this.#stableTag();
    this.#answerOnce(
      buildResponse(this.request, 503, { toTag: this.toTag, headers: [['Retry-After', RETRY_AFTER_SECONDS]] }),
    );
  }

  #stableTag(): string {
    return this.#context.tagOf(this.key);
  }
}

function isChallenge(status: number): boolean {
  return status === 401 || status === 407;
}
