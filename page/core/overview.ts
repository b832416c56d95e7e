import type { Call, WaitingFor } from '../../src/models/call.ts';
import type { LiveApplication, LiveFigures, LiveOverview } from '../../src/models/live.ts';
import type { RefusedCall } from '../../src/models/refused-call.ts';
import { failureOf } from './calls.ts';
import { cell } from './cell.ts';
import { type LiveState, useLive } from './live.ts';
import { may } from './session.ts';

/** All calls as they are now, kept up to date while the page is open. */
export type OverviewState = {
  at: number;
  /** By id. */
  calls: ReadonlyMap<string, Call>;
  figures: LiveFigures | undefined;
  applications: readonly LiveApplication[];
  stuck: readonly WaitingFor[];
  /** Further stuck objects, which are only counted. */
  stuckLeftOut: number;
  /** Calls that were refused before they had a channel. */
  refused: readonly RefusedCall[];
  /** Figures of the last five minutes, oldest first. */
  history: readonly Moment[];
};

/** The figures of one moment. */
export type Moment = {
  at: number;
  live: number;
  recorded: number;
  /** Events made for all applications so far, and for each by its name. */
  events: number;
  made: ReadonlyMap<string, number>;
  /** Calls that began so far. */
  begun: number;
};

const historyMs = 300_000;
/** Ended calls that are kept in the page. */
const mostCalls = 5_000;

const empty: OverviewState = {
  ...{
    at: 0,
    calls: new Map(),
    figures: undefined,
    applications: [],
    stuck: [],
    stuckLeftOut: 0,
    refused: [],
    history: [],
  },
};
export const overview = cell<OverviewState>(empty);

/** How many calls are stuck; what else waits belongs to none. */
export const stuckCalls = (stuck: readonly WaitingFor[]): number =>
  new Set(stuck.flatMap(({ call }) => (call === undefined ? [] : [call]))).size;

/** Sets what each call waits for: a call becomes stuck without a change of its own. */
function tellStuck(calls: Map<string, Call>, before: readonly WaitingFor[], now: readonly WaitingFor[]): void {
  for (const { call: id } of [...before, ...now]) {
    const call = id === undefined ? undefined : calls.get(id);
    if (call) calls.set(call.id, { ...call, stuck: now.filter((waits) => waits.call === id) });
  }
}

/** Applies a message. */
export function takeOverview(message: LiveOverview): void {
  const { at, calls: changed, removed, figures, applications, stuck, refused = [] } = message;
  const stuckLeftOut = message.stuck_left_out ?? 0;
  const before = overview.get();
  const calls = new Map(before.calls);
  for (const id of removed) calls.delete(id);
  for (const call of changed) calls.set(call.id, call);
  for (const [id, call] of calls) {
    if (calls.size <= mostCalls) break;
    if (call.state === 'ended') calls.delete(id);
  }
  tellStuck(calls, before.stuck, stuck);
  const events = applications.reduce((sum, { events: made }) => sum + made, 0);
  const made = new Map(applications.map((each) => [each.name, each.events]));
  const moment: Moment = {
    at,
    live: figures.live_calls,
    recorded: figures.recorded,
    events,
    made,
    begun: figures.begun_calls,
  };
  const last = before.history.at(-1);
  // One a second is enough for a curve.
  const kept = before.history.filter((each) => each.at > at - historyMs);
  const history = last !== undefined && at - last.at < 1000 ? kept : [...kept, moment];
  overview.set({ at, calls, figures, applications, stuck, stuckLeftOut, refused, history });
}

/** Keeps {@link overview} up to date as long as the component is there. */
export const useOverview = (): LiveState =>
  useLive<LiveOverview>(may('live:watch') ? '/hookswitch/live' : undefined, takeOverview);

/** How fast something grew over the last seconds of the history, a second. */
export function rateOf(history: readonly Moment[], pick: (moment: Moment) => number, overMs = 10_000): number {
  const last = history.at(-1);
  if (!last) return 0;
  const first = history.find(({ at }) => at >= last.at - overMs) ?? last;
  const seconds = (last.at - first.at) / 1000;
  return seconds <= 0 ? 0 : Math.max(0, (pick(last) - pick(first)) / seconds);
}

/** The growth from moment to moment, a second. */
export const growth = (history: readonly Moment[], pick: (moment: Moment) => number): (number | null)[] =>
  history.map((moment, index) => {
    const before = history[index - 1];
    if (!before || moment.at <= before.at) return null;
    return Math.max(0, Math.round(((pick(moment) - pick(before)) / (moment.at - before.at)) * 10_000) / 10);
  });

/** A call that failed, or calls that were refused alike before they had a channel. */
type Failure = { at: number; reason: string } & ({ call: Call } | { refused: RefusedCall });

/** The last eight failures, newest first. */
export const failures = (calls: Iterable<Call>, refused: readonly RefusedCall[]): Failure[] =>
  [
    ...[...calls].flatMap((call): Failure[] => {
      const reason = failureOf(call);
      return call.state === 'ended' && reason !== undefined ? [{ call, at: call.ended ?? call.began, reason }] : [];
    }),
    ...refused.map((each): Failure => ({ refused: each, at: each.last, reason: refusalText(each) })),
  ]
    .sort((one, other) => other.at - one.at)
    .slice(0, 8);

/** A call, or calls that were refused alike before they had a channel. */
export type Listed = Call | RefusedCall;
export const isRefused = (call: Listed): call is RefusedCall => 'protocol_id' in call;

/** Why calls were refused, and how many. */
export const refusalText = ({ count, status, reason }: RefusedCall): string =>
  `refused with ${status}: ${reason}${count > 1 ? ` (${count} calls)` : ''}`;
