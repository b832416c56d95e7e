import type { VideoFormatName } from '../../lib/formats.ts';
import { guarded } from '../../lib/guard.ts';
import { isBeforeAnswer, isUp, type LegEffect, type LegEvent, type LegState, legTable } from '../../machines/leg.ts';
import { EffectsOn, type TableEffects, TableRun } from '../../machines/table-run.ts';
import type { Dialog, DialogRequestOptions } from '../../sip/dialog/dialog.ts';
import type { InviteUsage } from '../../sip/dialog/invite-usage.ts';
import { Timers } from '../../sip/dialog/stack.ts';
import type { OfferAnswer, UsageAnswer, UsageEnd, UsageHandlers } from '../../sip/dialog/usage-handlers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipMessage, SipRequest } from '../../sip/message/message.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { Target } from '../../sip/transport/transport.ts';
import { Cause } from '../../telephony/causes.ts';
import type { LegReport } from '../../telephony/driver.ts';
import type { DigitSequence, MediaReport, MediaSessionDump, RtpFlow, RtpSession } from '../../telephony/media.ts';
import type { Party } from '../../telephony/party.ts';
import { heardOf } from '../heard.ts';
import { PendingSession } from '../pending-session.ts';
import { causeFromStatus, endOfBye } from './causes.ts';
import type { EndpointConfig } from './config.ts';
import { EarlyMedia } from './early-media.ts';
import { identityHeaders } from './identity.ts';
import { digitTerms, infosOf, oneDigit } from './info-digits.ts';
import { type FindPeer, type LegCoreData, type LegCoreOptions, stateOf } from './leg-data.ts';
import { LegParts } from './leg-parts.ts';
import { VideoStreams, type VideoStreamsData } from './leg-video.ts';
import type { ReferReceiver } from './legs.ts';
import { receiveMessage } from './messages.ts';
import { createNegotiation, type Negotiation } from './negotiation.ts';
import { assertedParty } from './party.ts';
import { addressDependsOnPeer, mediaAddress, mediaHosts, srtpPolicy } from './services.ts';

/**
 * The common part of inbound and outbound legs: media, reports, and the call in its dialog, whose requests it answers. Parts that
 * most calls do not need are created by their first use.
 */
export class LegCore implements Omit<UsageHandlers, 'onClosed'> {
  readonly media: PendingSession;
  readonly video: VideoStreams | undefined;
  readonly #options: LegCoreOptions;
  readonly #life: TableRun<LegState, LegEvent, LegEffect, LegCore>;
  readonly #timers: Timers;
  readonly #parts: LegParts;
  readonly #intents: string[] = [];
  #usage: InviteUsage | undefined;
  #negotiation: Negotiation | undefined;
  #early: EarlyMedia | undefined;
  #digits: EndpointConfig['digits'];
  #codecs: readonly AudioCodec[];
  #connected: Party | undefined;
  #presented: Party | undefined;
  #peer: Target | undefined;

  constructor(options: LegCoreOptions) {
    const { services, endpoint } = options;
    const from = options.from?.data;
    this.#options = options;
    this.#life = this.#begin(from);
    this.#timers = new Timers(services.stack, 'a leg', () => this.#breakDown());
    this.#usage = options.from?.usage;
    this.#digits = from?.digits ?? endpoint.digits;
    this.#codecs = from?.codecs ?? options.codecs;
    this.#connected = from?.connected;
    this.#presented = from ? from.presented : options.presented;
    this.#peer = options.peer;
    this.video = this.#showVideo(from?.video);
    this.#parts = new LegParts(this, options, this.#timers);
    this.media = this.#openMedia(from?.media);
    const known = this.#goOnWith(from);
    if (!known)
      this.media.whenOpen(this.#contain('negotiating', (opened: RtpSession) => this.#negotiate(opened, from)));
    if (from?.media.local?.port === 0 && this.isUp)
      this.media.whenOpen(this.#contain('telling the new address', () => this.send({ type: 'renegotiate' })));
    // Without an open port only the queued commands exist.
    if (from?.media.local) this.media.goOnFrom(from.media);
    else if (from) this.media.ask(from.media.standing);
    for (const intent of from?.intents ?? []) this.#when(intent);
    if (from) this.#parts.restore(from);
  }

  get state(): LegState {
    return this.#life.state;
  }

  /** The codec agreed on; before, all that may be. */
  get formats(): readonly AudioCodec[] {
    const agreed = this.#negotiation?.agreed?.codec;
    return agreed ? [agreed] : this.#codecs;
  }

  /** How digits travel. */
  get digits(): EndpointConfig['digits'] {
    return this.#digits;
  }

  /** Whether the call stands. */
  get isUp(): boolean {
    return isUp(this.state);
  }

  get #isOver(): boolean {
    return this.state === 'gone' || this.state === 'ended';
  }

  /** Takes a command, or what became of the call, as the chart of legs says. @returns false if that ignores it. */
  send(event: LegEvent): boolean {
    return this.#life.send(event);
  }

  /** Whether the chart would take such an event now. */
  takes(type: LegEvent['type']): boolean {
    return this.#life.takes(type);
  }

  tell(what: LegReport): void {
    if (this.state !== 'ended') this.#options.report(what);
  }

  /** The early answer of a branch of an outbound call; false if it is invalid. */
  earlyAnswer(branch: string, sdp: string): boolean {
    if (this.#negotiation) this.#early ??= new EarlyMedia(this.#negotiation, this.#options.services);
    return this.#early?.accept(branch, sdp) ?? false;
  }

  /** Our answer to a new offer of a branch. */
  earlyOffer(branch: string, sdp: string): OfferAnswer {
    return this.#early?.answer(branch, sdp);
  }

  /** Another branch is heard from now on, if there is one. */
  earlyEnded(branch: string): void {
    this.#early?.end(branch);
  }

  /**
   * A branch has answered the call, with a description or with what it said before.
   * @returns false when nothing is agreed on.
   */
  won(branch: string, sdp: string | undefined): boolean {
    const winner = this.#early?.winner(branch);
    this.#early = undefined;
    if (winner) this.#negotiation = winner;
    return sdp === undefined ? winner !== undefined : (this.#negotiation?.accept(sdp) ?? false);
  }

  /** The call stands; tells `leg.answered`, and `leg.held` if it begins on hold. */
  up(usage: InviteUsage): void {
    if (this.takes('call.answered')) this.#usage = usage;
    if (this.send({ type: 'call.answered' }) && this.#negotiation?.agreed?.held) this.send({ type: 'far.held' });
  }

  /** The far side has ended or refused it. */
  gone(cause: number, techCause?: number): void {
    this.send({ type: 'call.ended', cause, techCause });
  }

  /** Tells `leg.connectedLine` when a trusted peer says who it is. */
  identify(message: SipMessage): void {
    const party = this.#options.endpoint.trustIdentity ? assertedParty(message) : undefined;
    if (!party || this.#isOver || isSame(party, this.#connected)) return;
    this.#connected = party;
    this.tell({ type: 'leg.connectedLine', party });
  }

  /** Headers that say who the far side is connected to. */
  standingHeaders(): HeaderLines {
    const { services, endpoint, calls } = this.#options;
    const target = this.#usage?.dialog.flow ?? this.#peer;
    if (!endpoint.sendConnectedLine || !this.#presented || !target) return [];
    const role = calls ? 'calling' : 'called';
    return identityHeaders(services, endpoint, target, { party: this.#presented, role });
  }

  /** Tells the far side who it is connected to, unless it knows or is not to. */
  present(party: Party): void {
    if (isSame(party, this.#presented)) return;
    this.#presented = party;
    if (this.isUp && this.standingHeaders().length > 0) this.#usage?.announce();
  }

  sendDigits(sequence: DigitSequence): void {
    const inAudio = this.#digits === 'inband' || this.#digits === 'auto_inband';
    const agreed = this.#negotiation?.agreed;
    if (!inAudio && this.#usage && agreed && agreed.telephoneEvent === undefined)
      this.#parts.infos.send(infosOf(sequence, this.#options.services.stack.clock.now()));
    else this.media.sendDigits(sequence);
  }

  /** The far side told a digit by INFO. */
  pressed(digit: string, durationMs: number): void {
    if (this.#isOver) return;
    this.tell({ type: 'leg.digit', digit, durationMs });
    this.media.hearDigit(digit, durationMs);
  }

  /** Tells the far side how the transfer goes that it asked for. */
  tellTransfer(id: string, status: number): void {
    this.#parts.tellTransfer(id, status);
  }

  /** Takes a REFER of the far side, sent inside the call or outside it. */
  receiveRefer(...of: Parameters<ReferReceiver>): UsageAnswer {
    return this.#parts.transfers.receiveRefer(...of);
  }

  /** Sends a request inside the call; `onRequestEnded` hears its label. @returns false where there is no call */
  request(label: string, method: string, content: DialogRequestOptions): boolean {
    this.#usage?.request(label, method, content);
    return this.#usage !== undefined;
  }

  expectEnd(ms: number): void {
    this.#usage?.expectBye(ms);
  }

  /** Changes terms for the next offer; an established call is renegotiated. */
  change(terms: {
    digits?: EndpointConfig['digits'];
    codecs?: readonly AudioCodec[];
    videoCodecs?: readonly VideoFormatName[];
  }): void {
    this.#digits = terms.digits ?? this.#digits;
    this.#codecs = terms.codecs ?? this.#codecs;
    this.#negotiation?.change({ codecs: this.#codecs, ...digitTerms(this.#digits) });
    if (terms.videoCodecs) this.video?.change(terms.videoCodecs);
    this.send({ type: 'renegotiate' });
  }

  /** See `SipAbilities.refresh`. */
  refresh(method: 'invite' | 'update'): boolean {
    if (!this.#usage || !this.takes('renegotiate')) return false;
    if (method === 'invite') this.send({ type: 'renegotiate' });
    else this.#usage.announce();
    return true;
  }

  release(): void {
    this.send({ type: 'release' });
    this.#timers.clearAll();
    this.#parts.close();
    this.video?.close();
    this.media.close();
  }

  dump(): LegCoreData {
    const { state } = this;
    const { endpoint, codecs } = this.#options;
    return {
      phase: isBeforeAnswer(state) ? 'setup' : isUp(state) ? 'up' : (state as 'gone' | 'ended'),
      intents: [...this.#intents],
      ...(this.#negotiation && { negotiation: this.#negotiation.dump() }),
      ...(this.#early && { early: this.#early.dump() }),
      ...(this.#digits !== endpoint.digits && { digits: this.#digits }),
      ...(this.#codecs !== codecs && { codecs: this.#codecs }),
      ...(this.#connected && { connected: this.#connected }),
      ...(this.#presented && { presented: this.#presented }),
      heldTold: state === 'held',
      silentEarly: state === 'unheard',
      ...this.#parts.dump(),
      ...(this.video && { video: this.video.dump() }),
      media: this.media.dump(),
    };
  }

  #begin(from: LegCoreData | undefined): TableRun<LegState, LegEvent, LegEffect, LegCore> {
    const { begins, services, channelId } = this.#options;
    const state = from ? stateOf(from, begins) : begins;
    const effects = new EffectsOn(this, LegCore.#effects);
    return new TableRun(legTable, state, effects, { watch: services.tables, id: channelId });
  }

  static readonly #effects: TableEffects<LegEffect, LegEvent, LegCore> = {
    placeCall: (_, leg) => leg.#when('dial'),
    sendRinging: (_, leg) => leg.#when('ring'),
    sendForwarding: (_, leg) => leg.#when('forwarding'),
    sendProgress: (_, leg) => leg.#when('progress'),
    answerCall: (_, leg) => leg.#when('answer'),
    playRinging: (_, leg) => leg.media.indicate('ringing'),
    stopRinging: (_, leg) => leg.media.indicate(undefined),
    holdCall: (_, leg) => leg.#hold(true),
    unholdCall: (_, leg) => leg.#hold(false),
    offerAgain: (_, leg) => leg.#usage?.reinvite(),
    deflectCall: ({ uri }: Extract<LegEvent, { type: 'deflect' }>, leg) => leg.#options.side.deflect?.(uri),
    referCall: ({ uri }: Extract<LegEvent, { type: 'refer' }>, leg) => leg.#parts.ownTransfers.ask(uri),
    refuseCall: ({ cause }: Extract<LegEvent, { cause: number }>, leg) => leg.#options.side.mediaLost?.(cause),
    endCall: (event, leg) => leg.#options.side.end('cause' in event ? event.cause : undefined),
    renewMedia: (_, leg) => leg.#negotiation?.renew(),
    considerVideo: (_, leg) => leg.video?.consider(),
    tellAnswered: (_, leg) => leg.tell({ type: 'leg.answered' }),
    tellHeld: (_, leg) => leg.tell({ type: 'leg.held', musicClass: 'default' }),
    tellUnheld: (_, leg) => leg.tell({ type: 'leg.unheld' }),
    tellHungUp: (event: Extract<LegEvent, { cause: number }>, leg) => {
      const techCause = 'techCause' in event ? event.techCause : undefined;
      leg.#options.report({ type: 'leg.hungUp', cause: event.cause, ...(techCause !== undefined && { techCause }) });
    },
    tellForwarded: ({ target, redirection }: Extract<LegEvent, { type: 'call.forwarded' }>, leg) =>
      leg.#options.report({ type: 'leg.forwarded', target, ...(redirection && { redirection }) }),
    tellEnded: (_, leg) => leg.#options.report({ type: 'leg.ended' }),
    noteChange: (_, leg) => leg.#options.side.changed(),
  };

  #showVideo(from: VideoStreamsData | undefined): VideoStreams | undefined {
    const { services, endpoint, channelId, video } = this.#options;
    if (video.codecs.length === 0) return undefined;
    return new VideoStreams({
      log: services.stack.log,
      channelId,
      hit: services.hit,
      codecs: video.codecs,
      most: endpoint.maxVideoStreams,
      maxBitrate: endpoint.maxVideoBitrate,
      bundled: endpoint.webrtc,
      offers: {
        ...{ clock: services.stack.clock, timers: this.#timers, pace: services.config.video },
        canOffer: () => this.isUp,
        offer: () => this.#usage?.reinvite(),
      },
      changed: () => this.tell({ type: 'leg.videoChanged' }),
      from,
    });
  }

  #openMedia(from: MediaSessionDump | undefined): PendingSession {
    const { services, endpoint, channelId, near, video, findPeer } = this.#options;
    const { media, tables, stack } = services;
    const { log } = stack;
    const told = this.#contain('a report of the media', (report: MediaReport) => this.#hear(report));
    const opening = from?.local ? media.reopenRtp(from, told) : media.openRtp(channelId, told, near, endpoint.webrtc);
    const streams = this.video;
    const withVideo = streams
      ? opening.then((opened) => streams.open(opened, video.offered).then(() => opened))
      : opening;
    const located = async (find: FindPeer): Promise<RtpSession> => {
      const opened = await withVideo;
      if (addressDependsOnPeer(services, opened)) this.#peer ??= await find();
      return opened;
    };
    const found = findPeer ? located(findPeer) : withVideo;
    return new PendingSession(channelId, found, { log, tables }, (reason) => {
      log.warn({ channel: channelId, reason }, 'no RTP port could be opened');
      this.#loseMedia(Cause.congestion);
    });
  }

  /* ---- The call in its dialog ---------------------------------------------------------------------------------- */

  owner(): string {
    return this.#options.channelId;
  }

  answerOffer(sdp: string, request: SipRequest): OfferAnswer {
    const answer = this.#negotiation?.answer(sdp);
    if (typeof answer === 'string') this.identify(request);
    return answer;
  }

  rejectOffer(sdp: string): string | undefined {
    return this.#negotiation?.reject(sdp);
  }

  makeOffer(): string {
    return this.#negotiation?.offer() ?? '';
  }

  acceptAnswer(sdp: string): boolean {
    return this.#negotiation?.accept(sdp) ?? false;
  }

  onUpdated(message: SipRequest): void {
    this.identify(message);
  }

  onOfferRefused(status: number): void {
    const { services, channelId } = this.#options;
    services.stack.log.info({ channel: channelId, status }, 'a re-offer was refused');
    this.video?.refused();
  }

  onRequestEnded(label: string, status: number): void {
    const { services, channelId } = this.#options;
    this.#parts.ended(label, status);
    if (label === 'refer' && status >= 300)
      services.stack.log.info({ channel: channelId, status }, 'the far side refused the transfer');
  }

  challengeStranger(transaction: ServerTransaction, dialog: Dialog): boolean {
    const { services, endpoint } = this.#options;
    return services.endpoints.challengeStranger(endpoint, transaction, dialog);
  }

  registeredFlow(dialog: Dialog): Target | undefined {
    const { services, endpoint } = this.#options;
    return services.bindings.flowTo(endpoint.name, dialog.remoteTarget);
  }

  onEnded(end: UsageEnd): void {
    if (end.by === 'bye') this.send({ type: 'call.ended', ...endOfBye(end.request) });
    else this.gone(causeFromStatus(end.status), end.status);
  }

  onRequest(request: SipRequest): UsageAnswer {
    switch (request.method) {
      case 'INFO':
        return this.#parts.receiveInfo(request, this.#negotiation?.trickle);
      case 'NOTIFY':
        return this.#parts.ownTransfers.receive(request);
      case 'REFER':
        return this.#parts.transfers.receiveRefer(request);
      case 'SUBSCRIBE':
        return this.#parts.transfers.receiveSubscribe(request);
      case 'MESSAGE':
        return receiveMessage(this.#options.services, this.#options.endpoint, request);
      case 'OPTIONS':
        return 200;
      default:
        return 405;
    }
  }

  #hear(told: MediaReport): void {
    if (this.#isOver) return;
    const heard = heardOf(told);
    if (heard) this.tell(heard);
    else if (told.type === 'media.digitPassed') this.sendDigits(oneDigit(told));
    else if (told.type === 'media.keyFrameNeeded') this.#parts.pictures.ask();
    else if (told.type === 'media.timedOut')
      this.send({ type: 'media.silent', cause: Cause.requestedChannelUnavailable });
    else if (told.type === 'media.lost') this.#loseMedia(Cause.temporaryFailure);
  }

  /**
   * A restored leg knows its ports before they are open again: an answer that comes meanwhile is taken.
   * @returns whether it does
   */
  #goOnWith(from: LegCoreData | undefined): boolean {
    const local = from?.media.local;
    if (!from || !local?.port || !from.negotiation || (from.video && !from.video.ports)) return false;
    const configure = this.#contain('configuring a restored session', (flow: RtpFlow) =>
      this.media.whenOpen((opened) => opened.configure(flow)),
    );
    this.#negotiate({ local, configure }, from);
    return true;
  }

  #negotiate(opened: Pick<RtpSession, 'local' | 'configure'>, from: LegCoreData | undefined): void {
    const { services, endpoint } = this.#options;
    const { ids } = services.stack;
    this.#negotiation = createNegotiation({
      session: opened,
      address: mediaAddress(services, opened, this.#peer),
      codecs: this.#codecs,
      ...digitTerms(this.#digits),
      opus: endpoint.opus ?? services.config.opus,
      srtp: { ...srtpPolicy(services, endpoint), ...opened.local, peer: this.#peer?.address },
      findAddress: mediaHosts(services, this.#options.channelId, () => this.#isOver),
      sessionId: from?.negotiation?.session.sessionId ?? String(Number.parseInt(ids.hex(8), 16)),
      from: from?.negotiation,
      video: this.video,
      onHeld: (held) => void this.send({ type: held ? 'far.held' : 'far.unheld' }),
    });
    if (from?.early) this.#early = new EarlyMedia(this.#negotiation, services, from.early);
    services.changed(this.#options.channelId);
  }

  /** Does what an intent says once the port is open, in order, unless the leg is over by then. */
  #when(intent: string): void {
    if (!this.#options.side.intends(intent)) return;
    this.#intents.push(intent);
    this.media.whenOpen(this.#contain('a leg whose port is open', () => this.#act()));
  }

  #act(): void {
    const intent = this.#intents.shift();
    if (intent !== undefined && this.#negotiation && !this.#isOver)
      this.#options.side.intent(intent, this.#negotiation);
  }

  #hold(on: boolean): void {
    this.#negotiation?.hold(on);
    this.#usage?.reinvite();
  }

  /** Runs an action of the leg: an exception ends this leg and no other. */
  #contain<Args extends unknown[]>(what: string, fn: (...args: Args) => void): (...args: Args) => void {
    return guarded(this.#options.services.stack.log, what, fn, () => this.#breakDown());
  }

  #breakDown(): void {
    this.#loseMedia(Cause.temporaryFailure);
  }

  #loseMedia(cause: number): void {
    this.send({ type: 'media.lost', cause });
  }
}

const isSame = (one: Party, other: Party | undefined): boolean =>
  one.name === other?.name && one.number === other.number;
