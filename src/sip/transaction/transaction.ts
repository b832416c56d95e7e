import type { BuildResponseOptions } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { SendFailure, Source, Target } from '../transport/transport.ts';
import type { TransactionLimits } from './quota.ts';
import type { RunnerData } from './runner.ts';

/** INVITE client: RFC 3261 17.1.1 with `accepted` of RFC 6026 7.2. Non-INVITE client: 17.1.2 (`trying`). */
export type ClientState = 'calling' | 'trying' | 'proceeding' | 'completed' | 'accepted' | 'terminated';

/** INVITE server: RFC 3261 17.2.1 with `accepted` of RFC 6026 7.1. Non-INVITE server: 17.2.2 (`trying`). */
export type ServerState = 'trying' | 'proceeding' | 'completed' | 'confirmed' | 'accepted' | 'terminated';

/**
 * Callbacks of a client transaction. Exactly one of `onFinal`, `onTimeout`, `onTransportError` comes first. Only
 * `onFinal` may repeat, for 2xx to INVITE: every 2xx (a retransmission, or another fork's) is passed on, and the user
 * sends each an ACK (RFC 3261 13.2.2.4).
 */
export type ClientHandlers = {
  /** A 1xx to the request; retransmissions included. */
  onProvisional?(response: SipResponse): void;
  /** A 2xx to 6xx. The ACK to a 3xx-6xx has been sent; the ACK to a 2xx is the user's. */
  onFinal(response: SipResponse): void;
  /** No final answer in time: Timer B or F, or none after a CANCEL. Treat like 408. */
  onTimeout(): void;
  /** The request could not be sent. Treat like 503. */
  onTransportError(failure: SendFailure): void;
  /** The transaction is over and forgotten; always comes, last, also when the layer is closed. */
  onTerminated?(): void;
};

/** A request of ours and everything that belongs to it. */
export interface ClientTransaction {
  /** Its key while it lives. */
  readonly key: string;
  /** The request as sent, with the Via the layer put on top. */
  readonly request: SipRequest;
  readonly target: Target;
  readonly state: ClientState;
  /**
   * Sends CANCEL for an INVITE (RFC 3261 9.1): directly after a provisional response, else with the first one, never
   * after a final one. The final response (usually 487) still comes by `onFinal`; without one within 64·T1 `onTimeout`
   * follows. For other methods and repeated calls it does nothing.
   */
  cancel(headers?: readonly (readonly [name: string, value: string])[]): void;
}

/** Callbacks of a server transaction, set by `ServerTransaction.handlers`. */
export type ServerHandlers = {
  /** A CANCEL came before a final response; it has been answered 200. The user answers the INVITE (487). */
  onCancel?(cancel: SipRequest): void;
  /** The ACK to our 3xx-6xx came; for 2xx see `TransactionLayer.onAck`. */
  onConfirmed?(): void;
  /** Our 3xx-6xx to INVITE was never acknowledged (Timer H). */
  onTimeout?(): void;
  /** A response could not be sent. */
  onTransportError?(failure: SendFailure): void;
  /** The transaction is over and forgotten; always comes, last, also when the layer is closed. */
  onTerminated?(): void;
};

/** A server transaction as far as repeating its last response goes. */
export interface Repeatable {
  /** Its key while it lives. */
  readonly key: string;
  /** Sends the last response once more, if the state allows one. */
  repeat(): void;
}

/** A request of a peer's and our answers to it. */
export interface ServerTransaction extends Repeatable {
  readonly request: SipRequest;
  readonly source: Source;
  readonly state: ServerState;
  /** The To tag of `reply`: the request's own in a dialog, else one for this transaction. */
  readonly toTag: string;
  /**
   * Another live transaction has the same From tag, Call-ID and CSeq, and the request has no To tag: it arrived twice
   * on different paths. A UAS answers 482 (RFC 3261 8.2.2.2); the layer only reports it.
   */
  readonly merged: boolean;
  /** Replaces the handlers; none are set at first. */
  handlers: ServerHandlers;
  /**
   * Lets the request in without a response. An INVITE gets 100 Trying when its user is silent for 200 ms (RFC 3261 17.2.1).
   * @returns false when it has no room and was answered 503, or was answered before.
   */
  accept(): boolean;
  /**
   * Sends a response. Provisional ones are allowed any number of times before the final one. After a 2xx to INVITE the
   * transaction is `accepted`: **the user retransmits the 2xx** with `repeat` until the ACK (RFC 3261 13.3.1.4, RFC
   * 6026). The layer only absorbs retransmitted INVITEs. Late responses (a second final one, or after termination) are
   * ignored.
   * @returns false when it was ignored.
   */
  respond(response: SipResponse): boolean;
  /** `respond(buildResponse(request, status, { toTag, ...options }))`. */
  reply(status: number, options?: BuildResponseOptions): boolean;
}

/** One transaction of ours as plain data. */
export type ClientData = {
  /** The request as sent, in base64. */
  readonly octets: string;
  readonly target: Target;
  readonly runner: RunnerData<ClientState>;
  /** Headers of a CANCEL that was asked for. */
  readonly cancel?: readonly (readonly [name: string, value: string])[];
  /** That CANCEL waits for the first provisional response. */
  readonly held: boolean;
};

/** One transaction of a peer as plain data. */
export type ServerData = {
  readonly key: string;
  readonly mergeKey?: string | undefined;
  /** Of an INVITE. */
  readonly invite: boolean;
  readonly runner: RunnerData<ServerState>;
  readonly source: Source;
  readonly target: Target;
  readonly toTag: string;
  /** The last response given, in base64. */
  readonly response?: string;
  /** Before the final response: the request, in base64. */
  readonly request?: string;
};

/** All that lives in a transaction layer, as plain data. */
export type TransactionsData = { readonly clients: readonly ClientData[]; readonly servers: readonly ServerData[] };

/** Number of live transactions, and counts since the start. */
export type TransactionCounts = {
  readonly clients: number;
  readonly servers: number;
  /** Requests and responses that were sent again by a timer or because a peer repeated a request. */
  readonly retransmissions: number;
  /** Client transactions that ended without an answer. */
  readonly timeouts: number;
  /** Malformed requests answered with 400 or 505. */
  readonly rejected: number;
  /** Responses that match no transaction. */
  readonly strays: number;
};

/**
 * RFC 3261 17: matches requests with responses and retransmits. One layer serves all transports.
 *
 * It handles retransmissions, ACK to 3xx-6xx, and 100 Trying if the user is silent for 200 ms. It answers a matching
 * CANCEL with 200 and others with 481, malformed requests with 400 if possible, and other SIP versions with 505. The
 * user handles everything else (405, 416, 420, 482, 483, OPTIONS…). Exceptions of handlers are logged.
 */
export interface TransactionLayer {
  /** Sets the one receiver of new requests (never ACK, never CANCEL). Without one, requests are answered 503. */
  onRequest(handler: (transaction: ServerTransaction) => void): void;
  /** Sets the one receiver of ACKs to 2xx responses: they match no transaction, only a dialog. */
  onAck(handler: (ack: SipRequest, source: Source) => void): void;
  /** Sets the one receiver of responses that match no transaction: late 2xx to INVITE, mostly; else they are dropped. */
  onStrayResponse(handler: (response: SipResponse, source: Source) => void): void;
  /**
   * Sends a request in a new client transaction. The layer adds a Via with a new branch to `message` and keeps it: do
   * not change or reuse it. Not for ACK. Handlers are never called before this returns.
   */
  request(message: SipRequest, target: Target, handlers: ClientHandlers): ClientTransaction;
  /** Sends the ACK to a 2xx: a Via with a fresh branch, no transaction (RFC 3261 13.2.2.4). Returns the bytes for repeats. */
  sendAck(ack: SipRequest, target: Target, onFailure?: (failure: SendFailure) => void): Buffer;
  counts(): TransactionCounts;
  /** Applies other limits to new server transactions. */
  reconfigure(limits: TransactionLimits): void;
  /** The keys of all live transactions. */
  keys(kind: 'client' | 'server'): readonly string[];
  /** One live transaction as plain data; undefined if it is over. */
  dumpOne(kind: 'client' | 'server', key: string): ClientData | ServerData | undefined;
  /** Every transaction that lives, as plain data. */
  dump(): TransactionsData;
  /**
   * Restores saved transactions: states, timers, octets to repeat. Users find theirs by `adopt`, `pending` and
   * `answered`; others continue without a user. Call it before the first message arrives.
   */
  restore(data: TransactionsData): void;
  /** A client transaction that was restored, for its user; undefined when it is over. */
  adopt(key: string, handlers: ClientHandlers): ClientTransaction | undefined;
  /** A server transaction without a final response, for its user to set its handlers; undefined when there is none. */
  pending(key: string): ServerTransaction | undefined;
  /** Whether a request belongs to a server transaction that exists: it is a copy. */
  isBegun(request: SipRequest): boolean;
  /** A server transaction whose last response may be repeated; undefined when it is over. */
  answered(key: string): Repeatable | undefined;
  /** Ends all transactions without a word to the peers, clears every timer; later requests are dropped. */
  close(): void;
}
