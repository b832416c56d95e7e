import type { VideoFormatName } from '../../lib/formats.ts';
import { guarded } from '../../lib/guard.ts';
import type { InviteUsage } from '../../sip/dialog/invite-usage.ts';
import { Timers } from '../../sip/dialog/stack.ts';
import type { OfferAnswer, UsageAnswer, UsageHandlers } from '../../sip/dialog/usage-handlers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipMessage, SipRequest } from '../../sip/message/message.ts';
import { hasBody } from '../../sip/message/session-body.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import type { Target } from '../../sip/transport/transport.ts';
import { Cause } from '../../telephony/causes.ts';
import type { LegReport, Report } from '../../telephony/driver.ts';
import type { DigitSequence, MediaReport, MediaSessionDump, RtpSession } from '../../telephony/media.ts';
import type { Party, Redirection } from '../../telephony/party.ts';
import { heardOf } from '../heard.ts';
import { PendingSession } from '../pending-session.ts';
import { type AskedTransfer, createAskedTransfers } from './asked-transfers.ts';
import { causeFromReason, causeFromStatus } from './causes.ts';
import type { EndpointConfig } from './config.ts';
import { digitTerms } from './digit-modes.ts';
import { EarlyMedia, type EarlyMediaData } from './early-media.ts';
import { identityHeaders } from './identity.ts';
import { InfoDigits, type InfoToSend, infosOf, parseInfoDigit, unknownInfo } from './info-digits.ts';
import { VideoStreams, type VideoStreamsData } from './leg-video.ts';
import type { ReferReceiver } from './legs.ts';
import { receiveMessage } from './messages.ts';
import { createNegotiation, type Negotiation, type NegotiationData } from './negotiation.ts';
import { OwnTransfers } from './own-transfers.ts';
import { assertedParty } from './party.ts';
import { PictureUpdates } from './picture-updates.ts';
import { mediaAddress, mediaHosts, type Services, srtpPolicy } from './services.ts';

/** `setup`: before the answer · `gone`: the far side has ended it, `hangup` is awaited · `ended`: nothing more is told. */
type LegPhase = 'setup' | 'up' | 'gone' | 'ended';

/** What inbound and outbound legs have in common, as plain data. */
export type LegCoreData = {
  readonly phase: LegPhase;
  /** What is to be done as soon as the port is open, in order. */
  readonly intents: readonly string[];
  readonly negotiation?: NegotiationData;
  /** What several called ones have answered the offer with. */
  readonly early?: EarlyMediaData;
  /** How digits travel and which formats there may be, where they are not as the endpoint has them. */
  readonly digits?: EndpointConfig['digits'];
  readonly codecs?: readonly AudioCodec[];
  /** Who the far side last said that it is. */
  readonly connected?: Party;
  /** Who the far side was told last that it is connected to. */
  readonly presented?: Party;
  /** The far side holds us, and that was told. */
  readonly heldTold: boolean;
  /** Nothing was heard of the far side before the answer. */
  readonly silentEarly: boolean;
  /** Digits still to be sent as INFO. */
  readonly infos: readonly InfoToSend[];
  /** We have asked the far side for a transfer. */
  readonly referred?: true;
  /** Transfers that the far side has asked for and that are not decided. */
  readonly transfers?: readonly AskedTransfer[];
  readonly video?: VideoStreamsData;
  readonly media: MediaSessionDump;
};

export type LegCoreOptions = {
  services: Services;
  endpoint: EndpointConfig;
  channelId: string;
  /** A channel that it will probably meet. */
  near?: string | undefined;
  codecs: readonly AudioCodec[];
  /** Codecs of video; without any there is none. And how many streams of it are in the offer that the call came with. */
  video: { codecs: readonly VideoFormatName[]; offered: number };
  /** Towards whom the address in our SDP must make sense; undefined when there is nobody. */
  peer: Target | undefined;
  /** Finds the peer, where that has to be known before anything is described; never rejects. */
  locating?: Promise<Target | undefined> | undefined;
  report: Report;
  /** What is done when `when` was asked for it and the port is open, by name. */
  intents: Readonly<Record<string, (negotiation: Negotiation) => void>>;
  /** Who the far side is told is calling it. */
  presented?: Party | undefined;
  /** The far side is called: who it is connected to is who calls it. */
  calls?: boolean;
  /** Where another process left off, with the call inside its dialog when it stood. */
  from?: { data: LegCoreData; usage: InviteUsage | undefined } | undefined;
  /** The call has changed: its phase, or who holds it. */
  onChanged(): void;
  /** No port could be had, or the media session broke down; the core then tells that the leg is gone. */
  onMediaLost(cause: number): void;
};

/** What inbound and outbound legs have in common: media, reports, and the call inside its dialog. */
export interface LegCore {
  readonly phase: LegPhase;
  /** The far side holds us. */
  readonly held: boolean;
  /** The codec agreed on; before, all that may be. */
  readonly formats: readonly AudioCodec[];
  readonly media: PendingSession;
  readonly video: VideoStreams | undefined;
  readonly usageHandlers: UsageHandlers;
  /** Does what an intent says once the port is open, in order, unless the leg is over by then. */
  when(intent: string): void;
  tell(report: LegReport): void;
  /** What a branch of a call that we place has said of its audio before the answer; false when that makes no sense. */
  earlyAnswer(branch: string, sdp: string): boolean;
  /** Our answer to a new offer of a branch. */
  earlyOffer(branch: string, sdp: string): OfferAnswer;
  /** Another branch is heard from now on, if there is one. */
  earlyEnded(branch: string): void;
  /**
   * A branch has answered the call, with a description or with what it said before.
   * @returns false when nothing is agreed on.
   */
  won(branch: string, sdp: string | undefined): boolean;
  /** The call stands; tells `leg.answered`. */
  up(usage: InviteUsage): void;
  /** The far side has ended or refused it. */
  gone(cause: number, techCause?: number): void;
  forwarded(target: string, redirection?: Redirection): void;
  /** Tells `leg.ended`, the last report. */
  ended(): void;
  /** Tells the far side who it is connected to, unless it knows or is not to. */
  present(party: Party): void;
  identity(): HeaderLines;
  /** Tells `leg.connectedLine` when a trusted peer says who it is. */
  identify(message: SipMessage): void;
  sendDigits(sequence: DigitSequence): void;
  hold(on: boolean): void;
  /** Asks the far side to call somebody else (RFC 3515). */
  refer(uri: string): void;
  /** Takes a REFER of the far side, sent inside the call or outside it. */
  readonly receiveRefer: ReferReceiver;
  /** Tells the far side how the transfer goes that it asked for. */
  tellTransfer(id: string, status: number): void;
  expectEnd(ms: number): void;
  readonly digits: EndpointConfig['digits'];
  /** Other terms from the next offer on, which a call that stands is made at once. */
  change(terms: {
    digits?: EndpointConfig['digits'];
    codecs?: readonly AudioCodec[];
    videoCodecs?: readonly VideoFormatName[];
  }): void;
  /** See `SipAbilities.refresh`. */
  refresh(method: 'invite' | 'update'): boolean;
  release(): void;
  dump(): LegCoreData;
}

export function createLegCore(options: LegCoreOptions): LegCore {
  const { services, endpoint, report } = options;
  const { stack, media } = services;
  const from = options.from?.data;
  const timers = new Timers(stack, 'a leg', () => breakDown());
  let phase: LegPhase = from?.phase ?? 'setup';
  let usage: InviteUsage | undefined = options.from?.usage;
  let negotiation: Negotiation | undefined;
  let early: EarlyMedia | undefined;
  let digits = from?.digits ?? endpoint.digits;
  let codecs = from?.codecs ?? options.codecs;
  let connected = from?.connected;
  let presented = from ? from.presented : options.presented;
  let heldTold = from?.heldTold ?? false;
  let silentEarly = from?.silentEarly ?? false;
  const intents: string[] = [];
  const infos = new InfoDigits(timers, stack.clock, (body) =>
    usage?.request('digit', 'INFO', { contentType: 'application/dtmf-relay', body }),
  );

  const video =
    options.video.codecs.length === 0
      ? undefined
      : new VideoStreams({
          stack,
          timers,
          channelId: options.channelId,
          hit: services.hit,
          codecs: options.video.codecs,
          most: endpoint.maxVideoStreams,
          maxBitrate: endpoint.maxVideoBitrate,
          pace: services.config.video,
          canOffer: () => phase === 'up',
          offer: () => usage?.reinvite(),
          changed: () => tell({ type: 'leg.videoChanged' }),
          from: from?.video,
        });

  const pictures = new PictureUpdates({
    clock: stack.clock,
    intervalMs: services.config.video.keyFrameIntervalMs,
    send(info) {
      if (phase === 'up') usage?.request(PictureUpdates.label, 'INFO', info);
      return phase === 'up' && usage !== undefined;
    },
    show: () => video?.askKeyFrame(),
  });

  const transfers = createAskedTransfers({
    services,
    endpoint,
    isUp: () => phase === 'up',
    send: (label, headers, body) =>
      usage?.request(label, 'NOTIFY', { headers, contentType: 'message/sipfrag;version=2.0', body }),
    ask: (transfer) => tell({ type: 'leg.transferAsked', transfer }),
    from: from?.transfers,
  });

  const ownTransfers = new OwnTransfers({
    from: from?.referred ?? false,
    send: (headers) => usage?.request('refer', 'REFER', { headers }),
    succeeded: () => gone(Cause.normalClearing),
  });

  const tell = (what: LegReport) => {
    if (phase !== 'ended') report(what);
  };

  const isOver = () => phase === 'gone' || phase === 'ended';

  const gone = (cause: number, techCause?: number) => {
    if (isOver()) return;
    phase = 'gone';
    report({ type: 'leg.hungUp', cause, ...(techCause !== undefined && { techCause }) });
    options.onChanged();
  };

  /** What the leg does for something that happened: when it throws, this leg ends and no other. */
  const contain = <Args extends unknown[]>(what: string, fn: (...args: Args) => void) =>
    guarded(stack.log, what, fn, () => breakDown());
  const breakDown = () => loseMedia(Cause.temporaryFailure);

  const told = contain('a report of the media', (report: MediaReport) => hear(report));
  // Where the port was not open yet there is nothing but what was asked meanwhile.
  const reopened = from?.media.local && from.media;
  let { peer } = options;
  const opening = reopened ? media.reopenRtp(reopened, told) : media.openRtp(options.channelId, told, options.near);
  const withVideo = video
    ? opening.then((opened) => video.open(opened, options.video.offered).then(() => opened))
    : opening;
  const session = new PendingSession(
    options.channelId,
    options.locating === undefined
      ? withVideo
      : Promise.all([withVideo, options.locating]).then(([opened, found]) => {
          peer ??= found;
          return opened;
        }),
    stack.log,
    (error) => {
      // When ports run out this is told for every call: the reason, not where in the program it was found.
      const reason = error instanceof Error ? error.message : String(error);
      stack.log.warn({ channel: options.channelId, reason }, 'no RTP port could be opened');
      loseMedia(Cause.congestion);
    },
  );

  const loseMedia = (cause: number) => {
    if (isOver()) return;
    options.onMediaLost(cause);
    gone(cause);
  };

  const hear = (told: MediaReport) => {
    if (isOver()) return;
    const heard = heardOf(told);
    if (heard) return tell(heard);
    switch (told.type) {
      case 'media.timedOut':
        // Before the answer many phones send nothing, and need not.
        if (phase === 'setup') silentEarly = true;
        else gone(Cause.requestedChannelUnavailable);
        return;
      case 'media.keyFrameNeeded':
        return pictures.ask();
      case 'media.lost':
        return loseMedia(Cause.temporaryFailure);
    }
  };

  const negotiate = (opened: RtpSession) => {
    negotiation = createNegotiation({
      session: opened,
      address: mediaAddress(services, opened, peer),
      codecs,
      ...digitTerms(digits),
      opus: endpoint.opus ?? services.config.opus,
      srtp: srtpPolicy(services, endpoint),
      findAddress: mediaHosts(services, options.channelId, isOver),
      sessionId: from?.negotiation?.session.sessionId ?? String(Number.parseInt(stack.ids.hex(8), 16)),
      from: from?.negotiation,
      video,
      onHeld: tellHeld,
    });
    if (from?.early) early = new EarlyMedia(negotiation, services, from.early);
  };

  /** A call that begins on hold is not put on hold: only changes of a call that stands are told. */
  const tellHeld = (held: boolean) => {
    if (phase !== 'up' || held === heldTold) return;
    heldTold = held;
    tell(held ? { type: 'leg.held', musicClass: 'default' } : { type: 'leg.unheld' });
    options.onChanged();
  };

  const identify = (message: SipMessage) => {
    const party = endpoint.trustIdentity ? assertedParty(message) : undefined;
    if (!party || isOver() || (party.name === connected?.name && party.number === connected.number)) return;
    connected = party;
    tell({ type: 'leg.connectedLine', party });
  };

  const identity = (): HeaderLines => {
    const target = usage?.dialog.flow ?? peer;
    if (!endpoint.sendConnectedLine || !presented || !target) return [];
    return identityHeaders(services, endpoint, presented, target, options.calls ? 'calling' : 'called');
  };

  const present = (party: Party) => {
    if (party.name === presented?.name && party.number === presented.number) return;
    presented = party;
    if (phase === 'up' && identity().length > 0) usage?.announce();
  };

  const receive = (request: SipRequest): UsageAnswer => {
    switch (request.method) {
      case 'INFO': {
        const pressed = parseInfoDigit(request);
        if (pressed && !isOver()) tell({ type: 'leg.digit', ...pressed });
        // RFC 6086 4.2.2: an INFO without a body only asks whether we are there.
        return pressed || !hasBody(request) ? 200 : (pictures.receive(request) ?? unknownInfo);
      }
      case 'NOTIFY':
        return ownTransfers.receive(request);
      case 'REFER':
        return transfers.receiveRefer(request);
      case 'SUBSCRIBE':
        return transfers.receiveSubscribe(request);
      case 'MESSAGE':
        return receiveMessage(services, endpoint, request);
      case 'OPTIONS':
        return 200;
      default:
        return 405;
    }
  };

  const act = contain('a leg whose port is open', () => {
    const intent = intents.shift();
    if (intent !== undefined && negotiation && !isOver()) options.intents[intent]?.(negotiation);
  });
  const when = (intent: string) => {
    intents.push(intent);
    session.whenOpen(act);
  };

  session.whenOpen(contain('negotiating', negotiate));
  if (from && !reopened) session.ask(from.media.standing);
  for (const intent of from?.intents ?? []) when(intent);
  infos.send(from?.infos ?? []);

  return {
    get phase() {
      return phase;
    },
    get held() {
      return heldTold;
    },
    get formats() {
      const agreed = negotiation?.agreed?.codec;
      return agreed ? [agreed] : codecs;
    },
    media: session,
    video,
    usageHandlers: {
      owner: () => options.channelId,
      answerOffer(sdp, request) {
        const answer = negotiation?.answer(sdp);
        if (typeof answer === 'string') identify(request);
        return answer;
      },
      rejectOffer: (sdp) => negotiation?.reject(sdp),
      makeOffer: () => negotiation?.offer() ?? '',
      standingHeaders: identity,
      onUpdated: identify,
      acceptAnswer: (sdp) => negotiation?.accept(sdp) ?? false,
      onOfferRefused(status) {
        stack.log.info({ channel: options.channelId, status }, 'a new offer was refused');
        video?.refused();
      },
      onRequestEnded(label, status) {
        transfers.ended(label, status);
        pictures.ended(label, status);
        if (label === 'refer' && status >= 300)
          stack.log.info({ channel: options.channelId, status }, 'the far side refused the transfer');
      },
      challengeStranger: (transaction, dialog) => services.endpoints.challengeStranger(endpoint, transaction, dialog),
      onRequest: receive,
      onEnded(end) {
        if (end.by === 'bye') gone(causeFromReason(end.request) ?? Cause.normalClearing);
        else gone(causeFromStatus(end.status), end.status);
      },
      onClosed() {},
    },
    when,
    tell,
    earlyAnswer(branch, sdp) {
      if (negotiation) early ??= new EarlyMedia(negotiation, services);
      return early?.accept(branch, sdp) ?? false;
    },
    earlyOffer: (branch, sdp) => early?.answer(branch, sdp),
    earlyEnded: (branch) => early?.end(branch),
    won(branch, sdp) {
      const winner = early?.winner(branch);
      early = undefined;
      if (winner) negotiation = winner;
      return sdp === undefined ? winner !== undefined : (negotiation?.accept(sdp) ?? false);
    },
    up(confirmed) {
      usage = confirmed;
      phase = 'up';
      if (silentEarly) negotiation?.renew();
      tell({ type: 'leg.answered' });
      video?.consider();
      options.onChanged();
    },
    gone,
    forwarded(target, redirection) {
      if (isOver()) return;
      phase = 'gone';
      report({ type: 'leg.forwarded', target, ...(redirection && { redirection }) });
    },
    ended() {
      if (phase === 'ended') return;
      phase = 'ended';
      report({ type: 'leg.ended' });
    },
    identify,
    identity,
    present,
    sendDigits(sequence) {
      const current = usage;
      const inAudio = digits === 'inband' || digits === 'auto_inband';
      if (!inAudio && current && negotiation?.agreed && negotiation.agreed.telephoneEvent === undefined)
        infos.send(infosOf(sequence, stack.clock.now()));
      else session.sendDigits(sequence);
    },
    hold(on) {
      if (phase !== 'up') return;
      negotiation?.hold(on);
      usage?.reinvite();
    },
    refer: (uri) => ownTransfers.ask(uri),
    receiveRefer: transfers.receiveRefer,
    tellTransfer: transfers.tell,
    expectEnd: (ms) => usage?.expectBye(ms),
    get digits() {
      return digits;
    },
    change(terms) {
      digits = terms.digits ?? digits;
      codecs = terms.codecs ?? codecs;
      negotiation?.change({ codecs, ...digitTerms(digits) });
      if (terms.videoCodecs) video?.change(terms.videoCodecs);
      if (phase === 'up') usage?.reinvite();
    },
    refresh(method) {
      if (phase !== 'up' || !usage) return false;
      if (method === 'invite') usage.reinvite();
      else usage.announce();
      return true;
    },
    release() {
      phase = 'ended';
      timers.clearAll();
      transfers.close();
      video?.close();
      session.close();
    },
    dump: () => ({
      phase,
      intents: [...intents],
      ...(negotiation && { negotiation: negotiation.dump() }),
      ...(early && { early: early.dump() }),
      ...(digits !== endpoint.digits && { digits }),
      ...(codecs !== options.codecs && { codecs }),
      ...(connected && { connected }),
      ...(presented && { presented }),
      heldTold,
      silentEarly,
      infos: infos.waiting,
      ...(ownTransfers.asked && { referred: true }),
      ...(transfers.dump().length > 0 && { transfers: transfers.dump() }),
      ...(video && { video: video.dump() }),
      media: session.dump(),
    }),
  };
}
