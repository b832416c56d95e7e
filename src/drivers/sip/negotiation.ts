import type { OpusSending, OpusWishes } from '../../lib/formats.ts';
import type { RemoteCandidate } from '../../lib/webrtc.ts';
import type { Watched } from '../../machines/table-run.ts';
import type { OfferRefusal } from '../../sip/dialog/usage-handlers.ts';
import { warningHeader } from '../../sip/message/warning.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import { directionOf, parseDescription } from '../../sip/sdp/description.ts';
import type { Direction } from '../../sip/sdp/media-line.ts';
import {
  type AgreedAudio,
  acceptAnswer,
  answerOffer,
  type LocalAudio,
  type LocalMedia,
  newSession,
  rejectOffer,
  type SdpSession,
  writeOffer,
} from '../../sip/sdp/offer-answer.ts';
import type { SrtpPolicy } from '../../sip/sdp/sdes.ts';
import type { AgreedVideo, LocalVideo } from '../../sip/sdp/video-lines.ts';
import type { RtpFlow, RtpSession } from '../../telephony/media.ts';
import type { VideoStreams } from './leg-video.ts';
import { type FindAddress, MediaNames } from './media-names.ts';
import { Trickle } from './trickle.ts';

/** The state of offer and answer: plain data. */
export type NegotiationData = {
  /** Our address as the far side knows it; left out: it is another now. */
  readonly address?: string;
  readonly session: SdpSession;
  readonly wished: Direction;
  readonly agreed?: AgreedAudio;
  /** Negotiated video. */
  readonly videos?: readonly AgreedVideo[];
  /** Video of our last offer. */
  readonly offered?: LocalVideo;
};

type NegotiationOptions = {
  session: Pick<RtpSession, 'local' | 'configure'>;
  /** Our address as the far side shall see it. */
  address: string;
  codecs: readonly AudioCodec[];
  telephoneEvents: boolean;
  /** Opus parameters: our requests, and our limits for sending. */
  opus?: { wishes: OpusWishes; sending: OpusSending } | undefined;
  /** Whether audio is secret. */
  srtp: SrtpPolicy;
  /** When digits are looked for in the audio itself: where no events are agreed on, or in any case. */
  inbandDigits: 'never' | 'without events' | 'always';
  /** Digits of a bridge go by SIP INFO where no events are agreed on. */
  infoDigits?: boolean;
  /** In digits (RFC 8866 5.2). */
  sessionId: string;
  /** Data of a previous process; its address wins. */
  from?: NegotiationData | undefined;
  /** The call's video; without it every stream of it is refused. */
  video?: VideoStreams | undefined;
  /** Finds the addresses of host names in descriptions. */
  findAddress: FindAddress;
  /** Who sees how candidates come by INFO. */
  watched?: Watched | undefined;
  /** Results are not applied to the session: those of another branch are. */
  silent?: boolean;
  /** The far side has put us on hold, or taken us back. */
  onHeld(held: boolean): void;
};

/** Offer and answer of one call, and the media flow that follows from them. */
export interface Negotiation {
  /** Our offer: all codecs, our present direction. */
  offer(): string;
  /** Our answer to an offer, with the media flowing accordingly; or why there is none, and everything stays. */
  answer(sdp: string): string | OfferRefusal;
  /**
   * An answer that refuses all streams of an offer; no media flows until the next offer.
   * @returns undefined if the offer is unreadable; nothing changes then.
   */
  reject(sdp: string): string | undefined;
  /** Takes the answer to our offer, with the media flowing accordingly; false when it is of no use. */
  accept(sdp: string): boolean;
  /** Holds the far side or ends that: on hold we may send, but ask it not to. */
  hold(on: boolean): void;
  /** Gives the session the agreed parameters again, so that it waits for the far side's audio again. */
  renew(): void;
  /**
   * Copies the negotiation for another branch that answers the same offer (RFC 3261 13.2.2.4).
   * @param silent results are not applied to the session before `speakUp`.
   */
  fork(silent: boolean, from?: NegotiationData): Negotiation;
  /** Applies results to the session from now on. */
  speakUp(): void;
  /** Further candidates of the far side (trickle): see {@link WebrtcTransport}. Ignored where nothing of ours needs them. */
  addCandidates(candidates: readonly RemoteCandidate[]): void;
  /** Takes such candidates from SIP; undefined: the call has no ICE. */
  readonly trickle: Pick<Trickle, 'take'> | undefined;
  /** Other terms from the next offer or answer on. */
  change(terms: Partial<Pick<NegotiationOptions, 'codecs' | 'telephoneEvents' | 'inbandDigits' | 'infoDigits'>>): void;
  /** The result; undefined before. */
  readonly agreed: AgreedAudio | undefined;
  dump(): NegotiationData;
}

/** Codecs with those first that are preferred, each part in its order. */
export function preferredFirst(codecs: readonly AudioCodec[], preferred: readonly string[]): AudioCodec[] {
  const isPreferred = (codec: AudioCodec): boolean => preferred.includes(codec);
  return [...codecs.filter(isPreferred), ...codecs.filter((codec) => !isPreferred(codec))];
}

/** The flow of what is agreed. */
function flowOf(next: AgreedAudio, { inbandDigits, infoDigits, opus }: NegotiationOptions, names: MediaNames): RtpFlow {
  const { held: _held, ...flow } = next;
  const looksForDigits =
    inbandDigits === 'always' || (inbandDigits === 'without events' && flow.telephoneEvent === undefined);
  return {
    ...flow,
    ...names.place(flow),
    ...(flow.codec === 'opus' && opus && { opusSending: opus.sending }),
    ...(looksForDigits && { inbandDigits: true }),
    ...(infoDigits && flow.telephoneEvent === undefined && { digitsBySignalling: true }),
  };
}

/** Offer and answer of one call. */
export const createNegotiation = (options: NegotiationOptions): Negotiation => new CallNegotiation(options);

class CallNegotiation implements Negotiation {
  readonly #address: string;
  readonly #video: VideoStreams | undefined;
  readonly #names: MediaNames;
  readonly trickle: Trickle | undefined;
  #terms: NegotiationOptions;
  #local: LocalAudio;
  #memory: SdpSession;
  #wished: Direction;
  #agreed: AgreedAudio | undefined;
  #videos: readonly AgreedVideo[];
  #offered: LocalVideo | undefined;
  #silent: boolean;

  constructor(options: NegotiationOptions) {
    const { from, session, codecs, telephoneEvents, opus, srtp } = options;
    const address = from?.address ?? options.address;
    this.#address = address;
    this.#terms = options;
    this.#local = { address, port: session.local.port, codecs, telephoneEvents, opus: opus?.wishes, srtp };
    this.#memory = from?.session ?? newSession(options.sessionId);
    this.#wished = from?.wished ?? 'sendrecv';
    this.#agreed = from?.agreed;
    this.#videos = from?.videos ?? [];
    this.#offered = from?.offered;
    this.#silent = options.silent ?? false;
    const add = (candidates: readonly RemoteCandidate[]) => this.addCandidates(candidates);
    if (srtp.mode === 'webrtc')
      this.trickle = new Trickle(add, from?.agreed?.webrtc?.remote, srtp.boundCandidates, options.watched);
    this.#video = options.video;
    this.#names = new MediaNames(options.findAddress, () => this.#silent || this.#configureAll());
    // Another process may have asked for it in vain.
    if (this.#agreed) this.#names.place(this.#agreed);
  }

  get agreed(): AgreedAudio | undefined {
    return this.#agreed;
  }

  offer(): string {
    const ours = this.#media(this.#memory.body === '' ? 'first offer' : 'offer');
    const { session, body } = writeOffer(this.#memory, ours, this.#wished);
    this.#memory = session;
    this.#offered = ours.video;
    return body;
  }

  answer(sdp: string): string | OfferRefusal {
    const offer = parseDescription(sdp);
    if (!offer.ok) return { headers: [warningHeader(offer.problem)] };
    const ours = this.#media('answer');
    const answer = answerOffer(this.#memory, offer.description, ours, this.#wished);
    if (!answer.ok) return { headers: [warningHeader(answer.problem, answer.code)] };
    this.#memory = answer.session;
    this.#settle(answer.agreed);
    this.#settleVideo(answer.videos, ours.video, false);
    return answer.body;
  }

  reject(sdp: string): string | undefined {
    const offer = parseDescription(sdp);
    if (!offer.ok) return undefined;
    const { session, body } = rejectOffer(this.#memory, offer.description, this.#local);
    this.#memory = session;
    if (this.#agreed) this.#settle({ ...this.#agreed, send: false, receive: false });
    this.#settleVideo([], this.#media('answer').video, false);
    return body;
  }

  accept(sdp: string): boolean {
    const answer = parseDescription(sdp);
    const offered = this.#offered;
    const ours = offered ? { ...this.#local, video: offered } : this.#local;
    const accepted = answer.ok ? acceptAnswer(answer.description, ours, this.#wished, this.#memory) : undefined;
    if (!accepted?.ok) return false;
    const { webrtc } = accepted.agreed;
    if (webrtc && this.#memory.webrtc) {
      const { role = 'server' } = webrtc;
      this.#memory = { ...this.#memory, webrtc: { ...this.#memory.webrtc, role } };
    }
    this.#settle(accepted.agreed);
    this.#settleVideo(accepted.videos, offered, true);
    return true;
  }

  hold(on: boolean): void {
    this.#wished = directionOf(true, !on);
  }

  renew(): void {
    if (this.#agreed) this.#configure(this.#agreed);
  }

  fork(silent: boolean, from?: NegotiationData): Negotiation {
    const offered = this.#offered;
    const own = { address: this.#address, session: this.#memory, wished: this.#wished, ...(offered && { offered }) };
    return createNegotiation({ ...this.#terms, from: from ?? own, silent });
  }

  speakUp(): void {
    this.#silent = false;
    this.#configureAll();
  }

  addCandidates(candidates: readonly RemoteCandidate[]): void {
    const { webrtc } = this.#agreed ?? {};
    if (!this.#agreed || !webrtc) return;
    const { places, checked } = webrtc;
    const { boundCandidates: bound = (all) => all } = this.#terms.srtp;
    const allPlaces = places && [...new Set([...places, ...candidates.map(({ address }) => address)])];
    const others = candidates.filter(
      ({ address, port }) => !checked?.some((known) => known.address === address && known.port === port),
    );
    const more = {
      ...(allPlaces && { places: bound(allPlaces) }),
      ...(checked && { checked: bound([...checked, ...others]) }),
    };
    if (more.places?.length === places?.length && more.checked?.length === checked?.length) return;
    this.#agreed = { ...this.#agreed, webrtc: { ...webrtc, ...more } };
    this.#configure(this.#agreed);
  }

  change(change: Parameters<Negotiation['change']>[0]): void {
    this.#terms = { ...this.#terms, ...change };
    const { codecs, telephoneEvents } = this.#terms;
    this.#local = { ...this.#local, codecs, telephoneEvents };
  }

  dump(): NegotiationData {
    return {
      address: this.#address,
      session: this.#memory,
      wished: this.#wished,
      ...(this.#agreed && { agreed: this.#agreed }),
      ...(this.#videos.length > 0 && { videos: this.#videos }),
      ...(this.#offered && { offered: this.#offered }),
    };
  }

  #configure(next: AgreedAudio): void {
    this.#terms.session.configure(flowOf(next, this.#terms, this.#names));
  }

  #settle(next: AgreedAudio): void {
    const wasHeld = this.#agreed?.held ?? false;
    const { held } = next;
    this.#agreed = next;
    this.#names.retry();
    if (!this.#silent) {
      this.#configure(next);
      if (held !== wasHeld) this.#terms.onHeld(held);
    }
    if (next.webrtc) this.trickle?.agree(next.webrtc.remote);
  }

  #settleVideo(next: readonly AgreedVideo[] | undefined, said: LocalVideo | undefined, isOurOffer: boolean): void {
    this.#videos = next ?? [];
    if (!this.#silent && said) this.#video?.settle(this.#names.placed(this.#videos), said, isOurOffer);
  }

  #configureAll(): void {
    if (!this.#agreed) return;
    this.#configure(this.#agreed);
    this.#video?.resettle(this.#names.placed(this.#videos));
  }

  /** Our present capabilities, including video. */
  #media(purpose: Parameters<VideoStreams['local']>[1]): LocalMedia {
    return this.#video ? { ...this.#local, video: this.#video.local(this.#wished, purpose) } : this.#local;
  }
}
