import type { Static } from 'typebox';
import { object, oneOf, optional, text } from '../models/plain-schema.ts';
import type { DigitSequence, MediaSession, ToneSignal } from './media.ts';
import type { Party, Redirection } from './party.ts';
import type { H264Terms, VideoCodec, VideoStatistics } from './video.ts';

/**
 * The port between call control and a technology (SIP, Local, external media).
 * Call control owns channels and *asks* a {@link Leg}; a technology *tells* with {@link LegReport}s.
 */

/** Present values for placing a call. */
export type DialDetails = {
  caller: Party;
  redirection?: Redirection;
  /** As {@link LegRequest.prefers}, where it is known only now; formats that were asked for stay as they are. */
  prefers?: readonly string[];
};

/** Reports of a technology about its side of a channel, in order, never from inside `open`. */
export type LegReport =
  /** A reserved inbound leg is now offered for real (a dialed Local half): the dialplan begins. */
  | { type: 'leg.offered' }
  /** Outbound: the far side works on it (SIP 100 does not count, 181–182 do). */
  | { type: 'leg.proceeding' }
  /** Outbound: the far side forwards the call itself (SIP 181), after `leg.proceeding`. */
  | { type: 'leg.forwarding' }
  /** Outbound: the far side alerts (SIP 180), perhaps in the early media that `leg.progressed` has told (180 with SDP). */
  | { type: 'leg.ringing'; inMedia?: true }
  /** Outbound: early media without alerting (SIP 183 with SDP). */
  | { type: 'leg.progressed' }
  /** The leg is connected; told for both directions, also after our own `answer()`. */
  | { type: 'leg.answered' }
  /** The far side ended or refused the call. `cause` is Q.850; `techCause` e.g. the SIP status. */
  | { type: 'leg.hungUp'; cause: number; techCause?: number }
  /** The one reply to `hangup()`: no further reports. */
  | { type: 'leg.ended' }
  /** A digit pressed by the far side, told at its end. `durationMs` in ms. */
  | { type: 'leg.digit'; digit: string; durationMs: number }
  /** The far side began to talk, or stopped after so many ms; told where that is listened for. */
  | { type: 'leg.talkingStarted' }
  | { type: 'leg.talkingFinished'; durationMs: number }
  /** A tone, or a signal, was heard that is listened for: see `media.toneDetected`. */
  | { type: 'leg.toneDetected'; direction: 'in' | 'out'; signal?: ToneSignal }
  /** The far side put us on hold, or took us back. */
  | { type: 'leg.held'; musicClass?: string }
  | { type: 'leg.unheld' }
  /** The far side's identity changed or became known (P-Asserted-Identity, a Local half's caller). */
  | { type: 'leg.connectedLine'; party: Party }
  /**
   * The call was forwarded elsewhere by the far side (SIP 302): the new target as `tech/resource`. With a redirection it is
   * to go on there, and that says how it came to it.
   */
  | { type: 'leg.forwarded'; target: string; redirection?: Redirection }
  /** {@link LegVideo} has changed. */
  | { type: 'leg.videoChanged' }
  /** The far side of an established call requests a transfer (SIP REFER). */
  | { type: 'leg.transferAsked'; transfer: TransferRequest };

export type Report = (report: LegReport) => void;

/** Who handles a party's transfers: this server, or the application in control. */
export const TransferHandling = oneOf('core', 'client');
export type TransferHandling = Static<typeof TransferHandling>;

/** Reads who carries out transfers, in Asterisk's words (`core`, `ari-only`) or ours (`client`); undefined for another. */
export function readTransferHandling(text: string): TransferHandling | undefined {
  const word = text.trim().toLowerCase();
  if (word === '' || word === 'core') return 'core';
  return word === 'ari-only' || word === 'client' ? 'client' : undefined;
}

/** Variables that set the same: of an endpoint's `set_var`, or set by its caller. */
const handlingVariables = ['TRANSFERHANDLING', 'TRANSFER_HANDLING()', 'PJSIP_TRANSFER_HANDLING()'] as const;

/** Transfer handling by a channel's variables; undefined without one. */
export function transferHandlingIn(variables: Readonly<Record<string, string>> = {}): TransferHandling | undefined {
  const name = handlingVariables.find((each) => Object.hasOwn(variables, each));
  return name === undefined ? undefined : readTransferHandling(variables[name] ?? '');
}

/** A transfer request of a party: plain JSON. */
export const TransferRequest = object({
  /** The technology's id of the request, for progress reports. */
  id: text,
  /** Extension that is asked for; '' where another call is named instead. */
  extension: text,
  /** Context to look it up in, unless the channel says otherwise (TRANSFER_CONTEXT). */
  context: text,
  /** The target as it was asked for, e.g. `sip:200@pbx.example`. */
  target: text,
  /** The referring party (RFC 3892), if given. */
  referredBy: optional(text),
  /**
   * The other call of the same party, whose far side is to be put through (RFC 3891): the technology's id of that call
   * (SIP Call-ID), and its channel, where it is a call of ours.
   */
  replaces: optional(object({ protocolId: text, localTag: text, remoteTag: text, channelId: optional(text) })),
  /** Who handles it, unless the channel overrides it. */
  handling: TransferHandling,
});
export type TransferRequest = Static<typeof TransferRequest>;

/** One stream of video as it is agreed on. */
export type LegVideoStream = {
  /** Its number among the video lines; in 0 the far side's own camera comes in. */
  stream: number;
  codec: VideoCodec;
  /** The far side's H.264 terms, if that is the codec. */
  h264?: H264Terms;
  /** Whether the far side takes video in it, and whether we take the far side's. */
  send: boolean;
  receive: boolean;
};

/** The source of one stream to the far side. */
export type ShownStream = {
  /** The codec of the shown member: video is not decoded. */
  codec: VideoCodec;
  /** The stream's label in SDP (RFC 4574). */
  label?: string;
};

/** The video of a leg. */
export interface LegVideo {
  /** Negotiated streams by number; empty before, and without video. */
  readonly streams: readonly LegVideoStream[];
  /** Possible codecs of its own stream, the present one included; empty without video. */
  readonly choices: readonly VideoCodec[];
  /** Codecs that were offered while the far side chose another: support is unknown until another negotiation. */
  readonly untried: readonly VideoCodec[];
  /**
   * Preferred codec of its own stream, for mutual visibility with others; undefined: any. If it has another one, and
   * this one is possible or untried, a renegotiation within the rate limit asks for it. If it still chooses another,
   * it is not asked again.
   */
  prefer(codec: VideoCodec | undefined): void;
  /** Usable streams: refused ones do not count. */
  readonly capacity: number;
  /** The formats it may have, by Asterisk's names; once one is agreed on, that one. */
  readonly formats: readonly VideoCodec[];
  /**
   * Sets the streams to the far side and their sources; the first is its own and always stays. The far side gets a
   * re-INVITE within the rate limit, and `leg.videoChanged` follows. Refused streams are not offered again.
   * @param others number of further sources that more streams could show; default: none.
   */
  show(streams: readonly ShownStream[], others?: number): void;
  /** Figures of the streams that flow, in their order. Rejects when the media plane cannot tell. */
  statistics(): Promise<VideoStatistics[]>;
}

/** Additional abilities of SIP calls. */
export interface SipAbilities {
  /** Names that begin so (in any case of letters) of headers as `Leg.header` reads them, each once. */
  headerNames(beginning: string): string[];
  /** A header of the answer to a call that we placed; `index` from 1. */
  responseHeader(name: string, index: number): string | undefined;
  responseHeaderNames(beginning: string): string[];
  /** How digits travel, by Asterisk's word (`rfc4733`, `info`, `inband`, `auto`). */
  readonly digitMode: string;
  /** False for no such word. An established call gets a re-offer. */
  setDigitMode(mode: string): boolean;
  /** The formats that are offered and accepted from now on; false when there is one that we have not, or none. */
  setFormats(formats: readonly string[]): boolean;
  /** The same of video; false also where the call's endpoint has no video. */
  setVideoFormats(formats: readonly string[]): boolean;
  /** Tells the peer that the session lives: by a new offer, or without one; false before the answer and after the end. */
  refresh(method: 'invite' | 'update'): boolean;
}

/**
 * One technology's side of a channel. Methods do not wait, and never throw because of the far side's state: reports
 * have the results. After `hangup` exactly one `leg.ended` follows.
 */
export interface Leg {
  /** The technology's own id of the call (SIP Call-ID); '' when it has none. */
  readonly protocolId: string;
  /** Source of the call, `address:port`; left out if unknown. */
  readonly source?: string;
  /** The audio formats it may have, by Asterisk's names; once one is agreed on, that one first. */
  readonly formats: readonly string[];
  /** The leg's audio. Exists from the start; what is played before the far side listens is lost, not queued. */
  readonly media: MediaSession;
  /** Its video; left out where it has none. */
  readonly video?: LegVideo | undefined;
  /** Outbound only: places the call. Default caller: `LegRequest.caller`. */
  dial(details?: DialDetails): void;
  /** Inbound, unanswered: tell the caller it is alerting (SIP 180). Answered: play ringback locally. */
  ring(): void;
  /** Inbound, unanswered: tell the caller that its call is being forwarded (SIP 181). */
  forwarding?(): void;
  /** Stops what `ring` plays on an answered leg. */
  stopRinging(): void;
  /** Inbound, unanswered: open the early audio path (SIP 183 with SDP); answered: nothing. `prefers` as in `answer`. */
  progress(prefers?: readonly string[]): void;
  /**
   * Inbound: accepts the call; `leg.answered` follows. No effect on a connected leg.
   * @param prefers formats of its probable peer: chosen first if the far side offers them and the leg may use them, to
   * avoid transcoding. Earlier SDP stays valid.
   */
  answer(prefers?: readonly string[]): void;
  /** End, refuse or cancel, with a Q.850 cause; `leg.ended` follows. Idempotent. */
  hangup(cause: number): void;
  /** Send digits to the far side, one after another; a sequence sent later waits for earlier ones. */
  sendDigits(sequence: DigitSequence): void;
  /** Tell the far side it is on hold / back (SIP re-INVITE sendonly / sendrecv). */
  hold(): void;
  unhold(): void;
  /**
   * Sends the connected line to the far side; before an outbound call is placed, the caller. No effect if the
   * technology has no such message, or may not send it.
   */
  present(party: Party): void;
  /** Send the caller elsewhere (SIP 302 before the answer, REFER after it). False when this technology cannot. */
  redirect(target: string): boolean;
  /** Whether its far side may call an extension, or put others through to it; left out, any. */
  mayCall?(extension: string): boolean;
  /** Reports the progress of its requested transfer to the far side: a SIP status; 200 or more ends it. */
  tellTransfer(id: string, status: number): void;
  /** The far side is about to hang up: `hangup` gives it this time, in ms. */
  expectEnd?(ms: number): void;
  /** A header of the request that made the call, by case-insensitive name; undefined where there is none. `index` from 1. */
  header(name: string, index?: number): string | undefined;
  /** Sets headers for the request that will place the call (before `dial`); false for one that is the technology's own. */
  addHeader(name: string, value: string): boolean;
  updateHeader(name: string, value: string): boolean;
  removeHeader(name: string): void;
  /** Abilities of SIP; other technologies have none. */
  readonly sip?: SipAbilities;
  /** Releases everything the leg holds, in any state; called once, also after a crash. */
  release(): void;
  /** Everything that the leg is: enough for its driver to go on with it in another process (`Driver.resume`). */
  dump(): LegData;
}

/** A leg that was saved: plain JSON, which only its driver reads. */
export type LegData = { readonly version: number };

/** Parameters of an outbound leg. */
export type LegRequest = {
  channelId: string;
  /** For the second half of a Local channel. */
  otherChannelId?: string;
  /** A channel that it will probably meet: whose call it belongs to. */
  near?: string;
  /** The part behind `tech/`: `alice`, `alice/sip:a@10.0.0.9`, `s@default`. */
  resource: string;
  caller: Party;
  /** Formats the leg may use (`ulaw`, `alaw`), the preferred one first; undefined = the endpoint's own, in its order. */
  formats?: readonly string[];
  /** Formats of its probable peer: offered first if allowed, to avoid transcoding. */
  prefers?: readonly string[];
  variables: Readonly<Record<string, string>>;
};

/** An opened outbound leg. */
export type OpenedLeg = {
  /** The channel's name, e.g. `PJSIP/alice-0a1b2c3d`. */
  name: string;
  /** The endpoint the channel belongs to as `[technology, resource]`, undefined when none (Local). */
  endpoint?: readonly [technology: string, resource: string];
  leg: Leg;
  /** Its first dialplan position; default: `default`, `s`. */
  context?: string;
  extension?: string;
  /** Its tenant; default: the caller's. */
  tenantId?: string;
  /** Variables that the channel is made with; events of it show them. */
  variables?: Readonly<Record<string, string>>;
  /** The channel that comes to life together with this one (a Local half). */
  companion?: IncomingCall;
};

/** A call that a technology brings in. */
export type IncomingCall = {
  technology: string;
  name: string;
  endpoint?: readonly [technology: string, resource: string];
  /** Given when the id is already decided (a Local half). */
  channelId?: string;
  context: string;
  extension: string;
  caller: Party;
  redirection?: Redirection;
  language?: string;
  accountCode?: string;
  tenantId?: string;
  variables?: Readonly<Record<string, string>>;
  /** The channel whose place it takes as soon as it is answered (RFC 3891): it runs no dialplan. */
  replaces?: string;
  /** It joins a call that is there, e.g. to listen to it. So a drained server takes it. */
  joins?: true;
  /** `reserved`: shows Ring, too, but waits for `leg.offered` before anything runs on it. */
  state: 'ring' | 'reserved';
  /** Called once by call control, when the channel exists and reports may come. */
  open(channelId: string, report: Report): Leg;
};

/** Why a driver refused to make a leg; call control translates it at its border. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  /** Which part of the request was at fault. */
  readonly part: 'technology' | 'endpoint' | 'resource' | 'format' | 'capacity' | 'data' | 'condition';
  constructor(part: DriverError['part'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.part = part;
  }
}

/** One technology. Its calls in go to the {@link CallHost} that it was made with. */
export interface Driver {
  /** Canonical name as shown to clients and used in dial strings: `PJSIP`, `Local`. */
  readonly technology: string;
  /** Other names that dial strings may use (`SIP`); compared without case. */
  readonly aliases?: readonly string[];
  /** Makes an outbound leg without dialing it. @throws DriverError naming the part at fault; then nothing is left open. */
  open(request: LegRequest, report: Report): OpenedLeg;
  /**
   * Continues a leg that another process saved. No reports before this returns.
   * @throws DriverError if the data is unreadable, or its dependencies are gone.
   */
  resume(data: LegData, channelId: string, report: Report): Leg;
}

/** A call that a driver refused before it had a channel. */
export type RefusedOffer = {
  technology: string;
  /** Name of its endpoint. */
  endpoint: string;
  /** Number of the caller, and the extension that was called: as the caller sent them. */
  from: string;
  to: string;
  context: string;
  /** `address:port`. */
  source: string;
  protocolId: string;
  /** The technology's status, e.g. SIP 488, and its cause (Q.850). */
  status: number;
  cause: number;
  reason: string;
};

/** Receives a driver's calls. */
export interface CallHost {
  /** Makes a channel for the call. False when no calls are taken (draining): the driver refuses it with 503. */
  incoming(call: IncomingCall): boolean;
}
