import type { DigestClient } from '../auth/client.ts';
import { buildRequest, type HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import { TARGET_DIALOG } from '../message/named-dialog.ts';
import type { Uri } from '../message/uri.ts';
import type { Target } from '../transport/transport.ts';
import { type Dialog, keyOfResponse, uacDialog } from './dialog.ts';
import { createInviteUsage, type InviteUsage, type UsageData } from './invite-usage.ts';
import { locate } from './locate.ts';
import {
  resumeRequest,
  type Sending,
  type SendingHandlers,
  type Sent,
  type SentData,
  sendRequest,
} from './requester.ts';
import { longerSession, type SessionTerms, type SessionWish, TIMER, wishHeaders } from './session-timer.ts';
import type { Stack } from './stack.ts';
import type { OfferAnswer, UsageHandlers } from './usage-handlers.ts';

export type OutgoingHandlers = UsageHandlers & {
  /** 101-198, from any branch of a forked call; `branch` tells its early dialogs apart. */
  onProvisional(response: SipResponse, branch: string): void;
  /** An early dialog is over, while others may go on (199, RFC 6228). */
  onBranchEnded?(branch: string, response: SipResponse): void;
  /** The peer sends a re-offer in an early dialog (UPDATE). */
  answerEarlyOffer?(sdp: string, request: SipRequest, branch: string): OfferAnswer;
  /** The first 2xx: the call stands, the ACK has been sent. */
  onAnswered(response: SipResponse, branch: string): void;
  /** 300-699: the call was refused. Called once, before `onClosed`. */
  onRefused(response: SipResponse): void;
  /** No response (408), or the request could not be sent (503). Called once, before `onClosed`. */
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
  /** The destination; default: that of the first route or the Request-URI. */
  target?: Target | undefined;
  headers?: HeaderLines | ((target: Target) => HeaderLines);
  sdp: string;
  /** Whether its provisional responses may be, or have to be, reliable (RFC 3262). */
  reliable?: 'supported' | 'required' | undefined;
  /** How the session is to be watched (RFC 4028); where it is left out, as the peer asks for. */
  session?: SessionTerms;
  digest?: DigestClient | undefined;
  /** Keep sending to the same place inside the dialog unless there is a route set. */
  symmetric?: boolean;
};

/** A call that we place. */
export interface OutgoingCall {
  readonly callId: string;
  /** The dialog of the answer; undefined before it. */
  readonly usage: InviteUsage | undefined;
  /** The dialog's tags, of the answering or the newest early dialog: ours, and the peer's once known. */
  readonly identity: { readonly localTag: string; readonly remoteTag: string | undefined };
  /** Ends the call in any state: CANCEL before the final response, BYE after a 2xx. Idempotent. */
  hangup(headers?: HeaderLines): void;
  /** Everything that the call is, as plain data; what it was asked to do (`OutgoingRequest`) is its maker's. */
  dump(): OutgoingCallData;
}

/** A call that we place, as plain data. */
export type OutgoingCallData = {
  readonly callId: string;
  /** Our tag in From. */
  readonly tag: string;
  /** Number of the last INVITE. */
  readonly cseq: number;
  /** The INVITE's destination; undefined during the lookup. */
  readonly target?: Target;
  readonly sent?: SentData;
  /** Its dialogs, early ones included, by their key. */
  readonly dialogs: readonly { readonly key: string; readonly usage: UsageData }[];
  /** Early dialogs that are over. */
  readonly dropped?: readonly { readonly key: string; readonly dialog: Dialog }[];
  /** Key of the dialog of the answer. */
  readonly winner?: string;
  /** The session that it asks for by now. */
  readonly session?: SessionWish;
  /** The call was hung up, with these headers. */
  readonly hangup?: HeaderLines;
  /** The INVITE is decided. */
  readonly over: boolean;
};

type OutgoingOptions = {
  stack: Stack;
  request: OutgoingRequest;
  /** Data of a previous process; left out: a new call. */
  from?: OutgoingCallData;
  contactFor(target: Target, asked?: Uri): NameAddr | undefined;
  allow: string;
  handlers: OutgoingHandlers;
  /** Makes a dialog findable for requests of the peer, and lost again. */
  enlist(key: string, usage: InviteUsage, peer: Target): void;
  discharge(key: string): void;
};

/**
 * Places a call (RFC 3261 13.2), or continues one: one INVITE, an early dialog for each responding branch, and one
 * winner.
 */
export function createOutgoingCall(options: OutgoingOptions): OutgoingCall {
  const call = new Outgoing(options);
  if (options.from) call.resume(options.from);
  else call.start();
  return call;
}

class Outgoing implements OutgoingCall {
  readonly callId: string;
  #options: Omit<OutgoingOptions, 'handlers' | 'from'>;
  /** Its listener; none after its end, because its INVITE transaction keeps the object for up to 32 s. */
  #handlers: OutgoingHandlers;
  readonly #tag: string;
  readonly #dialogs = new Map<string, InviteUsage>();
  /** Dialogs with a 2xx, also ended ones: repeated 2xx responses need repeated ACKs. */
  readonly #answered = new Map<string, InviteUsage>();
  /** Early dialogs that are over without one: should it come after all, their numbers go on. */
  readonly #dropped = new Map<string, Dialog>();
  /** How many dialogs there have been, early ones included. */
  #branches = 0;
  #winner: InviteUsage | undefined;
  #target: Target | undefined;
  /** Further destinations. */
  #others: readonly Target[] = [];
  #sent: Sent | undefined;
  #hangupHeaders: HeaderLines | undefined;
  #over = false;
  #closed = false;
  #cseq = 0;
  #session: SessionWish | undefined;

  constructor(options: OutgoingOptions) {
    const { handlers, from, ...others } = options;
    this.#options = others;
    this.#handlers = handlers;
    const { stack, request } = options;
    this.callId = from?.callId ?? request.callId ?? stack.ids.uuid();
    this.#tag = from?.tag ?? stack.ids.mark + stack.ids.hex(16);
    this.#session = from?.session ?? (request.session === 'off' ? undefined : request.session);
  }

  get usage(): InviteUsage | undefined {
    return this.#winner;
  }

  get identity() {
    const usage = this.#winner ?? [...this.#dialogs.values()].at(-1);
    return { localTag: this.#tag, remoteTag: usage?.dialog.remote.params['tag'] };
  }

  /** Sends the INVITE as soon as it is known where to. */
  start(): void {
    const { stack, request } = this.#options;
    if (request.target) this.#send(request.target);
    else locate(stack, request.routes?.[0]?.uri ?? request.uri, (target, others) => this.#send(target, others));
  }

  hangup(headers: HeaderLines = []): void {
    if (this.#hangupHeaders) return;
    this.#hangupHeaders = headers;
    if (this.#winner) this.#winner.bye(headers);
    else if (this.#sent) this.#sent.cancel(headers);
    else this.#fail(() => {});
  }

  dump(): OutgoingCallData {
    const winner = [...this.#dialogs].find(([, usage]) => usage === this.#winner)?.[0];
    return {
      callId: this.callId,
      tag: this.#tag,
      cseq: this.#cseq,
      ...(this.#target && { target: this.#target }),
      ...(this.#sent && { sent: this.#sent.data }),
      dialogs: [...this.#dialogs].map(([key, usage]) => ({ key, usage: usage.dump() })),
      ...(this.#dropped.size > 0 && { dropped: [...this.#dropped].map(([key, dialog]) => ({ key, dialog })) }),
      ...(winner !== undefined && { winner }),
      ...(this.#session && { session: this.#session }),
      ...(this.#hangupHeaders && { hangup: this.#hangupHeaders }),
      over: this.#over,
    };
  }

  /** Goes on where another process left off. */
  resume({ cseq, target, sent, dialogs, dropped = [], winner, hangup, over }: OutgoingCallData): void {
    this.#cseq = cseq;
    this.#hangupHeaders = hangup;
    this.#over = over;
    if (!target || !sent) {
      if (!over) this.start();
      return;
    }
    this.#target = target;
    for (const { key, dialog } of dropped) this.#dropped.set(key, dialog);
    this.#branches = dropped.length;
    for (const { key, usage } of dialogs) {
      const made = this.#make(key, usage, target);
      if (key === winner) this.#winner = made;
    }
    this.#sent = resumeRequest(this.#options.stack, this.#sending(target), this.#hearing(target), sent);
  }

  #send(target: Target | undefined, others: readonly Target[] = []): void {
    if (this.#over) return;
    this.#others = others;
    if (!target) return void this.#fail(() => this.#handlers.onFailed(503));
    this.#target = target;
    this.#sent = sendRequest(this.#options.stack, this.#sending(target), this.#hearing(target));
  }

  /** Tries the next place where the last one gave no sign of life (RFC 3263 4.3); false when there is none. */
  #sendElsewhere(): boolean {
    const [next, ...others] = this.#others;
    if (!next || this.#over || this.#hangupHeaders || this.#dialogs.size > 0) return false;
    this.#send(next, others);
    return true;
  }

  #sending(target: Target): Sending {
    const { callId } = this;
    const build = () =>
      buildInvite(this.#options, { callId, tag: this.#tag, cseq: ++this.#cseq, target, session: this.#session });
    const patienceMs = this.#others.length > 0 ? this.#options.stack.targets?.patienceMs : undefined;
    return { target, digest: this.#options.request.digest, build, patienceMs };
  }

  #hearing(target: Target): SendingHandlers {
    return {
      onProvisional: (response, request) => this.#provisional(response, request, target),
      onFinal: (response, request) => {
        if (response.status < 300) this.#success(response, request, target);
        else if (this.#askLonger(response)) this.#send(target, this.#others);
        else if (response.status !== 503 || !this.#sendElsewhere())
          this.#fail(() => this.#handlers.onRefused(response));
      },
      onFailure: (status) => {
        if (!this.#sendElsewhere()) this.#fail(() => this.#handlers.onFailed(status));
      },
      onLate: (response, request) => {
        const usage = this.#usageOf(request, response, target);
        usage?.confirm(response);
        usage?.bye([]);
      },
    };
  }

  /** Whether the INVITE is repeated with the longer session of a 422 (RFC 4028 7.3). */
  #askLonger(response: SipResponse): boolean {
    const requested = this.#session;
    const seconds = requested && longerSession(response, requested);
    if (seconds === undefined || seconds > LONGEST_SESSION_SECONDS || this.#hangupHeaders || this.#over) return false;
    this.#session = { ...requested!, seconds, minimum: Math.max(requested!.minimum, seconds) };
    return true;
  }

  #provisional(response: SipResponse, request: SipRequest, target: Target): void {
    if (response.status === 100 || this.#over) return;
    const usage = response.toTag === undefined ? undefined : this.#usageOf(request, response, target);
    if (response.toTag !== undefined && !usage) return;
    if (usage && this.#options.request.reliable && !usage.receiveProvisional(response)) return;
    if (response.status === 199) return void this.#branchEnded(response, usage);
    if (!this.#hangupHeaders) this.#handlers.onProvisional(response, keyOfResponse(response));
  }

  /** RFC 6228 4: nothing more is to be expected of that early dialog. */
  #branchEnded(response: SipResponse, usage: InviteUsage | undefined): void {
    if (!usage) return;
    const branch = keyOfResponse(response);
    if (!this.#hangupHeaders) this.#handlers.onBranchEnded?.(branch, response);
    // With a PRACK in transit it stays until the INVITE is decided.
    if (usage.lastReliable === undefined) usage.drop();
  }

  #success(response: SipResponse, request: SipRequest, target: Target): void {
    const key = keyOfResponse(response);
    const usage = this.#answered.get(key) ?? this.#usageOf(request, response, target);
    if (!usage) return;
    this.#answered.set(key, usage);
    const repeated = usage.state !== 'early';
    usage.confirm(response);
    if (repeated) return;
    this.#over = true;
    if (this.#winner || this.#hangupHeaders) {
      // Another branch answered too, or our CANCEL was late: acknowledged and ended (RFC 3261 13.2.2.4).
      usage.bye(this.#hangupHeaders ?? []);
    } else {
      this.#winner = usage;
      this.#handlers.onAnswered(response, key);
    }
    this.#dropEarly();
  }

  #fail(tell: () => void): void {
    if (this.#over) return;
    this.#over = true;
    if (!this.#hangupHeaders) tell();
    this.#dropEarly();
    this.#closeWhenDone();
  }

  /** Undefined above the limit of branches of a forking proxy. */
  #usageOf(request: SipRequest, response: SipResponse, target: Target): InviteUsage | undefined {
    const key = keyOfResponse(response);
    const { symmetric } = this.#options.request;
    const known = this.#dialogs.get(key);
    if (known) return known;
    const dropped = this.#dropped.get(key);
    if (dropped) return this.#make(key, dropped, target);
    const { mostBranches = Number.POSITIVE_INFINITY, hit } = this.#options.stack;
    if (this.#branches >= mostBranches) return void hit?.('sip.most_branches');
    return this.#make(key, uacDialog(request, response, target, symmetric ? target : undefined), target);
  }

  #make(key: string, from: UsageData | Dialog, peer: Target): InviteUsage {
    const { stack, contactFor, allow, request } = this.#options;
    const isWinner = () => usage === this.#winner;
    const usage: InviteUsage = createInviteUsage({
      stack,
      from,
      contactFor,
      digest: request.digest,
      allow,
      session: this.#session ?? request.session,
      handlers: {
        owner: () => this.#handlers.owner?.(),
        answerOffer: (sdp, message) =>
          isWinner() ? this.#handlers.answerOffer(sdp, message) : this.#handlers.answerEarlyOffer?.(sdp, message, key),
        makeOffer: () => this.#handlers.makeOffer(),
        acceptAnswer: (sdp) => isWinner() && this.#handlers.acceptAnswer(sdp),
        standingHeaders: () => this.#handlers.standingHeaders?.() ?? [],
        onUpdated: (message) => this.#handlers.onUpdated?.(message),
        onOfferRefused: (status) => this.#handlers.onOfferRefused?.(status),
        challengeStranger: (transaction, dialog) => this.#handlers.challengeStranger?.(transaction, dialog) ?? false,
        registeredFlow: (dialog) => this.#handlers.registeredFlow?.(dialog),
        onRequest: (message) => this.#handlers.onRequest(message),
        onRequestEnded: (label, status) => this.#handlers.onRequestEnded?.(label, status),
        onEnded: (end) => isWinner() && this.#handlers.onEnded(end),
        onClosed: () => this.#forget(key),
      },
    });
    if (!this.#dropped.has(key)) this.#branches++;
    this.#dialogs.set(key, usage);
    this.#options.enlist(key, usage, peer);
    return usage;
  }

  #forget(key: string): void {
    const usage = this.#dialogs.get(key);
    if (usage && !this.#answered.has(key)) this.#dropped.set(key, usage.dialog);
    this.#dialogs.delete(key);
    this.#options.discharge(key);
    this.#closeWhenDone();
  }

  #dropEarly(): void {
    for (const usage of [...this.#dialogs.values()]) if (usage.state === 'early') usage.drop();
  }

  /** Nothing is left when the INVITE is decided and no dialog remains. */
  #closeWhenDone(): void {
    if (this.#closed || !this.#over || this.#dialogs.size > 0) return;
    this.#closed = true;
    this.#handlers.onClosed();
    this.#handlers = unheard;
    // No further INVITE is built.
    const { request } = this.#options;
    this.#options = { ...this.#options, request: { ...request, from: request.to, headers: [] } };
  }
}

/** After the call's end: a repeated 2xx, or one of another branch, is acknowledged and ended. */
const unheard: OutgoingHandlers = {
  answerOffer: () => undefined,
  makeOffer: () => '',
  acceptAnswer: () => true,
  onRequest: () => 481,
  onProvisional: () => {},
  onAnswered: () => {},
  onRefused: () => {},
  onFailed: () => {},
  onEnded: () => {},
  onClosed: () => {},
};

/** The Require header of these options; none without any. */
function requirement(...options: (string | false | undefined)[]): HeaderLines {
  const required = options.filter((option) => option);
  return required.length > 0 ? [['Require', required.join(', ')]] : [];
}

/** Longest supervised session, in s. */
const LONGEST_SESSION_SECONDS = 86_400;

function buildInvite(
  options: Pick<OutgoingOptions, 'stack' | 'request' | 'contactFor' | 'allow'>,
  {
    callId,
    tag,
    cseq,
    target,
    session,
  }: { callId: string; tag: string; cseq: number; target: Target; session: SessionWish | undefined },
): SipRequest {
  const { stack, request } = options;
  const from = typeof request.from === 'function' ? request.from(target) : request.from;
  const contact = options.contactFor(target, request.routes?.[0]?.uri ?? request.uri);
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
    headers: [
      ['Allow', options.allow],
      [
        'Supported',
        [...(request.reliable ? ['100rel'] : []), '199', 'replaces', TARGET_DIALOG, ...(session ? [TIMER] : [])].join(
          ', ',
        ),
      ],
      ...requirement(request.reliable === 'required' && '100rel', session?.required && TIMER),
      ...(session ? wishHeaders(session) : []),
      ['User-Agent', stack.userAgent],
      ...(headers ?? []),
    ],
    contentType: 'application/sdp',
    body: request.sdp,
  });
}
