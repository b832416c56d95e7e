import type { CallOutcome } from '../models/call-outcome.ts';
import { Cause, causeText } from '../telephony/causes.ts';

/**
 * The outcome of a leg and of a call. The list, the page, the call record, the log and the metrics use these two
 * functions, so they agree.
 */

type Party = NonNullable<CallOutcome['by']>;

/** What is known of a leg. */
export type LegFacts = {
  direction: 'in' | 'out';
  answered: boolean;
  ended: boolean;
  /** Q.850; 0 while there is none. */
  cause: number;
  /** The SIP status that it ended with. */
  sipStatus?: number | undefined;
  /** Who ended it, as channels say it. */
  by?: 'farSide' | Exclude<Party, 'caller' | 'callee'> | undefined;
  /** Why it failed, where the cause does not say so. */
  failure?: string | undefined;
};

/** Causes that end a talk as it should end. */
const usual: ReadonlySet<number> = new Set([
  ...[Cause.unknown, Cause.normalClearing, Cause.normalUnspecified, Cause.answeredElsewhere],
]);

/** Causes that say that the called side turned the call down, not that something broke. */
const turnedDown: ReadonlySet<number> = new Set([
  ...[Cause.userBusy, Cause.callRejected, Cause.unallocated, Cause.noRouteDestination, Cause.numberChanged],
  ...[Cause.invalidNumberFormat, Cause.facilityRejected, 54, 55, 57],
]);

const isRedirection = (status: number | undefined): boolean => status !== undefined && status >= 300 && status < 400;

/** A cause in words, with the numbers that an engineer looks up. */
function causeWords(cause: number, sipStatus: number | undefined): string {
  if (isRedirection(sipStatus)) return `redirected, and the redirection was not followed (SIP ${sipStatus})`;
  const numbers = [...(cause === 0 ? [] : [`cause ${cause}`]), ...(sipStatus ? [`SIP ${sipStatus}`] : [])].join(', ');
  const words = cause === 0 ? 'no cause given' : causeText(cause);
  return numbers === '' ? words : `${words} (${numbers})`;
}

/** No BYE has a status: the server ended an answered call with this one, because its far side had stopped answering. */
const unansweredStatus = 408;

const partyOf = ({ by, direction, answered, sipStatus }: LegFacts): { by?: Party } => {
  if (by === undefined) return {};
  if (by === 'farSide' && answered && sipStatus === unansweredStatus) return { by: 'timeout' };
  if (by !== 'farSide') return { by };
  return { by: direction === 'in' ? 'caller' : 'callee' };
};

/** The outcome of an answered leg that has ended. */
function talked(leg: LegFacts): CallOutcome {
  const { cause, by, sipStatus } = leg;
  const isBroken = by === 'fault' || by === 'timeout' || !usual.has(cause);
  const reason = isBroken ? `dropped: ${causeWords(cause, sipStatus)}` : 'answered';
  return { result: isBroken ? 'failed' : 'answered', reason, ...partyOf(leg) };
}

/** The outcome of an unanswered leg that has ended. */
function unanswered(leg: LegFacts): CallOutcome {
  const { cause, by, sipStatus, direction } = leg;
  const party = partyOf(leg);
  if (cause === Cause.answeredElsewhere) return { result: 'abandoned', reason: 'answered elsewhere', ...party };
  if (direction === 'in' && by === 'farSide')
    return { result: 'abandoned', reason: 'the caller hung up before an answer', ...party };
  if (by === 'fault') return { result: 'failed', reason: 'internal error', ...party };
  if (turnedDown.has(cause) || isRedirection(sipStatus))
    return { result: 'refused', reason: causeWords(cause, sipStatus), ...party };
  if (!usual.has(cause)) return { result: 'failed', reason: causeWords(cause, sipStatus), ...party };
  if (direction === 'in') return { result: 'refused', reason: 'hung up without an answer', ...party };
  if (by === 'farSide') return { result: 'failed', reason: causeWords(cause, sipStatus), ...party };
  return { result: 'abandoned', reason: 'given up before an answer', ...party };
}

/** The outcome of one leg. */
export function legOutcome(leg: LegFacts): CallOutcome {
  if (leg.ended && leg.failure !== undefined) return { result: 'failed', reason: leg.failure, by: 'application' };
  if (!leg.ended) return leg.answered ? { result: 'answered', reason: 'answered' } : { result: 'pending', reason: '' };
  return leg.answered ? talked(leg) : unanswered(leg);
}

const isBad = ({ result }: CallOutcome): boolean => result === 'failed' || result === 'refused';

/**
 * The outcome of a call: that of its first leg. If that leg ended only because a later one was declined or failed, the
 * later leg says why. While a leg is left, it is answered or pending.
 * @param legs in the order in which they began
 */
export function callOutcome(legs: readonly LegFacts[]): CallOutcome {
  const [first, ...others] = legs;
  if (!first) return { result: 'pending', reason: '' };
  if (legs.some(({ ended }) => !ended)) {
    const isAnswered = legs.some(({ ended, answered }) => !ended && answered);
    return isAnswered ? { result: 'answered', reason: 'answered' } : { result: 'pending', reason: '' };
  }
  return firstLegOutcome(first, others.map(legOutcome));
}

/**
 * The outcome of the ended leg that a call began with, and so of its call. If it ended only because a called party declined
 * or failed, that party says why.
 * @param others of the later legs that have ended, in the order in which they began
 */
export function firstLegOutcome(first: LegFacts, others: readonly CallOutcome[]): CallOutcome {
  const outcome = legOutcome(first);
  if (first.failure !== undefined || first.answered || outcome.result === 'abandoned') return outcome;
  return others.find(isBad) ?? outcome;
}
