import { SlotMap } from '../../lib/slot-map.ts';
import type { DigestClient } from '../auth/client.ts';
import { buildRequest, type HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import { type NamedDialog, TARGET_DIALOG } from '../message/named-dialog.ts';
import { sipUri, type Uri } from '../message/uri.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import { kindOf } from '../transport/kind.ts';
import { ownerMark } from '../transport/node-flows.ts';
import type { Target } from '../transport/transport.ts';
import { dialogKey, keyOfDialog, keyOfRequest, keyOfResponse } from './dialog.ts';
import {
  createIncomingCall,
  type IncomingCall,
  type IncomingCallData,
  type IncomingHandlers,
} from './incoming-call.ts';
import type { InviteUsage } from './invite-usage.ts';
import { locate } from './locate.ts';
import {
  createOutgoingCall,
  type OutgoingCall,
  type OutgoingCallData,
  type OutgoingHandlers,
  type OutgoingRequest,
} from './outgoing-call.ts';
import { RELIABLE, type Reliability } from './reliable.ts';
import { sendRequest } from './requester.ts';
import { type SessionTerms, tooShortSession } from './session-timer.ts';
import type { Stack } from './stack.ts';

/** A request outside any call: OPTIONS, MESSAGE, REFER, NOTIFY. */
type SingleRequest = {
  method: string;
  uri: Uri;
  from: NameAddr | ((target: Target) => NameAddr);
  to: NameAddr;
  routes?: readonly NameAddr[];
  target?: Target | undefined;
  headers?: HeaderLines;
  contentType?: string;
  body?: string;
  digest?: DigestClient | undefined;
  /** Call-ID; a new one when left out. */
  callId?: string;
  /** Gives each try its CSeq; counted from 1 when left out. */
  nextCseq?: () => number;
  /** Makes the Contact of ours towards a peer another one. */
  contact?: (own: NameAddr, target: Target) => NameAddr;
};

type SingleHandlers = {
  /** How many servers there are to ask, once, before the first is asked. */
  onLocated?(servers: number): void;
  onFinal(response: SipResponse): void;
  onFailure(status: 408 | 503): void;
};

/** Call-ID and our tag of a request outside calls. */
type SingleSent = { readonly callId: string; readonly localTag: string };

export type UserAgentCounts = {
  /** Dialogs of calls, early ones included, until their last request is answered. */
  dialogs: number;
  /** Calls that we placed and that are not decided. */
  pending: number;
};

/**
 * `symmetric` is true by default. Provisional responses are reliable if the caller requires it, and the session timer
 * follows the caller's request.
 */
export type IncomingTerms = {
  symmetric?: boolean;
  reliability?: Reliability;
  session?: SessionTerms;
  /** Answers challenges to our requests inside the call. */
  digest?: DigestClient | undefined;
};

/** A request of a peer that asks for a new call. */
export type CallOffer = {
  readonly transaction: ServerTransaction;
  /** Accepts the call; otherwise the handler answers the transaction itself. */
  take(handlers: IncomingHandlers, options?: IncomingTerms): IncomingCall;
};

/**
 * The core of a SIP user agent: routes each request to its dialog or to its method's handler, and answers others (405,
 * 416, 420, 481, 482).
 */
export interface UserAgent {
  /** Sets the one receiver of new calls. */
  onInvite(handler: (offer: CallOffer) => void): void;
  /** Sets the receiver of one method outside calls; methods without one are answered 405. */
  onRequest(method: string, handler: (transaction: ServerTransaction) => void): void;
  /** Places a call; with `from` goes on with one that another process placed by the same request. */
  invite(request: OutgoingRequest, handlers: OutgoingHandlers, from?: OutgoingCallData): OutgoingCall;
  /** Goes on with a call that came in to another process. */
  resume(data: IncomingCallData, handlers: IncomingHandlers, options?: IncomingTerms): IncomingCall;
  /** Sends a request of its own; what comes back tells how later requests of a subscription it made are known. */
  request(request: SingleRequest, handlers: SingleHandlers): SingleSent;
  /** The call that a peer names (RFC 3891 3, RFC 4538 4): `ended` when it was one until lately, undefined when it never was. */
  callOf(named: Pick<NamedDialog, 'callId' | 'toTag' | 'fromTag'>): InviteUsage | 'ended' | undefined;
  /** Our Contact as a peer at `target` can reach it; undefined when nothing bound can. */
  contactFor(target: Target, asked?: Uri): NameAddr | undefined;
  /** Value of Allow. */
  readonly allow: string;
  counts(): UserAgentCounts;
  /** Forgets all calls without a word to the peers. */
  close(): void;
}

const methodsInCalls = ['INVITE', 'ACK', 'CANCEL', 'BYE', 'UPDATE', 'INFO', 'PRACK', 'REFER'];

/** Ended calls that are remembered, to report that they existed. */
const REMEMBERED_CALLS = 1_000;

/** Methods that only exist inside a dialog (RFC 3261 12.2.2, 15.1.2). */
const methodsOfDialogs = new Set(['BYE', 'INFO', 'UPDATE', 'PRACK']);

/** The usages of all calls by their dialogs, and the ended ones that are remembered. */
class UsageTable {
  readonly #usages = new SlotMap<string, InviteUsage>();
  /** Flows of the peers of usages: known while the dialog lives. */
  readonly #flows = new SlotMap<string, Target>();
  /** Keys of calls that have ended, the latest last. */
  readonly #ended = new Set<string>();
  readonly #peers: Stack['peers'];

  constructor(peers: Stack['peers']) {
    this.#peers = peers;
  }

  get(key: string): InviteUsage | undefined {
    return this.#usages.get(key);
  }

  /** The usage; `ended` when there was one until lately. */
  lately(key: string): InviteUsage | 'ended' | undefined {
    return this.#usages.get(key) ?? (this.#ended.has(key) ? 'ended' : undefined);
  }

  get size(): number {
    return this.#usages.size;
  }

  enlist(key: string, usage: InviteUsage, peer: Target): void {
    this.discharge(key);
    this.#usages.set(key, usage);
    this.#flows.set(key, peer);
    this.#peers?.hold(peer);
  }

  discharge(key: string): void {
    const peer = this.#flows.get(key);
    if (peer) this.#peers?.release(peer);
    this.#flows.delete(key);
    if (!this.#usages.delete(key)) return;
    this.#ended.add(key);
    for (const oldest of this.#ended)
      if (this.#ended.size > REMEMBERED_CALLS) this.#ended.delete(oldest);
      else break;
  }

  all(): InviteUsage[] {
    return [...this.#usages.values()];
  }
}

/** Our Contact for peers, as {@link UserAgent.contactFor}. */
const createContactFor =
  ({ transports }: Pick<Stack, 'transports'>): UserAgent['contactFor'] =>
  (target, asked) => {
    const local = transports.localAddress(target);
    if (!local) return undefined;
    const { uriTransport, secure } = kindOf(target.protocol);
    // RFC 5630 4.1, 4.2: a dialog that was set up by SIPS has a SIPS contact, which implies TLS.
    const scheme = asked?.scheme === 'sips' && secure ? 'sips' : 'sip';
    const isUnsaid = uriTransport === 'udp' || (scheme === 'sips' && uriTransport === 'tls');
    const params = isUnsaid ? {} : { transport: uriTransport };
    const user = ownerMark(target) || undefined;
    return { uri: sipUri({ scheme, user, host: local.host, port: local.port, params }), params: {} };
  };

type Handler = (transaction: ServerTransaction) => void;

/** Routes each request to its dialog or to the handler of its method. */
function createRouting(usages: UsageTable, handlers: ReadonlyMap<string, Handler>, receiveInvite: Handler) {
  const allow = () => [...new Set([...methodsInCalls, ...handlers.keys()])].join(', ');

  const receive = (transaction: ServerTransaction) => {
    const { request } = transaction;
    if (request.toTag !== undefined) return void receiveInDialog(transaction);
    const handler = request.method === 'INVITE' ? receiveInvite : handlers.get(request.method);
    if (!handler && methodsOfDialogs.has(request.method)) return void transaction.reply(481);
    if (!handler) return void transaction.reply(405, { headers: [['Allow', allow()]] });
    if (request.uri.scheme === 'other') return void transaction.reply(416);
    // RFC 5630 5.3: SIPS holds for each hop, so a SIPS request without TLS is wrong.
    if (request.uri.scheme === 'sips' && !kindOf(transaction.source.protocol).secure)
      return void transaction.reply(416);
    if (transaction.merged) return void transaction.reply(482);
    const unsupported = unsupportedOf(request);
    if (unsupported) return void transaction.reply(420, { headers: unsupported });
    handler(transaction);
  };

  const receiveInDialog = (transaction: ServerTransaction) => {
    const { request } = transaction;
    const unsupported = unsupportedOf(request);
    const usage = usages.get(keyOfRequest(request));
    // RFC 3261 8.2.2.3 holds for every request but CANCEL and ACK; BYE is always accepted.
    if (usage && unsupported && request.method !== 'BYE') transaction.reply(420, { headers: unsupported });
    else if (usage) usage.receive(transaction);
    else (subscriptionHandler(request) ?? refuseUnknownDialog)(transaction);
  };

  /** NOTIFY and SUBSCRIBE have dialogs of their own, kept by the handlers of those methods. */
  const subscriptionHandler = (request: SipRequest) =>
    request.method === 'NOTIFY' || request.method === 'SUBSCRIBE' ? handlers.get(request.method) : undefined;

  return { allow, receive };
}

export function createUserAgent(stack: Stack): UserAgent {
  const usages = new UsageTable(stack.peers);
  const contactFor = createContactFor(stack);
  const pending = new Set<object>();
  const handlers = new Map<string, Handler>();
  let inviteHandler: ((offer: CallOffer) => void) | undefined;
  let closed = false;

  const take = (
    from: ServerTransaction | IncomingCallData,
    told: IncomingHandlers,
    { symmetric = true, reliability = 'asked', session, digest }: IncomingTerms = {},
  ): IncomingCall => {
    const call: IncomingCall = createIncomingCall({
      stack,
      from,
      contactFor,
      allow: allow(),
      symmetric,
      reliability,
      session,
      digest,
      handlers: told,
      closing: () => usages.discharge(key),
    });
    const key = keyOfDialog(call.usage.dialog);
    if (call.usage.state !== 'closed') usages.enlist(key, call.usage, from.source);
    return call;
  };

  const receiveInvite = (transaction: ServerTransaction) => {
    if (!inviteHandler || closed) return void transaction.reply(503);
    // Below everyone's minimum; the endpoint's own minimum is checked later.
    const tooShort = tooShortSession(transaction.request);
    if (tooShort) return void transaction.reply(422, { headers: tooShort });
    inviteHandler({ transaction, take: (told, terms) => take(transaction, told, terms) });
  };

  const { allow, receive } = createRouting(usages, handlers, receiveInvite);
  stack.transactions.onRequest(receive);
  stack.transactions.onAck((ack, source) => usages.get(keyOfRequest(ack))?.receiveAck(ack, source));
  stack.transactions.onStrayResponse((response) => {
    if (response.cseq.method !== 'INVITE' || response.status < 200 || response.status > 299) return;
    const usage = usages.get(keyOfResponse(response));
    // A 200 repeated after its transaction is gone: our ACK was lost.
    if (usage && usage.state !== 'early') usage.confirm(response);
  });

  return {
    onInvite(handler) {
      inviteHandler = handler;
    },
    onRequest(method, handler) {
      handlers.set(method, handler);
    },
    callOf: ({ callId, toTag, fromTag }) => usages.lately(dialogKey(callId, toTag, fromTag)),
    contactFor,
    get allow() {
      return allow();
    },
    invite(request, told, from) {
      const token = {};
      if (!from?.over) pending.add(token);
      return createOutgoingCall({
        stack,
        request,
        ...(from && { from }),
        contactFor,
        allow: allow(),
        handlers: {
          ...told,
          onAnswered(response, branch) {
            pending.delete(token);
            told.onAnswered(response, branch);
          },
          onClosed() {
            pending.delete(token);
            told.onClosed();
          },
        },
        enlist: (key, usage, peer) => usages.enlist(key, usage, peer),
        discharge: (key) => usages.discharge(key),
      });
    },
    resume: (data, told, terms) => take(data, told, terms),
    request: (request, told) => sendSingle(stack, request, contactFor, told),
    counts: () => ({ dialogs: usages.size, pending: pending.size }),
    close() {
      closed = true;
      for (const usage of usages.all()) usage.drop();
      pending.clear();
    },
  };
}

/** Extensions that a request may require (RFC 4028, 3891, 4488, 4538). */
const supported: ReadonlySet<string> = new Set(['timer', 'replaces', 'norefersub', 'trickle-ice', TARGET_DIALOG]);

/** The header of the 420 for options that a request requires and we have not (RFC 3261 8.2.2.3). */
function unsupportedOf(request: SipRequest): HeaderLines | undefined {
  const isKnown = (option: string) => supported.has(option) || (option === RELIABLE && request.method === 'INVITE');
  const required = request.headerList('Require').filter((option) => !isKnown(option.toLowerCase()));
  return required.length > 0 ? [['Unsupported', required.join(', ')]] : undefined;
}

const refuseUnknownDialog = (transaction: ServerTransaction): void => void transaction.reply(481);

function sendSingle(
  stack: Stack,
  request: SingleRequest,
  contactFor: UserAgent['contactFor'],
  told: SingleHandlers,
): SingleSent {
  const callId = request.callId ?? stack.ids.uuid();
  const tag = stack.ids.mark + stack.ids.hex(16);
  let cseq = 0;
  const nextCseq = request.nextCseq ?? (() => ++cseq);
  const build = (target: Target) => {
    const from = typeof request.from === 'function' ? request.from(target) : request.from;
    const own = request.method === 'MESSAGE' ? undefined : contactFor(target, request.uri);
    const contact = own && request.contact ? request.contact(own, target) : own;
    return buildRequest({
      method: request.method,
      uri: request.uri,
      from: { ...from, params: { ...from.params, tag } },
      to: request.to,
      callId,
      cseq: nextCseq(),
      routes: request.routes,
      contact,
      headers: [['User-Agent', stack.userAgent], ...(request.headers ?? [])],
      contentType: request.contentType,
      body: request.body,
    });
  };
  const start = (target: Target | undefined, others: readonly Target[] = []) => {
    if (!target) return told.onFailure(503);
    const [next, ...rest] = others;
    const patienceMs = next && stack.targets?.patienceMs;
    const sending = { target, digest: request.digest, patienceMs, build: () => build(target) };
    if (!next) return void sendRequest(stack, sending, told);
    // RFC 3263 4.3: if a server does not respond or is overloaded, the next one is tried.
    sendRequest(stack, sending, {
      onFinal: (response) => (response.status === 503 ? start(next, rest) : told.onFinal(response)),
      onFailure: () => start(next, rest),
    });
  };
  if (request.target) start(request.target);
  else
    locate(stack, request.routes?.[0]?.uri ?? request.uri, (target, others) => {
      if (target) told.onLocated?.(1 + others.length);
      start(target, others);
    });
  return { callId, localTag: tag };
}
