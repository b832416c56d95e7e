import type { Outcome } from '../dialplan/applications/application.ts';
import type { DialResult } from '../dialplan/calls.ts';
import type { DialOutcome } from '../models/dial.ts';

/**
 * The outcome that a called party's subroutine leaves in GOSUB_RESULT; undefined if both are to be connected. An
 * unfinished subroutine or an unknown word connects nobody.
 */
export function declineOf(
  { type }: Outcome,
  word: string,
): (Pick<DialResult, 'goesOn'> & { status?: DialOutcome }) | undefined {
  const result = word.trim().toUpperCase();
  if (type === 'ended' && result === '') return undefined;
  if (result === 'BUSY' || result === 'CONGESTION' || result === 'CHANUNAVAIL') return { status: result, goesOn: true };
  return result === 'CONTINUE' ? { goesOn: true } : {};
}
