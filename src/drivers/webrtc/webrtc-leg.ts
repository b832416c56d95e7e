import type { OpusSending, OpusWishes, VideoFormatName } from '../../lib/formats.ts';
import { guarded } from '../../lib/guard.ts';
import type { Ids } from '../../lib/ids.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Logger } from '../../lib/log.ts';
import { TableRun, type TableWatch } from '../../machines/table-run.ts';
import { type WebrtcLegEvent, type WebrtcLegRun, webrtcLegTable } from '../../machines/webrtc-leg.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import { isNowhere, parseDescription } from '../../sip/sdp/description.ts';
import { candidatesOf, credentialsIn, fragmentOf, isDescription, withCredentials } from '../../sip/sdp/ice-fragment.ts';
import { obstacleOf, usableAudio } from '../../sip/sdp/offer-answer.ts';
import { candidateBound } from '../../sip/sdp/webrtc.ts';
import { Cause } from '../../telephony/causes.ts';
import { type DialDetails, DriverError, type Leg, type LegData, type Report } from '../../telephony/driver.ts';
import type { DigitSequence, MediaPlane, MediaReport, MediaSessionDump, RtpSession } from '../../telephony/media.ts';
import type { Party } from '../../telephony/party.ts';
import type { BrowserAnswer } from '../../telephony/webrtc.ts';
import { heardOf } from '../heard.ts';
import { PendingSession } from '../pending-session.ts';
import { QuietLeg } from '../quiet-leg.ts';
import { VideoStreams, type VideoStreamsData, videoLinesIn } from '../sip/leg-video.ts';
import { createNegotiation, type Negotiation, type NegotiationData } from '../sip/negotiation.ts';

/** What legs of browsers share. */
export type WebrtcServices = {
  media: Pick<MediaPlane, 'openRtp' | 'reopenRtp'>;
  ids: Ids;
  log: Logger;
  /** SHA-256 of the certificate that browsers see, as SDP writes it. */
  fingerprint: string | undefined;
  /** Our side of ICE; left out: lite. */
  ice?: 'lite' | 'full';
  /** Candidates of one browser that are taken. */
  iceCandidates: number;
  /** Formats, the preferred one first. */
  codecs: readonly AudioCodec[];
  /** Codecs of video, the preferred one first, and how many streams there may be. */
  video: { codecs: readonly VideoFormatName[]; most: number };
  hit: LimitHit;
  opus: { wishes: OpusWishes; sending: OpusSending };
  /** Our address as a peer sees it; undefined: the port's own. */
  outside(peer: string | undefined): string | undefined;
  /** Our address towards a peer, for ports that are bound to all addresses. */
  localAddress(peer: string): string;
  /** Sees the charts of legs; left out: nobody. */
  tables?: TableWatch | undefined;
};

/** What another process needs to go on with a leg: plain data. */
export type WebrtcLegData = LegData & {
  readonly session: string;
  readonly owner: string;
  readonly codecs: readonly AudioCodec[];
  readonly videoCodecs?: readonly VideoFormatName[];
  readonly video?: VideoStreamsData;
  readonly state: WebrtcLegRun['state'];
  readonly offer: string;
  readonly past: readonly string[];
  readonly caller: Party;
  readonly negotiation?: NegotiationData;
  readonly media: MediaSessionDump;
};

/** Whether a leg that goes on is one of ours. */
export const isWebrtcLeg = (data: LegData): data is WebrtcLegData => data.version === 1 && 'owner' in data;

type WebrtcLegOptions = {
  services: WebrtcServices;
  channelId: string;
  near?: string | undefined;
  /** Names the session in requests of the browser. */
  session: string;
  /** Whose session it is. */
  owner: string;
  codecs: readonly AudioCodec[];
  videoCodecs: readonly VideoFormatName[];
  /** A leg of another process that is gone on with. */
  from?: WebrtcLegData | undefined;
  /** Tells pages of the call. @returns whether there is any. */
  call(caller: Party): boolean;
  answered(): void;
  /** The call is over: it is removed, and pages are notified. */
  ended(cause: number): void;
};

/** Past ICE credentials that are known, so that a late fragment of the past restarts nothing. */
const mostPast = 16;

/** One browser's side of a channel: its audio, and offer and answer over HTTP (RFC 9725). */
export class WebrtcLeg extends QuietLeg implements Leg {
  readonly protocolId: string;
  readonly owner: string;
  readonly channelId: string;
  readonly media: PendingSession;
  readonly video: VideoStreams | undefined;
  readonly #options: WebrtcLegOptions;
  readonly #life: WebrtcLegRun;
  readonly #opened: Promise<RtpSession>;
  /** Past names of the browser's ICE, the latest last. */
  readonly #past: string[] = [];
  #report: Report = () => {};
  #caller: Party = { name: '', number: '' };
  #cause: number = Cause.normalClearing;
  #negotiation: Negotiation | undefined;
  /** The latest offer. */
  #offer = '';

  constructor(options: WebrtcLegOptions) {
    super();
    this.#options = options;
    this.protocolId = options.session;
    this.owner = options.owner;
    this.channelId = options.channelId;
    const { services, channelId, near, from } = options;
    const told = guarded(services.log, 'a report of the media', (report: MediaReport) => this.#hear(report));
    this.#opened = from?.media.local
      ? services.media.reopenRtp(from.media, told)
      : services.media.openRtp(channelId, told, near, true);
    this.video = this.#showVideo();
    this.media = new PendingSession(channelId, this.#opened, services, (reason) => {
      services.log.warn({ channel: channelId, reason }, 'no RTP port could be opened');
      this.lose(Cause.congestion);
    });
    if (from) this.#goOn(from);
    this.#life = new TableRun(
      webrtcLegTable,
      from?.state ?? 'undialed',
      {
        callBrowser: () => this.#call(),
        tellAnswered: () => {
          this.media.indicate(undefined);
          this.#report({ type: 'leg.answered' });
          options.answered();
        },
        tellHeld: () => this.#report({ type: 'leg.held', musicClass: 'default' }),
        tellUnheld: () => this.#report({ type: 'leg.unheld' }),
        tellHungUp: ({ cause }: Extract<WebrtcLegEvent, { cause: number }>) =>
          this.#report({ type: 'leg.hungUp', cause }),
        tellEnded: () => this.#report({ type: 'leg.ended' }),
        endSession: (event: WebrtcLegEvent) => options.ended('cause' in event ? event.cause : this.#cause),
      },
      { watch: services.tables, id: channelId },
    );
  }

  #goOn({ media, offer, past, caller, negotiation }: WebrtcLegData): void {
    this.media.goOnFrom(media);
    this.#offer = offer;
    this.#past.push(...past);
    this.#caller = caller;
    if (negotiation === undefined) return;
    // The session reports why it could not be opened.
    this.#opened.then(
      async (session) => {
        this.#negotiation ??= this.#begin(session, undefined);
        await this.video?.open(session, 0);
      },
      () => {},
    );
  }

  /** Reports go there from now on; earlier ones go nowhere. */
  attach(report: Report): this {
    this.#report = report;
    return this;
  }

  /** The format that is agreed on; before, all that may be. */
  get formats(): readonly string[] {
    const codec = (this.#negotiation?.agreed ?? this.#options.from?.negotiation?.agreed)?.codec;
    return codec ? [codec] : this.#options.codecs;
  }

  /** Whether pages were notified of it and none has taken it. */
  get isCalling(): boolean {
    return this.#life.state === 'calling' && this.#offer === '';
  }

  /**
   * Answers an offer; audio flows accordingly.
   * @param peer where the browser is, as far as that is known.
   * @throws DriverError (rejects) `format` when it cannot be read or agreed on; nothing changes then. `capacity`.
   */
  async negotiate(offer: string, peer: string | undefined): Promise<BrowserAnswer> {
    const problem = problemOf(offer, this.#options.codecs);
    if (problem !== undefined) throw new DriverError('format', problem);
    const first = this.#offer === '';
    // No other page can take the call from here on.
    if (first) this.#offer = offer;
    const opened = await this.#opened.catch((error: unknown) => {
      throw new DriverError('capacity', (error as Error).message, { cause: error });
    });
    await this.video?.open(opened, videoLinesIn(offer));
    if (this.#life.state === 'ended' || this.#life.state === 'gone')
      throw new DriverError('endpoint', 'the call has ended');
    this.#negotiation ??= this.#begin(opened, peer);
    const sdp = this.#negotiation.answer(offer);
    if (typeof sdp !== 'string') throw new DriverError('format', 'nothing of it can be agreed on');
    this.#remember(offer);
    if (first) this.#life.send({ type: 'call.taken' });
    return this.#said(sdp);
  }

  /**
   * Takes another offer, or a fragment with ICE alone: candidates are checked and let through a relay of ours, other credentials restart ICE.
   * @throws DriverError (rejects) `format`, `data` for credentials of the past.
   */
  async change(
    body: string,
    ifMatch: string | undefined,
  ): Promise<Omit<BrowserAnswer, 'sdp'> & { sdp?: string; isFragment: boolean }> {
    if (ifMatch !== undefined && !namesTag(ifMatch, this.#said('').tag))
      throw new DriverError('data', 'the session has another tag');
    if (ifMatch === undefined && !isDescription(body))
      throw new DriverError('condition', 'a fragment names the tag of its session');
    if (isDescription(body)) return { ...(await this.negotiate(body, undefined)), isFragment: false };
    const said = credentialsIn(body);
    if (!said) throw new DriverError('format', 'it is neither a description nor a fragment with ICE credentials');
    if (said.ufrag === credentialsIn(this.#offer)?.ufrag) {
      this.#negotiation?.addCandidates(candidatesOf(body));
      const { sdp: _sdp, ...rest } = this.#said('');
      return { ...rest, isFragment: true };
    }
    if (this.#past.includes(said.ufrag)) throw new DriverError('data', 'ICE was restarted since');
    const answer = await this.negotiate(withCredentials(this.#offer, said), undefined);
    this.#negotiation?.addCandidates(candidatesOf(body));
    return { ...answer, sdp: fragmentOf(answer.sdp), isFragment: true };
  }

  /** The browser calls with its first offer; see {@link negotiate}. */
  offered(offer: string, peer: string | undefined): Promise<BrowserAnswer> {
    this.#life.send({ type: 'offer.came' });
    return this.negotiate(offer, peer);
  }

  /** The browser has gone, refused the call, or could not be reached. */
  lose(cause: number): void {
    const refuses = this.#life.state === 'calling';
    this.#life.send(refuses ? { type: 'call.refused', cause } : { type: 'transport.lost', cause });
  }

  dial(details?: DialDetails): void {
    if (details) this.#caller = details.caller;
    this.#life.send({ type: 'dial' });
  }

  override answer(): void {
    this.#life.send({ type: 'answer' });
  }

  ring(): void {
    if (this.#life.state !== 'calling') this.media.indicate('ringing');
  }

  stopRinging(): void {
    this.media.indicate(undefined);
  }

  hangup(cause: number): void {
    this.#cause = cause;
    this.#life.send({ type: 'hangup' });
  }

  sendDigits(sequence: DigitSequence): void {
    this.media.sendDigits(sequence);
  }

  release(): void {
    this.#life.send({ type: 'release' });
    this.video?.close();
    this.media.close();
  }

  dump(): WebrtcLegData {
    const { codecs, videoCodecs, from } = this.#options;
    const negotiation = this.#negotiation?.dump() ?? from?.negotiation;
    return {
      version: 1,
      session: this.protocolId,
      owner: this.owner,
      codecs,
      videoCodecs,
      ...(this.video && { video: this.video.dump() }),
      state: this.#life.state,
      offer: this.#offer,
      past: this.#past,
      caller: this.#caller,
      ...(negotiation && { negotiation }),
      media: this.media.dump(),
    };
  }

  #call(): void {
    if (this.#options.call(this.#caller)) this.#report({ type: 'leg.ringing' });
    else this.lose(Cause.subscriberAbsent);
  }

  #begin(session: RtpSession, peer: string | undefined): Negotiation {
    const { services, codecs, from } = this.#options;
    const { ids, fingerprint, ice, iceCandidates, opus, hit } = services;
    return createNegotiation({
      session,
      address: addressFor(services, session, peer),
      from: from?.negotiation,
      codecs,
      video: this.video,
      ...{ opus, telephoneEvents: true, inbandDigits: 'never' },
      srtp: {
        ...{ mode: 'webrtc', fingerprint, ice, peer, ...session.local },
        boundCandidates: candidateBound(iceCandidates, hit),
        random: (octets) => Buffer.from(ids.hex(2 * octets), 'hex').toString('base64'),
      },
      // A browser names no hosts: ICE finds it.
      findAddress: () => {},
      sessionId: String(Number.parseInt(ids.hex(8), 16)),
      onHeld: (held) => void this.#life.send({ type: held ? 'far.held' : 'far.unheld' }),
    });
  }

  #showVideo(): VideoStreams | undefined {
    const { services, channelId, videoCodecs, from } = this.#options;
    if (videoCodecs.length === 0) return undefined;
    return new VideoStreams({
      ...{ log: services.log, hit: services.hit, channelId, bundled: true },
      ...{ codecs: videoCodecs, most: services.video.most },
      // Digits and audio before the channel exists are dropped.
      changed: () => this.#report({ type: 'leg.videoChanged' }),
      from: from?.video,
    });
  }

  #remember(offer: string): void {
    const before = credentialsIn(this.#offer)?.ufrag;
    this.#offer = offer;
    if (before === undefined || before === credentialsIn(offer)?.ufrag) return;
    this.#past.push(before);
    if (this.#past.length > mostPast) this.#past.shift();
  }

  #said(sdp: string): BrowserAnswer {
    const tag = this.#negotiation?.dump().session.webrtc?.local.ufrag ?? '';
    return { session: this.protocolId, channelId: this.channelId, sdp, tag };
  }

  #hear(told: MediaReport): void {
    const heard = heardOf(told);
    if (heard) this.#report(heard);
    else if (told.type === 'media.timedOut') this.lose(Cause.normalClearing);
    else if (told.type === 'media.lost') this.lose(Cause.temporaryFailure);
  }
}

/** Whether If-Match names an entity tag, compared strongly (RFC 9110 13.1.1). */
const namesTag = (ifMatch: string, tag: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some((each) => each.trim() === `"${tag}"`);

/** Why an offer cannot be answered, in words; undefined when it can. */
function problemOf(offer: string, codecs: readonly AudioCodec[]): string | undefined {
  const read = parseDescription(offer);
  if (!read.ok) return read.problem;
  return usableAudio(read.description, 'webrtc', codecs) ? undefined : obstacleOf(read.description, 'webrtc').problem;
}

/** The address that our candidate has. */
function addressFor(
  { outside, localAddress }: WebrtcServices,
  { local }: RtpSession,
  peer: string | undefined,
): string {
  const told = outside(peer);
  if (told !== undefined) return told;
  return isNowhere(local.address) ? localAddress(peer ?? '127.0.0.1') : local.address;
}
