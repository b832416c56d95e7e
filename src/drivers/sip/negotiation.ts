import type { OpusSending, OpusWishes } from '../../lib/formats.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import { type Direction, directionOf, parseDescription } from '../../sip/sdp/description.ts';
import {
  type AgreedAudio,
  acceptAnswer,
  answerOffer,
  type LocalAudio,
  newSession,
  type SdpSession,
  writeOffer,
} from '../../sip/sdp/offer-answer.ts';
import type { SrtpPolicy } from '../../sip/sdp/sdes.ts';
import type { RtpSession } from '../../telephony/media.ts';

/** What was said and agreed so far: plain data. */
export type NegotiationData = {
  /** Our address as the far side knows it. */
  readonly address: string;
  readonly session: SdpSession;
  readonly wished: Direction;
  readonly agreed?: AgreedAudio;
};

export type NegotiationOptions = {
  session: RtpSession;
  /** Our address as the far side shall see it. */
  address: string;
  codecs: readonly AudioCodec[];
  telephoneEvents: boolean;
  /** What we ask for of Opus, and how we send it at most. */
  opus?: { wishes: OpusWishes; sending: OpusSending } | undefined;
  /** Whether audio is secret. */
  srtp: SrtpPolicy;
  /** When digits are looked for in the audio itself: where no events are agreed on, or in any case. */
  inbandDigits: 'never' | 'without events' | 'always';
  /** In digits (RFC 8866 5.2). */
  sessionId: string;
  /** Where another process left off; its address then counts. */
  from?: NegotiationData | undefined;
  /** What is agreed does not reach the session: another one's does. */
  silent?: boolean;
  /** The far side has put us on hold, or taken us back. */
  onHeld(held: boolean): void;
};

/** Offer and answer of one call, and the media flow that follows from them. */
export interface Negotiation {
  /** Our offer: all codecs, our present direction. */
  offer(): string;
  /** Our answer to an offer, with the media flowing accordingly; undefined when there is nothing in common. */
  answer(sdp: string): string | undefined;
  /** Takes the answer to our offer, with the media flowing accordingly; false when it is of no use. */
  accept(sdp: string): boolean;
  /** Whether we hold the far side: then we may send, but ask it to be silent. */
  hold(on: boolean): void;
  /** Tells the session once more what is agreed: it then waits anew for the far side's audio. */
  renew(): void;
  /**
   * The same offer, to be answered by somebody else (RFC 3261 13.2.2.4).
   * @param silent what it agrees on does not reach the session before `speakUp`.
   */
  fork(silent: boolean, from?: NegotiationData): Negotiation;
  /** From now on what is agreed reaches the session at once. */
  speakUp(): void;
  /** Other terms from the next offer or answer on. */
  change(terms: Partial<Pick<NegotiationOptions, 'codecs' | 'telephoneEvents' | 'inbandDigits'>>): void;
  /** What is agreed; undefined before. */
  readonly agreed: AgreedAudio | undefined;
  dump(): NegotiationData;
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
  let silent = options.silent ?? false;

  const looksForDigits = ({ telephoneEvent }: AgreedAudio): boolean =>
    terms.inbandDigits === 'always' || (terms.inbandDigits === 'without events' && telephoneEvent === undefined);

  const configure = (next: AgreedAudio) => {
    const { held: _held, ...flow } = next;
    options.session.configure({
      ...flow,
      ...(flow.codec === 'opus' && terms.opus && { opusSending: terms.opus.sending }),
      ...(looksForDigits(next) && { inbandDigits: true }),
    });
  };

  const settle = (next: AgreedAudio) => {
    const wasHeld = agreed?.held ?? false;
    const { held } = next;
    agreed = next;
    if (silent) return;
    configure(next);
    if (held !== wasHeld) options.onHeld(held);
  };

  const dump = (): NegotiationData => ({ address, session: memory, wished, ...(agreed && { agreed }) });

  return {
    offer() {
      const { session, body } = writeOffer(memory, local, wished);
      memory = session;
      return body;
    },
    answer(sdp) {
      const offer = parseDescription(sdp);
      const answer = offer.ok ? answerOffer(memory, offer.description, local, wished) : undefined;
      if (!answer?.ok) return undefined;
      memory = answer.session;
      settle(answer.agreed);
      return answer.body;
    },
    accept(sdp) {
      const answer = parseDescription(sdp);
      const accepted = answer.ok ? acceptAnswer(answer.description, local, wished, memory) : undefined;
      if (!accepted?.ok) return false;
      settle(accepted.agreed);
      return true;
    },
    hold(on) {
      wished = directionOf(true, !on);
    },
    renew() {
      if (agreed) configure(agreed);
    },
    fork: (isSilent, data = { address, session: memory, wished }) =>
      createNegotiation({ ...terms, from: data, silent: isSilent }),
    speakUp() {
      silent = false;
      if (agreed) configure(agreed);
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
