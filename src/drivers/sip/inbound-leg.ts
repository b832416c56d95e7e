import { guarded } from '../../lib/guard.ts';
import { isBeforeAnswer, isUp } from '../../machines/leg.ts';
import type { Dialog } from '../../sip/dialog/dialog.ts';
import type {
  IncomingCall,
  IncomingCallData,
  IncomingHandlers,
  ResponseOptions,
} from '../../sip/dialog/incoming-call.ts';
import type { OfferAnswer, UsageAnswer, UsageEnd } from '../../sip/dialog/usage-handlers.ts';
import type { CallOffer, IncomingTerms } from '../../sip/dialog/user-agent.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { parseUri } from '../../sip/message/uri.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import { parseDescription } from '../../sip/sdp/description.ts';
import { usableAudio } from '../../sip/sdp/offer-answer.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { Target } from '../../sip/transport/transport.ts';
import { Cause } from '../../telephony/causes.ts';
import type { Leg, LegVideo, Report, SipAbilities } from '../../telephony/driver.ts';
import type { DigitSequence } from '../../telephony/media.ts';
import type { Party } from '../../telephony/party.ts';
import { causeFromReason, causeFromStatus, reasonHeaders, statusFromCause } from './causes.ts';
import { type EndpointConfig, reliabilityOf, sessionTermsOf } from './config.ts';
import { digestClient } from './identity.ts';
import { LegCore } from './leg-core.ts';
import type { LegCoreData, LegSide } from './leg-data.ts';
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

/** Takes an INVITE whose sender is known and whose offer we can answer. */
export function takeInboundCall(services: Services, endpoint: EndpointConfig, offer: CallOffer): InboundCall {
  const arriving = new Arriving(services, endpoint);
  const call = offer.take(arriving, termsOf(services, endpoint));
  arriving.call = call;
  return {
    refuse: (status) => call.refuse(status),
    open(channelId, report) {
      const leg = openLeg({ services, endpoint, call, channelId, report }, arriving);
      const { core, cancelledWith } = arriving;
      // No reports from inside `open`.
      if (cancelledWith !== undefined)
        queueMicrotask(
          guarded(services.stack.log, 'telling of a cancelled call', () => core?.gone(cancelledWith, 487)),
        );
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
  const arriving = new Arriving(services, endpoint);
  const call = services.agent.resume(data.call, arriving, termsOf(services, endpoint));
  arriving.call = call;
  return openLeg({ services, endpoint, call, channelId, report, from: data }, arriving);
}

const termsOf = (services: Services, endpoint: EndpointConfig): IncomingTerms => ({
  digest: digestClient(services, endpoint),
  symmetric: endpoint.symmetric,
  reliability: reliabilityOf[endpoint.reliable],
  session: sessionTermsOf(endpoint),
});

/** A call that came in, and its leg once that is open: it hears what the dialog tells. */
class Arriving implements IncomingHandlers {
  call: IncomingCall | undefined;
  core: LegCore | undefined;
  cancelledWith: number | undefined;
  readonly #services: Services;
  readonly #endpoint: EndpointConfig;

  constructor(services: Services, endpoint: EndpointConfig) {
    this.#services = services;
    this.#endpoint = endpoint;
  }

  owner(): string | undefined {
    return this.core?.owner();
  }

  answerOffer(sdp: string, request: SipRequest): OfferAnswer {
    return this.core?.answerOffer(sdp, request);
  }

  rejectOffer(sdp: string): string | undefined {
    return this.core?.rejectOffer(sdp);
  }

  makeOffer(): string {
    return this.core?.makeOffer() ?? '';
  }

  acceptAnswer(sdp: string): boolean {
    return this.core?.acceptAnswer(sdp) ?? false;
  }

  standingHeaders(): HeaderLines {
    return this.core?.standingHeaders() ?? [];
  }

  onUpdated(request: SipRequest): void {
    this.core?.identify(request);
  }

  onOfferRefused(status: number): void {
    this.core?.onOfferRefused(status);
  }

  challengeStranger(transaction: ServerTransaction, dialog: Dialog): boolean {
    return this.#services.endpoints.challengeStranger(this.#endpoint, transaction, dialog);
  }

  registeredFlow(dialog: Dialog): Target | undefined {
    return this.#services.bindings.flowTo(this.#endpoint.name, dialog.remoteTarget);
  }

  onRequest(request: SipRequest): UsageAnswer {
    return this.core?.onRequest(request) ?? 500;
  }

  onRequestEnded(label: string, status: number): void {
    this.core?.onRequestEnded(label, status);
  }

  onEnded(end: UsageEnd): void {
    this.core?.onEnded(end);
  }

  onCancelled(cancel: SipRequest | undefined): void {
    this.cancelledWith = causeOfCancel(cancel);
    this.core?.gone(this.cancelledWith, 487);
  }

  onAnswerSent(): void {
    if (this.call) this.core?.up(this.call.usage);
  }

  onSetupFailed(status: number): void {
    this.core?.gone(causeFromStatus(status), status);
  }

  onClosed(): void {
    if (this.call) this.#services.departing.closed(this.call);
  }
}

type LegOptions = {
  services: Services;
  endpoint: EndpointConfig;
  call: IncomingCall;
  channelId: string;
  report: Report;
  from?: InboundLegData;
};

function openLeg(options: LegOptions, arriving: Arriving): Leg {
  const leg = new InboundLeg(options);
  arriving.core = leg.core;
  return leg;
}

class InboundLeg implements Leg, LegSide {
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
      begins: 'setup',
      side: this,
    });
    this.#token = services.legs.add(endpoint.name, {
      channelId,
      view: () => this.#view(),
      receiveRefer: (...of) => this.core.receiveRefer(...of),
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

  /* ---- What the core asks for ------------------------------------------------------------------------------- */

  intends(intent: string): boolean {
    return Object.hasOwn(InboundLeg.#intents, intent);
  }

  intent(intent: string, negotiation: Negotiation): void {
    InboundLeg.#intents[intent]?.(this, negotiation);
  }

  static readonly #intents: Readonly<Record<string, (leg: InboundLeg, negotiation: Negotiation) => void>> = {
    ring: (leg) => leg.#provisional(180, leg.#earlyAnswer),
    forwarding: (leg) => leg.#provisional(181, undefined),
    progress: (leg, negotiation) => leg.#progressed(negotiation),
    answer: (leg, negotiation) => leg.#answered(negotiation),
  };

  changed(): void {
    this.#services.legs.changed(this.#endpoint.name);
  }

  mediaLost(cause: number): void {
    this.#call.refuse(503, { headers: reasonHeaders(cause) });
  }

  end(cause: number = Cause.normalClearing): void {
    this.#call.hangup(statusFromCause(cause), reasonHeaders(cause));
  }

  deflect(uri: string): void {
    this.#call.refuse(302, { contact: { uri: parseUri(uri)!, params: {} } });
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
    return [...this.core.standingHeaders(), ...trickleHeaders(this.#endpoint)];
  }

  /** Our answer to the caller's offer, or our offer: the same in 183 and 200 (RFC 3261 13.3.1.1). */
  #description(negotiation: Negotiation): string | undefined {
    const { request, offer } = this.#call;
    if (this.#earlyAnswer !== undefined) return this.#earlyAnswer;
    const said = offer === undefined ? negotiation.offer() : this.core.answerOffer(offer, request);
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
