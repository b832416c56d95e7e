import type { HeaderLines } from '../message/build.ts';
import type { SipRequest } from '../message/message.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Target } from '../transport/transport.ts';
import type { Dialog } from './dialog.ts';

/** Why an established call ended without our BYE: the peer's BYE, or the loss of the peer (by status). */
export type UsageEnd = { by: 'bye'; request: SipRequest } | { by: 'lost'; status: number };

/** The response to a request inside a call: status, headers, and an action after sending it. */
export type UsageAnswer = number | { status: number; headers?: HeaderLines; afterwards?(): void };

/** Why an offer is not answered: headers of the response that refuses it. */
export type OfferRefusal = { readonly headers: HeaderLines };

/** Result of an offer: the answer, or a refusal without effect. */
export type OfferAnswer = string | OfferRefusal | undefined;

/** Callbacks for the user of a call inside a dialog. */
export type UsageHandlers = {
  /** The user's own name of the call, for lookups by dialog. */
  owner?(): string | undefined;
  /** The peer sends a re-offer (re-INVITE, UPDATE, PRACK). */
  answerOffer(sdp: string, request: SipRequest): OfferAnswer;
  /** Answers an offer that has to have an answer by refusing all of its streams; undefined when it cannot be read. */
  rejectOffer?(sdp: string): string | undefined;
  /** An offer is wanted: for a re-INVITE of ours, or of the peer's without SDP. */
  makeOffer(): string;
  /** The peer's answer to it. False when it is of no use. */
  acceptAnswer(sdp: string): boolean;
  /** Headers of our re-INVITE or UPDATE without an offer: the connected line. */
  standingHeaders?(): HeaderLines;
  /** An UPDATE without an offer was taken: it may tell who the peer is. */
  onUpdated?(request: SipRequest): void;
  /** The peer refused the offer of a re-INVITE, or did not answer that in our 200 to one; the session stays as it was. */
  onOfferRefused?(status: number): void;
  /**
   * A request from a new source of the peer. True: it has been or will be answered with 401; false: the source is
   * accepted. Left out: everyone who knows the tags is accepted.
   */
  challengeStranger?(transaction: ServerTransaction, dialog: Dialog): boolean;
  /** The connection that the peer of a dialog has registered over; asked when the dialog's own one is gone. */
  registeredFlow?(dialog: Dialog): Target | undefined;
  /** A request inside the call that changes nothing of it (INFO, MESSAGE, NOTIFY…): the status to answer with. */
  onRequest(request: SipRequest): UsageAnswer;
  /** How a request sent by `request` ended: the final status; 408 and 503 when there was none. */
  onRequestEnded?(label: string, status: number): void;
  /** The ACK to our 200 to the first INVITE came. */
  onAcknowledged?(): void;
  /** The call is over without our asking. Told once, and not after `bye`. */
  onEnded(end: UsageEnd): void;
  /** Nothing of the usage is left; told once, last. */
  onClosed(): void;
};
