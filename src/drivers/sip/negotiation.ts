import type { OpusSending, OpusWishes } from '../../lib/formats.ts';
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

/** The state of offer and answer: plain data. */
export type NegotiationData = {
  /** Our address as the far side knows it. */
  readonly address: string;
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
  /** In digits (RFC 8866 5.2). */
  sessionId: string;
  /** Data of a previous process; its address wins. */
  from?: NegotiationData | undefined;
  /** The call's video; without it every stream of it is refused. */
  video?: VideoStreams | undefined;
  /** Finds the addresses of host names in descriptions. */
  findAddress: FindAddress;
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
  /** Tells the session once more what is agreed: it then waits anew for the far side's audio. */
  renew(): void;
  /**
   * Copies the negotiation for another branch that answers the same offer (RFC 3261 13.2.2.4).
   * @param silent results are not applied to the session before `speakUp`.
   */
  fork(silent: boolean, from?: NegotiationData): Negotiation;
  /** Applies results to the session from now on. */
  speakUp(): void;
  /** Other terms from the next offer or answer on. */
  change(terms: Partial<Pick<NegotiationOptions, 'codecs' | 'telephoneEvents' | 'inbandDigits'>>): void;
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
function flowOf(next: AgreedAudio, { inbandDigits, opus }: NegotiationOptions, names: MediaNames): RtpFlow {
  const { held: _held, ...flow } = next;
  const looksForDigits =
    inbandDigits === 'always' || (inbandDigits === 'without events' && flow.telephoneEvent === undefined);
  return {
    ...flow,
    ...names.place(flow),
    ...(flow.codec === 'opus' && opus && { opusSending: opus.sending }),
    ...(looksForDigits && { inbandDigits: true }),
  };
}

export function createNegotiation(options: NegotiationOptions): Negotiation {
  const { from } = options;
  const address = from?.address ?? options.address;
  let terms = options;
  let local: LocalAudio = {
    address,
    port: options.session.local.port,
    codecs: options.codecs,
    telephoneEvents: options.telephoneEvents,
    opus: options.opus?.wishes,
    srtp: options.srtp,
  };
  let memory: SdpSession = from?.session ?? newSession(options.sessionId);
  let wished: Direction = from?.wished ?? 'sendrecv';
  let agreed: AgreedAudio | undefined = from?.agreed;
  let videos: readonly AgreedVideo[] = from?.videos ?? [];
  let offered: LocalVideo | undefined = from?.offered;
  let silent = options.silent ?? false;
  const { video } = options;
  const names = new MediaNames(options.findAddress, () => silent || configureAll());
  // Another process may have asked for it in vain.
  if (agreed) names.place(agreed);

  const configure = (next: AgreedAudio) => options.session.configure(flowOf(next, terms, names));

  const settle = (next: AgreedAudio) => {
    const wasHeld = agreed?.held ?? false;
    const { held } = next;
    agreed = next;
    names.retry();
    if (silent) return;
    configure(next);
    if (held !== wasHeld) options.onHeld(held);
  };

  const settleVideo = (next: readonly AgreedVideo[] | undefined, said: LocalVideo | undefined, isOurOffer: boolean) => {
    videos = next ?? [];
    if (!silent && said) video?.settle(names.placed(videos), said, isOurOffer);
  };

  const configureAll = () => {
    if (!agreed) return;
    configure(agreed);
    video?.resettle(names.placed(videos));
  };

  /** Our present capabilities, including video. */
  const media = (purpose: Parameters<VideoStreams['local']>[1]): LocalMedia =>
    video ? { ...local, video: video.local(wished, purpose) } : local;

  const dump = (): NegotiationData => ({
    address,
    session: memory,
    wished,
    ...(agreed && { agreed }),
    ...(videos.length > 0 && { videos }),
    ...(offered && { offered }),
  });

  return {
    offer() {
      const ours = media(memory.body === '' ? 'first offer' : 'offer');
      const { session, body } = writeOffer(memory, ours, wished);
      memory = session;
      offered = ours.video;
      return body;
    },
    answer(sdp) {
      const offer = parseDescription(sdp);
      if (!offer.ok) return { headers: [warningHeader(offer.problem)] };
      const ours = media('answer');
      const answer = answerOffer(memory, offer.description, ours, wished);
      if (!answer.ok) return { headers: [warningHeader(answer.problem, answer.code)] };
      memory = answer.session;
      settle(answer.agreed);
      settleVideo(answer.videos, ours.video, false);
      return answer.body;
    },
    reject(sdp) {
      const offer = parseDescription(sdp);
      if (!offer.ok) return undefined;
      const { session, body } = rejectOffer(memory, offer.description, local);
      memory = session;
      if (agreed) settle({ ...agreed, send: false, receive: false });
      settleVideo([], media('answer').video, false);
      return body;
    },
    accept(sdp) {
      const answer = parseDescription(sdp);
      const ours = offered ? { ...local, video: offered } : local;
      const accepted = answer.ok ? acceptAnswer(answer.description, ours, wished, memory) : undefined;
      if (!accepted?.ok) return false;
      settle(accepted.agreed);
      settleVideo(accepted.videos, offered, true);
      return true;
    },
    hold(on) {
      wished = directionOf(true, !on);
    },
    renew() {
      if (agreed) configure(agreed);
    },
    fork: (isSilent, data = { address, session: memory, wished, ...(offered && { offered }) }) =>
      createNegotiation({ ...terms, from: data, silent: isSilent }),
    speakUp() {
      silent = false;
      configureAll();
    },
    change(change) {
      terms = { ...terms, ...change };
      local = { ...local, codecs: terms.codecs, telephoneEvents: terms.telephoneEvents };
    },
    get agreed() {
      return agreed;
    },
    dump,
  };
}
