import type { Outcome } from '../dialplan/applications/application.ts';
import type { DialResult } from '../dialplan/calls.ts';
import type { DialOutcome } from '../models/dial.ts';

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
