import type { HeaderLines } from '../message/build.ts';
import type { SipRequest } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import { descriptionIn, sessionBodies, sessionBodyOf } from '../message/session-body.ts';
import { warningHeader } from '../message/warning.ts';
import type { ServerTransaction } from '../transaction/transaction.ts';
import type { Stack } from './stack.ts';
import type { UsageAnswer, UsageHandlers } from './usage-handlers.ts';

/** Why a request cannot be taken because of its body; undefined when it can be, or has none (RFC 3261 8.2.3, 21.4.13). */
export function refuseBody(
  request: SipRequest,
): { status: 400 | 415; reason: string; headers: HeaderLines } | undefined {
  const body = sessionBodyOf(request);
  if (body.kind === 'foreign')
    return { status: 415, reason: `a body of ${body.type}`, headers: [['Accept', sessionBodies]] };
  if (body.kind === 'encoded')
    return {
      status: 415,
      reason: 'a body with a Content-Encoding',
      headers: [['Accept-Encoding', 'identity']],
    };
  if (body.kind !== 'malformed') return undefined;
  return { status: 400, reason: body.problem, headers: [warningHeader(body.problem)] };
}

/** State of offer and answer of an INVITE before its final response. */
type EarlyOffer =
  /** Our offer has no valid answer yet: only a reliable response counts (RFC 3262 5). */
  | 'ours'
  /** An offer of the peer's has none. */
  | 'theirs'
  /** Both are there, and both sides know. */
  | 'settled';

/** What to do with an offer of the peer in this state (RFC 3311 5.2, RFC 3262 5). */
export type OfferVerdict =
  | 'answer'
  /** Both have offered: 491. */
  | 'glare'
  /** The peer has offered twice: 500 with Retry-After. */
  | 'wait';

const verdicts: Readonly<Record<EarlyOffer, OfferVerdict>> = { ours: 'glare', theirs: 'wait', settled: 'answer' };

/** The decision about an offer in an UPDATE or PRACK of an early dialog. */
export const earlyVerdict = (state: EarlyOffer): OfferVerdict => verdicts[state];

/**
 * Answers a PRACK, and its offer if it has one. Only a 2xx acknowledges it, and only an answer completes its offer. If
 * we cannot accept the offer, the answer refuses all of its streams (RFC 3262 5, RFC 3264 6).
 */
export function replyToOffer(
  transaction: ServerTransaction,
  handlers: Pick<UsageHandlers, 'answerOffer' | 'rejectOffer'>,
  settled: boolean,
): void {
  const { request } = transaction;
  const offer = descriptionIn(request);
  if (offer === undefined || !settled) return void transaction.reply(200);
  const answer = handlers.answerOffer(offer, request);
  const sdp = typeof answer === 'string' ? answer : handlers.rejectOffer?.(offer);
  transaction.reply(200, {
    ...(typeof answer === 'object' && answer),
    ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
  });
}

/** RFC 3261 14.2 and RFC 3311 5.2: try again after 0 to 10 seconds. */
export function refuseForNow({ ids }: Pick<Stack, 'ids'>, transaction: ServerTransaction): void {
  const seconds = Number.parseInt(ids.hex(2), 16) % 11;
  transaction.reply(500, { headers: [['Retry-After', String(seconds)]] });
}

/**
 * Answers a request inside a call that is about something else than the session.
 * @param contact ours: a REFER makes a subscription, whose messages go there (RFC 3515 2.2).
 */
export function replyTo(
  transaction: ServerTransaction,
  answer: UsageAnswer,
  allow: string,
  contact: NameAddr | undefined,
): void {
  const { status, headers = [], afterwards = undefined } = typeof answer === 'number' ? { status: answer } : answer;
  const { method } = transaction.request;
  const methods: HeaderLines = status === 405 || method === 'OPTIONS' ? [['Allow', allow]] : [];
  transaction.reply(status, {
    headers: [...methods, ...headers],
    ...(method === 'REFER' && contact && { contact }),
  });
  afterwards?.();
}
