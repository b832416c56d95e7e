import { useMemo, useState } from 'preact/hooks';
import type { Call, CallPage } from '../../src/models/call.ts';
import type { RefusedCall } from '../../src/models/refused-call.ts';
import type { ServerInfo } from '../../src/models/server-info.ts';
import { badgeOf, endsOf, isBad, nodeOfCall, outcomeText } from '../core/calls.ts';
import { useCell } from '../core/cell.ts';
import { csvOf } from '../core/export.ts';
import { isRefused, type Listed, overview, refusalText, stuckCalls } from '../core/overview.ts';
import { to, useQuery } from '../core/route.ts';
import { merged, savedSearches, saveSearch, serverConditions, useStoredCalls } from '../core/stored.ts';
import { dateTime, dayTime, duration, plural } from '../core/words.ts';
import { Badge, Empty, Pill, useAsked } from '../parts/bits.tsx';
import { saveAs } from '../parts/call-buttons.tsx';
import { Windowed } from '../parts/windowed.tsx';

const states = ['all', 'live', 'ended', 'failed', 'stuck'] as const;
type Shown = (typeof states)[number];

const beganOf = (call: Listed): number => (isRefused(call) ? call.last : call.began);

/** Everything that a search looks at. */
const textOf = (call: Listed): string => (isRefused(call) ? textOfRefused(call) : textOfCall(call)).toLowerCase();

const textOfRefused = (call: RefusedCall): string =>
  [call.protocol_id, call.endpoint, call.from, call.to, call.context, call.source, refusalText(call)].join(' ');

const textOfCall = (call: Call): string =>
  [
    call.id,
    ...call.applications,
    call.outcome.result,
    call.outcome.reason,
    ...call.channels.flatMap(({ id, name, endpoint, caller, connected, extension }) => [
      id,
      name,
      endpoint ?? '',
      caller.name,
      caller.number,
      connected.number,
      extension,
    ]),
  ].join(' ');

const hasWords = (call: Listed, wanted: string): boolean => {
  const text = textOf(call);
  return wanted.split(/\s+/).every((word) => text.includes(word));
};

const isShown = (call: Listed, shown: Shown): boolean =>
  shown === 'all' || (isRefused(call) ? shown === 'ended' || shown === 'failed' : isCallShown(call, shown));

const isCallShown = (call: Call, shown: Shown): boolean =>
  shown === 'stuck' ? call.stuck.length > 0 : shown === 'failed' ? isBad(call) : call.state === shown;

function Row({ call, now, inCluster }: { call: Call; now: number; inCluster: boolean }) {
  const { from, to: called } = endsOf(call);
  const [waits] = call.stuck;
  const badge = badgeOf(call);
  const node = inCluster ? nodeOfCall(call.id) : undefined;
  return (
    <a class={`call-row ${waits ? 'is-stuck' : ''} ${call.state}`} href={to('calls', call.id)}>
      <span>
        <Pill state={badge.text} tone={badge.tone} />
      </span>
      <span class="ends">
        <b>{from}</b>
        <span class="arrow"> → </span>
        <b>{called}</b>
      </span>
      <span class={`about quiet ${isBad(call) ? 'bad' : ''}`}>
        {waits
          ? `waits for ${waits.waits_for}`
          : [
              node === undefined ? '' : `node ${node}`,
              call.applications.join(', '),
              call.outcome.reason === 'answered' ? '' : outcomeText(call),
            ]
              .filter((each) => each !== '')
              .join(' · ')}
      </span>
      <span class="number">
        {duration(call.state === 'live' ? Math.max(now, call.began) - call.began : call.duration_ms)}
      </span>
      <span class="number wide quiet">{dayTime(call.began, now)}</span>
    </a>
  );
}

/** How often the calls of other nodes are read, in ms. */
const nodesMs = 2_000;
const mostOfNodes = 1_000;

/** Live calls of the other nodes of a cluster. The live WebSocket has those of this node. */
function useCallsOfNodes(isWanted: boolean): { inCluster: boolean; calls: readonly Call[]; total: number } {
  const { value: server } = useAsked<ServerInfo>('/hookswitch/server');
  const own = server?.cluster;
  const path = own === undefined || !isWanted ? undefined : `/hookswitch/calls?state=live&limit=${mostOfNodes}`;
  const { value } = useAsked<CallPage>(path, nodesMs);
  return useMemo(() => {
    const others = path === undefined ? [] : (value?.calls ?? []).filter(({ id }) => nodeOfCall(id) !== own);
    return { inCluster: own !== undefined, calls: others, total: path === undefined ? 0 : (value?.total ?? 0) };
  }, [value, path, own]);
}

/** Calls that were refused alike before they had a channel: all that is known of them. */
function RefusedRow({ call, now }: { call: RefusedCall; now: number }) {
  const { endpoint, from, to: called, context, source, first, last, protocol_id: callId } = call;
  return (
    <div class="call-row ended refused" tabIndex={-1} title={`Call-ID ${callId}, first at ${dateTime(first)}`}>
      <span>
        <Pill state="refused" tone="bad" />
      </span>
      <span class="ends">
        <b>{from || endpoint}</b>
        <span class="arrow"> → </span>
        <b>{called}</b>
      </span>
      <span class="about quiet bad">
        {refusalText(call)} · {endpoint} from {source}, context {context}
      </span>
      <span class="number">–</span>
      <span class="number wide quiet">{dayTime(last, now)}</span>
    </div>
  );
}

/** Live and stuck calls first, then the newest. */
const inOrder = (one: Listed, other: Listed): number => {
  const rank = (call: Listed): number =>
    isRefused(call) ? 0 : call.stuck.length > 0 ? 2 : Number(call.state === 'live');
  return rank(other) - rank(one) || beganOf(other) - beganOf(one);
};

/** Saved searches: links, and what adds or forgets one. */
function SavedSearches({ name }: { name: string }) {
  const [saved, setSaved] = useState(savedSearches());
  const change = (wanted: string, hash: string | undefined): void => {
    saveSearch(wanted, hash);
    setSaved(savedSearches());
  };
  return (
    <fieldset class="saved" aria-label="Saved searches">
      {Object.entries(saved).map(([each, hash]) => (
        <span key={each}>
          <a class="chip" href={hash}>
            {each}
          </a>
          <button
            type="button"
            class="small"
            aria-label={`Forget the search ${each}`}
            onClick={() => change(each, undefined)}
          >
            ×
          </button>
        </span>
      ))}
      {name === '' || name in saved ? null : (
        <button type="button" class="small" onClick={() => change(name, location.hash)}>
          Save search
        </button>
      )}
    </fieldset>
  );
}

function Condition({ name, label, isNumber }: { name: string; label: string; isNumber: boolean }) {
  const [value, setValue] = useQuery(name);
  return (
    <label>
      {label}{' '}
      <input
        class="short"
        type="text"
        inputMode={isNumber ? 'numeric' : 'text'}
        value={value}
        onInput={({ currentTarget: { value: text } }) => setValue(isNumber ? text.replaceAll(/\D/g, '') : text)}
      />
    </label>
  );
}

/** The time that stored calls are searched in, and how far the search came. */
function StoredRange({ found, problem, onMore }: ReturnType<typeof useStoredCalls> & { onMore: () => void }) {
  const [from, setFrom] = useQuery('from');
  const [until, setUntil] = useQuery('to');
  const field = (label: string, value: string, set: (next: string) => void) => (
    <label>
      {label} <input type="datetime-local" value={value} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
  return (
    <div class="filters stored">
      {field('From', from, setFrom)}
      {field('To', until, setUntil)}
      {Object.entries(serverConditions).map(([name, { label, isNumber }]) => (
        <Condition key={name} name={name} label={label} isNumber={isNumber === true} />
      ))}
      {problem === undefined ? null : <span class="bad">{problem}</span>}
      {found && found.calls.length < found.total ? (
        <button type="button" class="small" onClick={onMore}>
          Show more of {found.total}
        </button>
      ) : null}
      {found?.unsearched_before === undefined ? null : (
        <span class="quiet">
          Calls before {dateTime(found.unsearched_before)} were not searched: set “To” to search them.
        </span>
      )}
    </div>
  );
}

/** Stored calls in one answer at first, and how many more are shown on demand. The server gives 1,000 at most. */
const storedAtFirst = 200;
const mostStored = 1_000;

/** The conditions for the server that are set. */
function useConditions(): Readonly<Record<string, string>> {
  const all = Object.keys(serverConditions).map((name) => [name, useQuery(name)[0]] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== ''));
}

/** The search as the address has it. Stored calls are part of it on demand. */
function useSearch(words: string, shown: Shown) {
  const [stored, setStored] = useQuery('stored');
  const [from] = useQuery('from');
  const [until] = useQuery('to');
  const [count, setCount] = useState(storedAtFirst);
  const isStored = stored === '1' && shown !== 'live' && shown !== 'stuck';
  const more = useConditions();
  const search = isStored ? { words, from, to: until, isFailed: shown === 'failed', count, more } : undefined;
  const result = useStoredCalls(search);
  return {
    ...{ isOn: stored === '1', isStored, result },
    /** Whether only the server knows which calls match. */
    isAsked: isStored && Object.keys(more).length > 0,
    turn: () => setStored(stored === '1' ? '' : '1'),
    more: () => setCount(Math.min(mostStored, count + storedAtFirst)),
    within: (call: Listed) =>
      !isStored ||
      ((from === '' || beganOf(call) >= new Date(from).getTime()) &&
        (until === '' || beganOf(call) <= new Date(until).getTime())),
  };
}

export function Calls() {
  const { calls, at, stuck, figures, refused } = useCell(overview);
  const none =
    figures?.recording === false
      ? 'The recorder is off, so calls are not listed.'
      : 'No calls yet. New calls appear here.';
  const nothing = calls.size + refused.length > 0 ? 'No call matches the search.' : none;
  const [words, setWords] = useQuery('find');
  const [stateText, setShown] = useQuery('state', 'all');
  const shown = states.find((each) => each === stateText) ?? 'all';
  const wanted = words.trim().toLowerCase();
  const { isOn, isStored, isAsked, result, turn, more, within } = useSearch(words, shown);
  const { found } = result;
  const elsewhere = useCallsOfNodes(!isAsked && shown !== 'ended' && shown !== 'failed');
  const rows = useMemo(
    () =>
      (isAsked
        ? (found?.calls ?? [])
        : [...merged(merged([...calls.values()], found?.calls ?? []), elsewhere.calls), ...refused]
      )
        .filter((call) => isShown(call, shown) && within(call) && (wanted === '' || hasWords(call, wanted)))
        .sort(inOrder),
    [calls, refused, shown, wanted, found, isStored, isAsked, elsewhere],
  );
  const live = useMemo(() => [...calls.values()].filter(({ state }) => state === 'live').length, [calls]);
  const liveInAll = figures?.live_calls ?? 0;
  const leftOut = elsewhere.total - mostOfNodes;
  return (
    <div class="fill">
      <h1>Calls</h1>
      <div class="filters">
        <input
          type="search"
          class="search"
          placeholder="Number, name, application, channel …"
          aria-label="Search calls"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        {states.map((state) => (
          <button
            type="button"
            class="chip"
            key={state}
            aria-pressed={shown === state}
            aria-label={state}
            aria-describedby={state === 'stuck' ? 'stuck-listed' : undefined}
            onClick={() => setShown(state)}
          >
            {state}
            {state === 'stuck' ? <Badge id="stuck-listed" count={stuckCalls(stuck)} what="stuck" /> : null}
          </button>
        ))}
        <button
          type="button"
          class="chip"
          aria-pressed={isOn}
          title="Also search the calls that the server has stored in the last days"
          onClick={turn}
        >
          Stored calls
        </button>
        <button
          type="button"
          class="small"
          onClick={() => saveAs(new Blob([csvOf(rows)], { type: 'text/csv' }), 'calls.csv')}
        >
          CSV
        </button>
        <button
          type="button"
          class="small"
          onClick={() => saveAs(new Blob([JSON.stringify(rows, null, 2)], { type: 'application/json' }), 'calls.json')}
        >
          JSON
        </button>
        <span class="quiet count">
          {plural(rows.length, 'call')}
          {!isStored && figures && figures.kept_calls > calls.size
            ? `, searched ${calls.size} of ${figures.kept_calls}`
            : ''}
        </span>
        {liveInAll > live ? (
          <span
            class="sample"
            title="Too many calls change at once. Failures and calls that are listed are always up to date."
          >
            Sample: {live} of {liveInAll} live calls
          </span>
        ) : null}
        {leftOut > 0 ? <span class="sample">Further live calls of the cluster: {leftOut}</span> : null}
        <SavedSearches name={words.trim()} />
      </div>
      {isStored ? <StoredRange {...result} onMore={more} /> : null}
      {rows.length === 0 ? <Empty>{nothing}</Empty> : null}
      <Windowed
        label="Calls"
        class="calls"
        rows={rows}
        rowHeight={48}
        row={(call) =>
          isRefused(call) ? (
            <RefusedRow call={call} now={at} key={`${call.status} ${call.endpoint} ${call.source} ${call.reason}`} />
          ) : (
            <Row call={call} now={at} inCluster={elsewhere.inCluster} key={call.id} />
          )
        }
      />
    </div>
  );
}
