import type { HeaderLines } from '../message/build.ts';
import type { SipRequest } from '../message/message.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Dialog } from './dialog.ts';

/** Why a call that stood is over without our asking: the peer's BYE, or the peer is lost (as the status says). */
export type UsageEnd = { by: 'bye'; request: SipRequest } | { by: 'lost'; status: number };

/** How a request inside a call is answered: the status, with headers, and what is done when the answer is on its way. */
export type UsageAnswer = number | { status: number; headers?: HeaderLines; afterwards?(): void };

/** Why an offer is not answered: headers of the response that refuses it. */
export type OfferRefusal = { readonly headers: HeaderLines };

/** What an offer comes to: the answer, or a refusal that leaves everything as it was. */
export type OfferAnswer = string | OfferRefusal | undefined;

/** What the user of a call inside a dialog is asked and told. */
export type UsageHandlers = {
  /** Its user's own name of the call, for who finds the call by its dialog. */
  owner?(): string | undefined;
  /** The peer offers anew (re-INVITE, UPDATE, PRACK). */
  answerOffer(sdp: string, request: SipRequest): OfferAnswer;
  /** Answers an offer that has to have an answer by refusing all of its streams; undefined when it cannot be read. */
  rejectOffer?(sdp: string): string | undefined;
  /** An offer is wanted: for a re-INVITE of ours, or of the peer's without SDP. */
  makeOffer(): string;
  /** The peer's answer to it. False when it is of no use. */
  acceptAnswer(sdp: string): boolean;
  /** Headers of what we tell the peer of its call beside offers (re-INVITE, UPDATE): who it is connected to. */
  standingHeaders?(): HeaderLines;
  /** An UPDATE without an offer was taken: it may tell who the peer is. */
  onUpdated?(request: SipRequest): void;
  /** The peer refused the offer of a re-INVITE, or did not answer that in our 200 to one; the session stays as it was. */
  onOfferRefused?(status: number): void;
  /**
   * A request from a place where the peer was not heard before: true when it was, or will be, answered 401; false to take
   * it for the peer's, now and later. Left out, everybody who knows the tags is taken for the peer.
   */
  challengeStranger?(transaction: ServerTransaction, dialog: Dialog): boolean;
  /** A request inside the call that changes nothing of it (INFO, MESSAGE, NOTIFY…): the status to answer with. */
  onRequest(request: SipRequest): UsageAnswer;
  /** How a request sent by `request` ended: the final status; 408 and 503 when there was none. */
  onRequestEnded?(label: string, status: number): void;
  /** UAS: a PRACK came before the answer, or soon after it; left out, none is expected. */
  onPrack?(transaction: ServerTransaction): void;
  /** The ACK to our 200 to the first INVITE came. */
  onAcknowledged?(): void;
  /** The call is over without our asking. Told once, and not after `bye`. */
  onEnded(end: UsageEnd): void;
  /** Nothing of the usage is left; told once, last. */
  onClosed(): void;
};
