import type { Call, CallChannel } from '../../src/models/call.ts';
import { causeText } from '../../src/telephony/causes.ts';
import { nobody, party } from './words.ts';

/** What is told of a call in a line. */

/** The state that tells most of a call: that of the channel that is furthest. */
export const stateOf = (call: Call): string => {
  if (call.state === 'ended') return 'ended';
  const living = call.channels.filter(({ ended }) => ended === undefined);
  return (living.find(({ state }) => state === 'Up') ?? living[0] ?? call.channels[0])?.state ?? 'live';
};

/** Causes that are no failure: a hang-up, and none at all. */
const usual: ReadonlySet<number> = new Set([0, 16]);

/**
 * Why a call failed, in words: an application of it was not connected, or a channel has another cause than a hang-up, which
 * is told with its number. Undefined if it did not fail.
 */
export function failureOf({ channels }: Call): string | undefined {
  const failed = channels.map(({ failure }) => failure).find((each) => each !== undefined);
  if (failed !== undefined) return failed;
  const cause = channels.map((channel) => channel.cause).find((each) => !usual.has(each));
  return cause === undefined ? undefined : `${causeText(cause)} (${cause})`;
}

/**
 * Whom the call is from, and whom it reached: the second party where it is another, and how many more there are (or were, when
 * it has ended); else the number that was called.
 */
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
  // Whom we have called ourselves, and what listens, has no number that was called.
  const called = from === nobody ? (first.endpoint ?? first.name) : first.extension.split('@')[0];
  const reached = other ? party(second.caller) : called || nobody;
  return { from, to: other && more > 0 ? `${reached} and ${more} more` : reached };
}
