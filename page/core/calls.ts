import type { Call, CallChannel } from '../../src/models/call.ts';
import { causeText } from '../../src/telephony/causes.ts';
import { nobody, party } from './words.ts';

/** The short form of a call. */

/** The state that tells most of a call: that of the channel that is furthest. */
export const stateOf = (call: Call): string => {
  if (call.state === 'ended') return 'ended';
  const living = call.channels.filter(({ ended }) => ended === undefined);
  return (living.find(({ state }) => state === 'Up') ?? living[0] ?? call.channels[0])?.state ?? 'live';
};

/** Causes that are no failure: a hang-up, and none at all. */
const usual: ReadonlySet<number> = new Set([0, 16]);

/**
 * Why a call failed, in words: an application was not connected, or a channel has another cause than a hang-up.
 * Undefined if it did not fail.
 */
export function failureOf({ channels }: Call): string | undefined {
  const failed = channels.map(({ failure }) => failure).find((each) => each !== undefined);
  if (failed !== undefined) return failed;
  const cause = channels.map((channel) => channel.cause).find((each) => !usual.has(each));
  return cause === undefined ? undefined : `${causeText(cause)} (${cause})`;
}

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
