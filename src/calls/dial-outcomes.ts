import type { Outcome } from '../dialplan/applications/application.ts';
import type { DialOutcome, DialResult } from '../dialplan/calls.ts';
import { Cause } from '../telephony/causes.ts';

/** How calls of a Dial ended, in the words of the dialplan. */

/** Why nobody answered, of the reasons of each, the most telling one first (Asterisk's order). */
export const telling: readonly DialOutcome[] = ['BUSY', 'CONGESTION', 'NOANSWER', 'CHANUNAVAIL'];

/** What the end of one call is, by its Q.850 cause. */
export function outcomeOf(cause: number): DialOutcome {
  if (cause === Cause.userBusy) return 'BUSY';
  if (cause === Cause.congestion) return 'CONGESTION';
  return cause === Cause.noRouteDestination || cause === Cause.subscriberAbsent ? 'CHANUNAVAIL' : 'NOANSWER';
}

/**
 * What becomes of a call whose subroutine has ended, by the variable that it leaves (GOSUB_RESULT); undefined where both are
 * joined. What it did not come to the end of, or says another word of, joins nobody.
 */
export function verdictOf(
  { type }: Outcome,
  word: string,
): (Pick<DialResult, 'goesOn'> & { status?: DialOutcome }) | undefined {
  const result = word.trim().toUpperCase();
  if (type === 'ended' && result === '') return undefined;
  if (result === 'BUSY' || result === 'CONGESTION' || result === 'CHANUNAVAIL') return { status: result, goesOn: true };
  return result === 'CONTINUE' ? { goesOn: true } : {};
}
