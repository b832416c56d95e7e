import { useMemo } from 'preact/hooks';
import type { Call } from '../../src/models/call.ts';
import { badgeOf, endsOf, isBad, outcomeText } from '../core/calls.ts';
import { useCell } from '../core/cell.ts';
import { csvOf } from '../core/export.ts';
import { overview, stuckCalls } from '../core/overview.ts';
import { to, useQuery } from '../core/route.ts';
import { clockTime, duration, plural } from '../core/words.ts';
import { Badge, Empty, Pill } from '../parts/bits.tsx';
import { saveAs } from '../parts/call-buttons.tsx';
import { Windowed } from '../parts/windowed.tsx';

const states = ['all', 'live', 'ended', 'failed', 'stuck'] as const;
type Shown = (typeof states)[number];

/** Everything that a search looks at. */
const textOf = (call: Call): string =>
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
  ]
    .join(' ')
    .toLowerCase();

const isShown = (call: Call, shown: Shown): boolean =>
  shown === 'all' ||
  (shown === 'stuck' ? call.stuck.length > 0 : shown === 'failed' ? isBad(call) : call.state === shown);

function Row({ call, now }: { call: Call; now: number }) {
  const { from, to: called } = endsOf(call);
  const [waits] = call.stuck;
  const badge = badgeOf(call);
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
          : [call.applications.join(', '), call.outcome.reason === 'answered' ? '' : outcomeText(call)]
              .filter((each) => each !== '')
              .join(' · ')}
      </span>
      <span class="number">
        {duration(call.state === 'live' ? Math.max(now, call.began) - call.began : call.duration_ms)}
      </span>
      <span class="number wide quiet">{clockTime(call.began)}</span>
    </a>
  );
}

export function Calls() {
  const { calls, at, stuck, figures } = useCell(overview);
  const none =
    figures?.recording === false
      ? 'The recorder is off, so calls are not listed.'
      : 'No calls yet. New calls appear here.';
  const nothing = calls.size > 0 ? 'No call matches the search.' : none;
  const [words, setWords] = useQuery('find');
  const [stateText, setShown] = useQuery('state', 'all');
  const shown = states.find((each) => each === stateText) ?? 'all';
  const wanted = words.trim().toLowerCase();
  const rows = useMemo(
    () =>
      [...calls.values()]
        .filter((call) => isShown(call, shown) && (wanted === '' || textOf(call).includes(wanted)))
        .sort(
          (one, other) =>
            Number(other.stuck.length > 0) - Number(one.stuck.length > 0) ||
            Number(other.state === 'live') - Number(one.state === 'live') ||
            other.began - one.began,
        ),
    [calls, shown, wanted],
  );
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
          {figures && figures.kept_calls > calls.size ? `, searched ${calls.size} of ${figures.kept_calls}` : ''}
        </span>
      </div>
      {rows.length === 0 ? <Empty>{nothing}</Empty> : null}
      <Windowed
        label="Calls"
        class="calls"
        rows={rows}
        rowHeight={48}
        row={(call) => <Row call={call} now={at} key={call.id} />}
      />
    </div>
  );
}
