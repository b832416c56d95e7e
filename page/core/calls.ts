import type { Call, CallChannel } from '../../src/models/call.ts';
import { nobody, party } from './words.ts';

/** The short form of a call. */

/** The state that tells most of a call: that of the channel that is furthest. */
export const stateOf = (call: Call): string => {
  if (call.state === 'ended') return 'ended';
  const living = call.channels.filter(({ ended }) => ended === undefined);
  return (living.find(({ state }) => state === 'Up') ?? living[0] ?? call.channels[0])?.state ?? 'live';
};

/** The node of a call of a cluster: the mark of its id. Undefined for an id that a client chose. */
export const nodeOfCall = (id: string): string | undefined => /^([^~]+)~/.exec(id)?.[1];

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

/** The person or line at the far side of a channel. The caller id of a dialed one is what was shown to it, not who it is. */
function farSide(channel: CallChannel, called: ReadonlySet<string>): string {
  const { direction, caller, dialed = '', endpoint = '', name } = channel;
  const own = endpoint.slice(endpoint.indexOf('/') + 1);
  // A Local channel reaches no phone: its caller id is all that is known.
  if (direction === 'out' && !(name.startsWith('Local/') && party(caller) !== nobody)) {
    const target = dialed.includes('@') ? (dialed.split('@')[0] ?? '') : own || dialed;
    if (target !== '')
      return called.has(caller.number) && caller.number !== target ? `${target} (${caller.number})` : target;
  }
  const known = party(caller);
  return known === nobody ? endpoint || name : known;
}

/** Channels that nobody talks through: spies, media servers, and the two ends of a Local channel. */
const isHelper = ({ name }: CallChannel): boolean => /^(Snoop|UnicastRTP|AudioSocket|WebSocket|Local)\//.test(name);

const extensionOf = ({ extension }: CallChannel): string => extension.split('@')[0] ?? '';

/** Channels whose far sides take part: those that are left, else all; of the others those that were answered first. */
function takingPart(call: Call): CallChannel[] {
  const all = call.channels.filter((channel, place) => place === 0 || !isHelper(channel));
  const left = all.filter(({ ended }) => ended === undefined);
  if (call.state === 'ended' || left.length === 0) return all;
  const [first, ...others] = left;
  const up = others.filter(({ state }) => state === 'Up');
  return first ? [first, ...(up.length > 0 ? up : others)] : left;
}

/** Who calls, and who was reached: the first other party and how many more there are; else the called number. */
export function endsOf(call: Call): { from: string; to: string } {
  const numbers = new Set(call.channels.map(extensionOf));
  const called = call.channels[0] ? extensionOf(call.channels[0]) : '';
  const [from, ...others] = new Set(takingPart(call).map((channel) => farSide(channel, numbers)));
  if (from === undefined) return { from: nobody, to: nobody };
  const [to, ...more] = others;
  // Calls of the server have no called number.
  const reached = to ?? (called === '' || called === 's' ? nobody : called);
  return { from, to: more.length > 0 ? `${reached} and ${more.length} more` : reached };
}
