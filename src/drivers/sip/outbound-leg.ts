import type { VideoFormatName } from '../../lib/formats.ts';
import { onFirstUse } from '../../lib/on-first-use.ts';
import { isBeforeAnswer, isUp } from '../../machines/leg.ts';
import type { OutgoingCall, OutgoingCallData } from '../../sip/dialog/outgoing-call.ts';
import type { UsageHandlers } from '../../sip/dialog/usage-handlers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipResponse } from '../../sip/message/message.ts';
import { descriptionIn } from '../../sip/message/session-body.ts';
import type { Uri } from '../../sip/message/uri.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import type { Target } from '../../sip/transport/transport.ts';
import { Cause } from '../../telephony/causes.ts';
import type { DialDetails, Leg, LegRequest, LegVideo, Report, SipAbilities } from '../../telephony/driver.ts';
import type { DigitSequence } from '../../telephony/media.ts';
import type { Party, Redirection } from '../../telephony/party.ts';
import { answeredElsewhere, causeFromStatus, causeOfRefusal, reasonHeaders } from './causes.ts';
import { type EndpointConfig, sessionTermsOf } from './config.ts';
import { seekPhones, towards } from './elsewhere.ts';
import { forwardOf } from './forwards.ts';
import { digestClient, fromAddress, identityHeaders, ownHost } from './identity.ts';
import { LegCore } from './leg-core.ts';
import type { LegCoreData, LegSide } from './leg-data.ts';
import type { CallView, LegToken } from './legs.ts';
import { type Negotiation, preferredFirst } from './negotiation.ts';
import { redirectionHeaders } from './redirections.ts';
import { createRequestHeaders, type RequestHeaders } from './request-headers.ts';
import { type Resolved, sendToTarget } from './resource.ts';
import { type Destination, mayCall, type Services } from './services.ts';
import { sipAbilities } from './sip-abilities.ts';
import { trickleHeaders } from './trickle.ts';

type OutboundOptions = {
  services: Services;
  request: LegRequest;
  resolved: Resolved;
  codecs: readonly AudioCodec[];
  videoCodecs: readonly VideoFormatName[];
  report: Report;
  /** Data of a previous process. */
  from?: OutboundLegData;
};

/** A leg of a call that we place, as plain data. */
export type OutboundLegData = {
  readonly version: 1;
  readonly kind: 'outbound';
  readonly request: LegRequest;
  readonly codecs: readonly AudioCodec[];
  /** Of video; none where left out. */
  readonly videoCodecs?: readonly VideoFormatName[];
  readonly callId: string;
  readonly core: LegCoreData;
  readonly dialed: boolean;
  /** One for each contact that was called and has not refused. */
  readonly branches: readonly { readonly placed: Placed; readonly call: OutgoingCallData }[];
  /** Which of them answered. */
  readonly winner: number;
  readonly failures: readonly Failure[];
  /** One-time reports that were sent. */
  readonly told: readonly Progress[];
  readonly redirection?: Redirection;
  /** Headers of the 2xx. */
  readonly answer?: HeaderLines;
  /** Headers that the application gave for the INVITE. */
  readonly headers: HeaderLines;
};

/** An INVITE as it was placed: plain data. */
type Placed = { readonly destination: Destination; readonly sdp: string; readonly callId?: string };

type Progress = 'leg.proceeding' | 'leg.forwarding' | 'leg.ringing' | 'leg.progressed';

/** How one branch of a forked call failed. */
type Failure = { status: number; cause: number; forward?: { target: string; redirection?: Redirection } };

/**
 * A call to an endpoint: one INVITE to each of its contacts; the first 2xx wins (RFC 3261 16.7, as a caller). It is
 * new, or continues one of a previous process.
 */
export const createOutboundLeg = (options: OutboundOptions): Leg & { dump(): OutboundLegData } =>
  new OutboundLeg(options);

class OutboundLeg implements Leg, LegSide {
  /** The Call-ID, known before anything is sent; of a forked call it is that of the first contact. */
  readonly protocolId: string;
  readonly #options: OutboundOptions;
  readonly #core: LegCore;
  readonly #headers: RequestHeaders;
  readonly #calls = new Map<OutgoingCall, Placed>();
  /** Branches that have ended. */
  readonly #over = new Set<OutgoingCall>();
  readonly #failures: Failure[];
  readonly #told: Set<Progress>;
  readonly #token: LegToken;
  #winner: OutgoingCall | undefined;
  /** The caller's identity. */
  #caller: Party;
  /** Headers of the 2xx. */
  #answer: HeaderLines | undefined;
  /** How the call came to go to this endpoint. */
  #redirection: Redirection | undefined;
  /** While other nodes are asked where the endpoint is. */
  #search: Promise<void> | undefined;

  constructor(options: OutboundOptions) {
    this.#options = options;
    const { services, request, resolved, from } = options;
    this.protocolId = from?.callId ?? services.stack.ids.uuid();
    this.#headers = createRequestHeaders(from?.headers);
    this.#failures = [...(from?.failures ?? [])];
    this.#told = new Set(from?.told);
    this.#caller = request.caller;
    this.#redirection = from?.redirection;
    this.#answer = from?.answer;
    this.#core = new LegCore({
      services,
      endpoint: resolved.endpoint,
      channelId: request.channelId,
      near: request.near,
      codecs: options.codecs,
      video: { codecs: options.videoCodecs, offered: 1 },
      ...towards(services, resolved),
      report: options.report,
      presented: request.caller,
      calls: true,
      from: from && { data: from.core, usage: this.#resume(from)?.usage },
      begins: from?.dialed ? 'setup' : 'undialed',
      side: this,
    });
    this.#token = services.legs.add(resolved.endpoint.name, {
      channelId: request.channelId,
      view: () => this.#view(),
      receiveRefer: (...of) => this.#core.receiveRefer(...of),
    });
  }

  get formats(): readonly string[] {
    return this.#core.formats;
  }

  get media(): Leg['media'] {
    return this.#core.media;
  }

  get video(): LegVideo | undefined {
    return this.#core.video;
  }

  dial(details?: DialDetails): void {
    if (!this.#core.takes('dial')) return;
    if (details) this.present(details.caller);
    if (details?.prefers) this.#prefer(details.prefers);
    this.#redirection = details?.redirection;
    this.#core.send({ type: 'dial' });
  }

  ring(): void {
    this.#core.send({ type: 'ring' });
  }

  stopRinging(): void {
    this.#core.send({ type: 'stopRinging' });
  }

  progress(): void {}

  answer(): void {}

  hangup(cause: number): void {
    this.#core.send({ type: 'hangup', cause });
  }

  sendDigits(sequence: DigitSequence): void {
    this.#core.sendDigits(sequence);
  }

  hold(): void {
    this.#core.send({ type: 'hold' });
  }

  unhold(): void {
    this.#core.send({ type: 'unhold' });
  }

  present(party: Party): void {
    if (this.#core.state === 'undialed') this.#caller = party;
    this.#core.present(party);
  }

  redirect(target: string): boolean {
    const { services, resolved } = this.#options;
    const peer = this.#winner?.usage?.dialog.flow ??
      resolved.destinations()[0]?.target ?? { protocol: 'udp', address: '127.0.0.1', port: 5060 };
    if (!this.#core.takes('refer')) return false;
    return sendToTarget(services, { target, peer }, (uri) => this.#core.send({ type: 'refer', uri }));
  }

  mayCall(extension: string): boolean {
    const { services, resolved } = this.#options;
    return mayCall(services, resolved.endpoint, extension);
  }

  tellTransfer(id: string, status: number): void {
    this.#core.tellTransfer(id, status);
  }

  expectEnd(ms: number): void {
    this.#core.expectEnd(ms);
  }

  header(name: string, index = 1): string | undefined {
    return this.#headers.get(name, index);
  }

  get sip(): SipAbilities {
    return sipAbilities(this.#core, { headers: () => this.#headers.lines, answer: () => this.#answer });
  }

  addHeader(name: string, value: string): boolean {
    return this.#core.state === 'undialed' && this.#headers.add(name, value);
  }

  updateHeader(name: string, value: string): boolean {
    return this.#headers.update(name, value);
  }

  removeHeader(name: string): void {
    this.#headers.remove(name);
  }

  release(): void {
    this.#core.release();
    const { services, resolved } = this.#options;
    for (const [call, { destination }] of this.#calls)
      if (!this.#over.has(call)) services.departing.keep(call, { endpoint: resolved.endpoint, destination });
    this.#options.services.legs.remove(this.#token);
  }

  dump(): OutboundLegData {
    const calls = [...this.#calls.keys()];
    return {
      version: 1,
      kind: 'outbound',
      request: { ...this.#options.request, caller: this.#caller },
      codecs: this.#options.codecs,
      ...(this.#options.videoCodecs.length > 0 && { videoCodecs: this.#options.videoCodecs }),
      callId: this.protocolId,
      core: this.#dumpCore(),
      dialed: this.#core.state !== 'undialed',
      branches: [...this.#calls].map(([call, placed]) => ({ placed, call: call.dump() })),
      winner: this.#winner ? calls.indexOf(this.#winner) : -1,
      failures: [...this.#failures],
      told: [...this.#told],
      ...(this.#redirection && { redirection: this.#redirection }),
      ...(this.#answer && { answer: this.#answer }),
      headers: this.#headers.lines,
    };
  }

  intends(intent: string): boolean {
    return intent === 'dial';
  }

  intent(_intent: string, negotiation: Negotiation): void {
    this.#placeAll(negotiation);
  }

  changed(): void {
    this.#options.services.legs.changed(this.#options.resolved.endpoint.name);
  }

  end(cause: number | undefined): void {
    this.#hangupAll(cause === undefined ? undefined : reasonHeaders(cause));
  }

  /** A call that is not placed yet, because other nodes are asked, is dialed again. */
  #dumpCore(): LegCoreData {
    const dumped = this.#core.dump();
    const isUnplaced = this.#search !== undefined && this.#calls.size === 0;
    return isUnplaced ? { ...dumped, intents: ['dial', ...dumped.intents] } : dumped;
  }

  /** Offers these codecs first, unless the codecs were set. */
  #prefer(formats: readonly string[]): void {
    const { codecs, request } = this.#options;
    if (request.formats || this.#core.formats !== codecs) return;
    if (codecs.some((codec) => formats.includes(codec))) this.#core.change({ codecs: preferredFirst(codecs, formats) });
  }

  #resume({ branches, winner }: OutboundLegData): OutgoingCall | undefined {
    for (const { placed, call } of branches) this.#place(placed, call);
    this.#winner = [...this.#calls.keys()][winner];
    return this.#winner;
  }

  #placeAll(negotiation: Negotiation): void {
    const { resolved } = this.#options;
    // All are offered the same session.
    const offer = onFirstUse(() => negotiation.offer());
    this.#placeAt(resolved.destinations(), offer);
    if (resolved.elsewhere) this.#seek(resolved.elsewhere, offer);
    else if (this.#calls.size === 0) this.#core.gone(Cause.subscriberAbsent);
  }

  #placeAt(destinations: readonly Destination[], offer: () => string): void {
    if (destinations.length === 0) return;
    const sdp = offer();
    for (const destination of destinations) {
      const isFirst = this.#calls.size + this.#failures.length === 0;
      this.#place({ destination, sdp, ...(isFirst && { callId: this.protocolId }) });
    }
    this.changed();
  }

  /** Calls the phones of other nodes as well. The call ends if there are none anywhere, and when all have failed. */
  #seek(elsewhere: NonNullable<Resolved['elsewhere']>, offer: () => string): void {
    const { services, resolved, request } = this.#options;
    const isOver = () => this.#winner !== undefined || !isBeforeAnswer(this.#core.state);
    this.#search = seekPhones(elsewhere, services.stack.log, {
      about: { channel: request.channelId, endpoint: resolved.endpoint.name },
      found: (destinations) => {
        if (!isOver()) this.#placeAt(destinations, offer);
      },
      ended: (isWhole) => {
        this.#search = undefined;
        if (isOver() || this.#calls.size > 0) return;
        if (this.#failures.length > 0) this.#failAll();
        else this.#core.gone(isWhole ? Cause.subscriberAbsent : Cause.temporaryFailure);
      },
    });
  }

  /** The call as BLF shows it: the answering branch, or else the most advanced one. */
  #view(): CallView | undefined {
    const { state } = this.#core;
    const calls = [...this.#calls.keys()];
    const call = this.#winner ?? calls.find(({ identity }) => identity.remoteTag !== undefined) ?? calls[0];
    if (!call || state === 'gone' || state === 'ended') return undefined;
    const { localTag, remoteTag } = call.identity;
    const setup = remoteTag === undefined ? 'trying' : 'early';
    return {
      id: this.#options.request.channelId,
      callId: call.callId,
      localTag: remoteTag,
      remoteTag: localTag,
      direction: 'recipient',
      state: isUp(state) ? 'confirmed' : setup,
      held: state === 'held',
    };
  }

  #place(placed: Placed, from?: OutgoingCallData): void {
    const { services, resolved } = this.#options;
    const { endpoint } = resolved;
    const { destination, sdp, callId } = placed;
    const caller = this.#caller;
    const call: OutgoingCall = services.agent.invite(
      {
        ...destination,
        ...(callId !== undefined && { callId }),
        to: { uri: destination.uri, params: {} },
        from: (target) => fromAddress(services, endpoint, caller, target),
        headers: (target) => this.#inviteHeaders(target, destination.uri),
        sdp,
        reliable: endpoint.reliable === 'no' ? undefined : endpoint.reliable === 'required' ? 'required' : 'supported',
        session: sessionTermsOf(endpoint),
        digest: digestClient(services, endpoint),
        symmetric: endpoint.symmetric,
      },
      {
        ...this.#usageHandlers(),
        onProvisional: (response, branch) => this.#provisional(response, branch),
        onBranchEnded: (branch) => this.#core.earlyEnded(branch),
        answerEarlyOffer: (offer, _request, branch) => this.#core.earlyOffer(branch, offer),
        onClosed: () => this.#closed(call),
        onAnswered: (response, branch) => this.#answered(call, response, branch),
        onRefused: (response) => this.#failed(call, failureOf(services, endpoint, response, this.#redirection)),
        onFailed: (status) => this.#failed(call, { status, cause: causeFromStatus(status) }),
      },
      from,
    );
    this.#calls.set(call, placed);
    if (from?.over && from.dialogs.length === 0) this.#over.add(call);
  }

  /** Headers of the INVITE beside the target: caller identity, redirections, and those of the application. */
  #inviteHeaders(target: Target, uri: Uri): HeaderLines {
    const { services, request, resolved } = this.#options;
    const { endpoint } = resolved;
    const host = ownHost(services, endpoint, target);
    const redirection = this.#redirection;
    return [
      ...identityHeaders(services, endpoint, target, { party: this.#caller, role: 'calling' }),
      ...(redirection ? redirectionHeaders(redirection, { host, target: uri, tells: endpoint.identity }) : []),
      ...(endpoint.identity.identityTokens ? services.identityTokens.of(request.near) : []),
      ...trickleHeaders(endpoint),
      ...this.#headers.lines,
    ];
  }

  /** The core's, looked up when they are needed: a call that is restored stands before the core does. */
  #usageHandlers(): Omit<UsageHandlers, 'onClosed'> {
    const told = () => this.#core;
    return {
      owner: () => this.#options.request.channelId,
      answerOffer: (sdp, request) => told().answerOffer(sdp, request),
      makeOffer: () => told().makeOffer(),
      acceptAnswer: (sdp) => told().acceptAnswer(sdp),
      standingHeaders: () => told().standingHeaders(),
      onUpdated: (request) => told().onUpdated(request),
      onOfferRefused: (status) => told().onOfferRefused(status),
      challengeStranger: (transaction, dialog) => told().challengeStranger(transaction, dialog),
      registeredFlow: (dialog) => told().registeredFlow(dialog),
      onRequest: (request) => told().onRequest(request),
      onRequestEnded: (label, status) => told().onRequestEnded(label, status),
      onEnded: (end) => told().onEnded(end),
    };
  }

  #closed(call: OutgoingCall): void {
    this.#over.add(call);
    this.#options.services.departing.closed(call);
  }

  #provisional(response: SipResponse, branch: string): void {
    if (!isBeforeAnswer(this.#core.state)) return;
    this.#core.identify(response);
    const sdp = descriptionIn(response);
    const media = sdp !== undefined && this.#core.earlyAnswer(branch, sdp);
    // A 180 may have a description, too: the far side rings, and is heard (RFC 3960 3.2).
    if (media) this.#tellOnce('leg.progressed');
    if (response.status === 180) this.#tellOnce('leg.ringing', media);
    else if (!media) this.#tellOnce('leg.proceeding');
    if (response.status === 181) this.#tellOnce('leg.forwarding');
  }

  #tellOnce(type: Progress, inMedia = false): void {
    if (!isBeforeAnswer(this.#core.state) || this.#told.has(type)) return;
    this.#told.add(type);
    this.#core.tell(inMedia && type === 'leg.ringing' ? { type, inMedia } : { type });
    this.changed();
  }

  #answered(call: OutgoingCall, response: SipResponse, branch: string): void {
    const core = this.#core;
    this.#winner = call;
    for (const other of this.#calls.keys()) if (other !== call) other.hangup(answeredElsewhere);
    core.identify(response);
    this.#answer = response.headers();
    // An early answer (183) may be missing in the 2xx, from careless peers or after a PRACK; it still applies. A
    // reliable one applies in spite of the 2xx (RFC 6337 3.1.1).
    const sdp = call.usage!.isSettled ? undefined : descriptionIn(response);
    if (core.won(branch, sdp)) return void core.up(call.usage!);
    call.hangup(reasonHeaders(Cause.bearerNotAvailable));
    core.gone(Cause.bearerNotAvailable, 488);
  }

  #failed(call: OutgoingCall, failure: Failure): void {
    const core = this.#core;
    this.#calls.delete(call);
    this.#failures.push(failure);
    // A 6xx response ends all branches (RFC 3261 16.7 step 5).
    if (failure.status >= 600) this.#hangupAll();
    else if (this.#calls.size > 0 || this.#search) return;
    if (!this.#winner && isBeforeAnswer(core.state)) this.#failAll();
  }

  /** Nobody takes the call: the best of the failures is told. */
  #failAll(): void {
    const core = this.#core;
    const best = this.#failures.reduce((a, b) => (rank(b) < rank(a) ? b : a));
    if (best.forward) core.send({ type: 'call.forwarded', ...best.forward });
    else core.gone(best.cause, best.status);
  }

  #hangupAll(headers?: HeaderLines): void {
    for (const call of this.#calls.keys()) call.hangup(headers);
  }
}

function failureOf(
  services: Services,
  endpoint: EndpointConfig,
  response: SipResponse,
  before: Redirection | undefined,
): Failure {
  const { status } = response;
  const forward = status < 400 ? forwardOf(services, endpoint, response, before) : undefined;
  return { status, cause: causeOfRefusal(response), ...(forward && { forward }) };
}

/** Ranks failures: a person's decision before a missing response (RFC 3261 16.7 step 6). */
function rank({ status }: Failure): number {
  if (status >= 600) return 0;
  if (status === 486) return 1;
  if (status < 400) return 2;
  if (status === 408) return 5;
  return status < 500 ? 3 : 4;
}
