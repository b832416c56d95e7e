import type { HeaderLines } from '../message/build.ts';
import type { SipRequest } from '../message/message.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';

/** Whether a message carries a session description. */
export const hasSdp = (message: Pick<SipRequest, 'body' | 'contentType'>): boolean =>
  message.body.length > 0 && message.contentType === 'application/sdp';

/** Where offer and answer of an INVITE stand before its final response. */
export type EarlyOffer =
  /** An offer of ours has no answer, or none that counts: an answer counts in a reliable response alone (RFC 3262 5). */
  | 'ours'
  /** An offer of the peer's has none. */
  | 'theirs'
  /** Both are there, and both sides know. */
  | 'settled';

/** What is done about an offer of the peer's that comes while that of the INVITE stands so (RFC 3311 5.2, RFC 3262 5). */
export type OfferVerdict =
  | 'answer'
  /** Both have offered: 491. */
  | 'glare'
  /** The peer has offered twice: 500 with Retry-After. */
  | 'wait';

const verdicts: Readonly<Record<EarlyOffer, OfferVerdict>> = { ours: 'glare', theirs: 'wait', settled: 'answer' };

/** The verdict about an offer in an UPDATE or PRACK of an early dialog. */
export const earlyVerdict = (state: EarlyOffer): OfferVerdict => verdicts[state];

/** Answers a PRACK, and the offer that it may carry; an offer that we cannot take is refused with it (RFC 3262 5). */
export function replyToOffer(
  transaction: ServerTransaction,
  handlers: { answerOffer(sdp: string, request: SipRequest): string | undefined },
  settled: boolean,
  headers: HeaderLines = [],
): void {
  const { request } = transaction;
  if (!hasSdp(request) || !settled) return void transaction.reply(200, { headers });
  const sdp = handlers.answerOffer(request.bodyText, request);
  if (sdp === undefined) transaction.reply(488, { headers });
  else transaction.reply(200, { headers, contentType: 'application/sdp', body: sdp });
}
