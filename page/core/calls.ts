import type { Call, CallChannel } from '../../src/models/call.ts';
import { nobody, party } from './words.ts';

/** The short form of a call. */

/** The state that tells most of a call: that of the channel that is furthest. */
export const stateOf = (call: Call): string => {
  if (call.state === 'ended') return 'ended';
  const living = call.channels.filter(({ ended }) => ended === undefined);
  return (living.find(({ state }) => state === 'Up') ?? living[0] ?? call.channels[0])?.state ?? 'live';
};

/** Whether its outcome is one that somebody has to look at. */
export const isBad = ({ outcome: { result } }: Pick<Call, 'outcome'>): boolean =>
  result === 'failed' || result === 'refused';

/** Why a call failed or was refused, in words. Undefined if it did not fail. */
export const failureOf = (call: Call): string | undefined => (isBad(call) ? call.outcome.reason : undefined);

/** An outcome in words: why, and by whom. */
export const outcomeText = ({ outcome: { result, reason, by } }: Pick<Call, 'outcome'>): string =>
  result === 'pending' ? '' : `${reason}${by === undefined ? '' : `, by the ${byWords[by]}`}`;

const byWords: Readonly<Record<NonNullable<Call['outcome']['by']>, string>> = {
  ...{ caller: 'caller', callee: 'called party', application: 'application', dialplan: 'dialplan', server: 'server' },
  ...{ timeout: 'server after a timeout', fault: 'server after an internal error' },
};

/** What a list shows of a call: its state while it is live, then its outcome. */
export const badgeOf = (call: Call): { text: string; tone: string | undefined } => {
  if (call.stuck.length > 0) return { text: 'stuck', tone: 'bad' };
  if (call.state === 'live') return { text: stateOf(call), tone: undefined };
  const { result } = call.outcome;
  return { text: result === 'pending' ? 'ended' : result, tone: outcomeTones[result] };
};

const outcomeTones: Readonly<Record<Call['outcome']['result'], string>> = {
  ...{ pending: 'plain', answered: 'plain', abandoned: 'lit', failed: 'bad', refused: 'bad' },
};

/** The caller and the reached party: the second party, with the number of further ones; else the called number. */
export function endsOf(call: Call): { from: string; to: string } {
  const [first, second] = call.channels;
  if (!first) return { from: nobody, to: nobody };
  const isOther = ({ caller }: CallChannel): boolean =>
    caller.number !== '' && caller.number !== first.caller.number && caller.number !== second?.caller.number;
  const other = second && second.caller.number !== '' && second.caller.number !== first.caller.number;
  const more = new Set(
    call.channels
      .filter((channel) => isOther(channel) && (call.state === 'ended' || channel.ended === undefined))
      .map(({ caller }) => caller.number),
  ).size;
  const from = party(first.caller);
  // Our own outbound calls and snoops have no called number.
  const called = from === nobody ? (first.endpoint ?? first.name) : first.extension.split('@')[0];
  const reached = other ? party(second.caller) : called || nobody;
  return { from, to: other && more > 0 ? `${reached} and ${more} more` : reached };
}
