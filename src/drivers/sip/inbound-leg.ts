import { guarded } from '../../lib/guard.ts';
import { isBeforeAnswer, isUp } from '../../machines/leg.ts';
import type {
  IncomingCall,
  IncomingCallData,
  IncomingHandlers,
  ResponseOptions,
} from '../../sip/dialog/incoming-call.ts';
import type { CallOffer, IncomingTerms } from '../../sip/dialog/user-agent.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { parseUri } from '../../sip/message/uri.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import { parseDescription } from '../../sip/sdp/description.ts';
import { usableAudio } from '../../sip/sdp/offer-answer.ts';
import { Cause } from '../../telephony/causes.ts';
import type { Leg, LegVideo, Report, SipAbilities } from '../../telephony/driver.ts';
import type { DigitSequence } from '../../telephony/media.ts';
import type { Party } from '../../telephony/party.ts';
import { causeFromReason, causeFromStatus, reasonHeaders, statusFromCause } from './causes.ts';
import { type EndpointConfig, reliabilityOf, sessionTermsOf } from './config.ts';
import { digestClient } from './identity.ts';
import { LegCore } from './leg-core.ts';
import type { LegCoreData } from './leg-data.ts';
import { videoLinesIn } from './leg-video.ts';
import type { CallView, LegToken } from './legs.ts';
import { type Negotiation, preferredFirst } from './negotiation.ts';
import { sendToTarget } from './resource.ts';
import { encryptionOf, mayCall, type Services } from './services.ts';
import { sipAbilities } from './sip-abilities.ts';
import { trickleHeaders } from './trickle.ts';

/** A call that came in and waits for call control to open its leg. */
export interface InboundCall {
  /** Creates the leg; once. Earlier events are reported after it returns. */
  open(channelId: string, report: Report): Leg;
  /** Refuses the call before it was opened. */
  refuse(status: number): void;
}

/** Q.850: redirected to new destination. */
const REDIRECTED = 23;

/** The cause of a CANCEL: from its Reason (26 if answered elsewhere), else 16, as RFC 3398 8.3 maps it. */
const causeOfCancel = (cancel: SipRequest | undefined): number =>
  (cancel && causeFromReason(cancel)) ?? Cause.normalClearing;

/** A leg of a call that came in, as plain data. */
export type InboundLegData = {
  readonly version: 1;
  readonly kind: 'inbound';
  readonly endpoint: string;
  readonly call: IncomingCallData;
  readonly core: LegCoreData;
  /** Our description of the session, once it was given. */
  readonly earlyAnswer?: string;
};

/** State of a call whose leg is not open yet, and its later receiver. */
type Opening = { core?: LegCore; call?: IncomingCall; cancelledWith?: number };

/** Takes an INVITE whose sender is known and whose offer we can answer. */
export function takeInboundCall(services: Services, endpoint: EndpointConfig, offer: CallOffer): InboundCall {
  const state: Opening = {};
  const call = offer.take(handlersOf(services, endpoint, state), termsOf(services, endpoint));
  state.call = call;
  return {
    refuse: (status) => call.refuse(status),
    open(channelId, report) {
      const leg = openLeg({ services, endpoint, call, channelId, report }, state);
      const { core, cancelledWith } = state;
      // No reports from inside `open`.
      if (cancelledWith !== undefined)
        queueMicrotask(guarded(services.stack.log, 'telling of a cancelled call', () => core?.gone(cancelledWith)));
      return leg;
    },
  };
}

/** Goes on with a leg that another process saved. */
export function resumeInboundLeg(
  services: Services,
  endpoint: EndpointConfig,
  data: InboundLegData,
  { channelId, report }: { channelId: string; report: Report },
): Leg {
  const state: Opening = {};
  const call = services.agent.resume(data.call, handlersOf(services, endpoint, state), termsOf(services, endpoint));
  state.call = call;
  return openLeg({ services, endpoint, call, channelId, report, from: data }, state);
}

const termsOf = (services: Services, endpoint: EndpointConfig): IncomingTerms => ({
  digest: digestClient(services, endpoint),
  symmetric: endpoint.symmetric,
  reliability: reliabilityOf[endpoint.reliable],
  session: sessionTermsOf(endpoint),
});

const handlersOf = (services: Services, endpoint: EndpointConfig, state: Opening): IncomingHandlers => ({
  owner: () => state.core?.usageHandlers.owner?.(),
  answerOffer: (sdp, request) => state.core?.usageHandlers.answerOffer(sdp, request),
  rejectOffer: (sdp) => state.core?.usageHandlers.rejectOffer?.(sdp),
  makeOffer: () => state.core?.usageHandlers.makeOffer() ?? '',
  acceptAnswer: (sdp) => state.core?.usageHandlers.acceptAnswer(sdp) ?? false,
  standingHeaders: () => state.core?.identity() ?? [],
  onUpdated: (request) => state.core?.identify(request),
  onOfferRefused: (status) => state.core?.usageHandlers.onOfferRefused?.(status),
  challengeStranger: (transaction, dialog) => services.endpoints.challengeStranger(endpoint, transaction, dialog),
  registeredFlow: (dialog) => services.bindings.flowTo(endpoint.name, dialog.remoteTarget),
  onRequest: (request) => state.core?.usageHandlers.onRequest(request) ?? 500,
  onRequestEnded: (label, status) => state.core?.usageHandlers.onRequestEnded?.(label, status),
  onEnded: (end) => state.core?.usageHandlers.onEnded(end),
  onCancelled(cancel) {
    state.cancelledWith = causeOfCancel(cancel);
    state.core?.gone(state.cancelledWith);
  },
  onAnswerSent() {
    if (state.call) state.core?.up(state.call.usage);
  },
  onSetupFailed: (status) => state.core?.gone(causeFromStatus(status), status),
  onClosed() {
    if (state.call) services.departing.closed(state.call);
  },
});

type LegOptions = {
  services: Services;
  endpoint: EndpointConfig;
  call: IncomingCall;
  channelId: string;
  report: Report;
  from?: InboundLegData;
};

function openLeg(options: LegOptions, state: Opening): Leg {
  const leg = new InboundLeg(options);
  state.core = leg.core;
  return leg;
}

class InboundLeg implements Leg {
  readonly protocolId: string;
  readonly source: string;
  readonly core: LegCore;
  readonly #services: Services;
  readonly #endpoint: EndpointConfig;
  readonly #call: IncomingCall;
  readonly #token: LegToken;
  readonly #channelId: string;
  #earlyAnswer: string | undefined;
  /** The codecs that the call came with, once they were asked for. */
  #offered: readonly AudioCodec[] | undefined;

  constructor({ services, endpoint, call, channelId, report, from }: LegOptions) {
    this.#services = services;
    this.#endpoint = endpoint;
    this.#call = call;
    this.#channelId = channelId;
    this.protocolId = call.request.callId;
    this.source = textOf(call.source);
    this.#earlyAnswer = from?.earlyAnswer;
    this.core = new LegCore({
      services,
      endpoint,
      channelId,
      codecs: endpoint.codecs,
      video: { codecs: endpoint.videoCodecs, offered: videoLinesIn(call.offer ?? '') },
      peer: call.source,
      report,
      from: from && { data: from.core, usage: from.core.phase === 'setup' ? undefined : call.usage },
      intents: {
        ring: () => this.#provisional(180, this.#earlyAnswer),
        forwarding: () => this.#provisional(181, undefined),
        progress: (negotiation) => this.#progressed(negotiation),
        answer: (negotiation) => this.#answered(negotiation),
      },
      onChanged: () => services.legs.changed(endpoint.name),
      begins: 'setup',
      onMediaLost: (cause) => call.refuse(503, { headers: reasonHeaders(cause) }),
      end: (cause = Cause.normalClearing) => call.hangup(statusFromCause(cause), reasonHeaders(cause)),
      deflect: (uri) => call.refuse(302, { contact: { uri: parseUri(uri)!, params: {} } }),
    });
    this.#token = services.legs.add(endpoint.name, {
      channelId,
      view: () => this.#view(),
      receiveRefer: this.core.receiveRefer,
    });
    services.legs.changed(endpoint.name);
    this.#channelId = channelId;
    if (endpoint.identity.identityTokens) services.identityTokens.keep(channelId, call.request);
  }

  /** Before the answer what the caller has offered and its endpoint may use. */
  get formats(): readonly string[] {
    const { formats, state } = this.core;
    if (!isBeforeAnswer(state) || formats.length === 1) return formats;
    this.#offered ??= codecsIn(this.#call.offer ?? '', this.#endpoint);
    const common = formats.filter((codec) => this.#offered?.includes(codec));
    return common.length > 0 ? common : formats;
  }

  get media(): Leg['media'] {
    return this.core.media;
  }

  get video(): LegVideo | undefined {
    return this.core.video;
  }

  dial(): void {}

  ring(): void {
    this.core.send({ type: 'ring' });
  }

  forwarding(): void {
    this.core.send({ type: 'forwarding' });
  }

  stopRinging(): void {
    this.core.send({ type: 'stopRinging' });
  }

  progress(prefers?: readonly string[]): void {
    this.#prefer(prefers);
    this.core.send({ type: 'progress' });
  }

  answer(prefers?: readonly string[]): void {
    this.#prefer(prefers);
    this.core.send({ type: 'answer' });
  }

  hangup(cause: number): void {
    this.core.send({ type: 'hangup', cause });
  }

  sendDigits(sequence: DigitSequence): void {
    this.core.sendDigits(sequence);
  }

  hold(): void {
    this.core.send({ type: 'hold' });
  }

  unhold(): void {
    this.core.send({ type: 'unhold' });
  }

  present(party: Party): void {
    this.core.present(party);
  }

  redirect(target: string): boolean {
    const { core } = this;
    if (!core.takes('refer') && !core.takes('deflect')) return false;
    const about = { target, peer: this.#call.source };
    return sendToTarget(
      this.#services,
      about,
      (uri) =>
        core.send({ type: 'refer', uri }) || core.send({ type: 'deflect', uri, cause: REDIRECTED, techCause: 302 }),
    );
  }

  mayCall(extension: string): boolean {
    return mayCall(this.#services, this.#endpoint, extension);
  }

  tellTransfer(id: string, status: number): void {
    this.core.tellTransfer(id, status);
  }

  expectEnd(ms: number): void {
    this.core.expectEnd(ms);
  }

  header(name: string, index = 1): string | undefined {
    return this.#call.request.headerLines(name)[index - 1];
  }

  get sip(): SipAbilities {
    return sipAbilities(this.core, { headers: () => this.#call.request.headers(), answer: () => undefined });
  }

  addHeader(): boolean {
    return false;
  }

  updateHeader(): boolean {
    return false;
  }

  removeHeader(): void {}

  release(): void {
    this.core.release();
    if (this.#call.usage.state !== 'closed') this.#services.departing.keep(this.#call, { endpoint: this.#endpoint });
    this.#services.legs.remove(this.#token);
    this.#services.identityTokens.forget(this.#channelId);
  }

  dump(): InboundLegData {
    return {
      version: 1,
      kind: 'inbound',
      endpoint: this.#endpoint.name,
      call: this.#call.dump(),
      core: this.core.dump(),
      ...(this.#earlyAnswer !== undefined && { earlyAnswer: this.#earlyAnswer }),
    };
  }

  /**
   * Prefers these codecs, unless SDP was sent or the codecs were set. Later offers of the same codecs get the same
   * answer.
   */
  #prefer(formats: readonly string[] = []): void {
    const { codecs } = this.#endpoint;
    if (!isBeforeAnswer(this.core.state) || this.#earlyAnswer !== undefined || this.core.formats !== codecs) return;
    if (codecs.some((codec) => formats.includes(codec))) this.core.change({ codecs: preferredFirst(codecs, formats) });
  }

  #progressed(negotiation: Negotiation): void {
    if (!isBeforeAnswer(this.core.state)) return;
    // Without an offer there is nothing to answer before the 200, and an offer of ours needs a reliable response.
    const sdp = !this.#call.wantsOffer || this.#call.isReliable ? this.#description(negotiation) : undefined;
    this.#provisional(183, sdp);
  }

  #provisional(status: number, sdp: string | undefined): void {
    this.#call.provisional(status, this.#saying(sdp));
    this.#services.legs.changed(this.#endpoint.name);
  }

  /** The call as BLF shows it. */
  #view(): CallView | undefined {
    const { state } = this.core;
    if (state === 'gone' || state === 'ended') return undefined;
    const { local, remote } = this.#call.usage.dialog;
    const setup = this.#call.isEarly ? 'early' : 'trying';
    return {
      id: this.#channelId,
      callId: this.protocolId,
      localTag: remote.params['tag'],
      remoteTag: local.params['tag'],
      direction: 'initiator',
      state: isUp(state) ? 'confirmed' : setup,
      held: state === 'held',
    };
  }

  /** Content of a response besides its status: SDP and the answering party's identity. */
  #saying(sdp: string | undefined): ResponseOptions {
    return { ...(sdp !== undefined && { sdp }), headers: this.#headers() };
  }

  #answered(negotiation: Negotiation): void {
    if (!isBeforeAnswer(this.core.state)) return;
    const sdp = this.#description(negotiation);
    if (sdp === undefined) {
      this.#call.refuse(488, { headers: reasonHeaders(Cause.bearerNotAvailable) });
      return void this.core.gone(Cause.bearerNotAvailable, 488);
    }
    this.#call.answer(sdp, this.#headers());
  }

  #headers(): HeaderLines {
    return [...this.core.identity(), ...trickleHeaders(this.#endpoint)];
  }

  /** Our answer to the caller's offer, or our offer: the same in 183 and 200 (RFC 3261 13.3.1.1). */
  #description(negotiation: Negotiation): string | undefined {
    const { request, offer } = this.#call;
    if (this.#earlyAnswer !== undefined) return this.#earlyAnswer;
    const said = offer === undefined ? negotiation.offer() : this.core.usageHandlers.answerOffer(offer, request);
    if (typeof said === 'string') this.#earlyAnswer = said;
    return this.#earlyAnswer;
  }
}

/** The codecs of an offer's audio that an endpoint accepts; none without audio. */
function codecsIn(sdp: string, endpoint: EndpointConfig): AudioCodec[] {
  const offer = parseDescription(sdp);
  const audio = offer.ok ? usableAudio(offer.description, encryptionOf(endpoint), endpoint.codecs) : undefined;
  return audio?.remote.codecs.map(({ codec }) => codec) ?? [];
}

const textOf = ({ address, port }: IncomingCall['source']): string =>
  `${address.includes(':') ? `[${address}]` : address}:${port}`;
