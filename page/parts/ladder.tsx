import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { type Lane, type Line, type Reading, type Row, rowsOf } from '../core/entries.ts';
import { members, toggled, useLanes } from '../core/lanes.ts';
import { useQuery } from '../core/route.ts';
import { offset, plural } from '../core/words.ts';
import { Json } from './bits.tsx';
import { Windowed } from './windowed.tsx';

/** Everything recorded of a call: a lane for each phone, channel, bridge and application, and a row for each entry. */

const kinds = ['sip', 'step', 'request', 'event', 'media'] as const;
type Kind = (typeof kinds)[number];
/** Measurements come every few seconds and are drawn as curves: they would hide other entries. */
const atFirst = 'sip,step,request,event';
const kindNames: Readonly<Record<Kind, string>> = {
  ...{ sip: 'SIP', step: 'Charts', request: 'Requests', event: 'Events', media: 'Media' },
};
/** Width of a lane, in px: on a telephone the words need the room. */
const laneWidthNow = (): number => (innerWidth <= 760 ? 8 : 16);
const rowHeight = 30;

/** The lanes of a row as a picture: an arrow between two, or a dot on one. */
function Rails({ lanes, line }: { lanes: readonly Lane[]; line: Line }) {
  const laneWidth = laneWidthNow();
  const at = (key: string): number =>
    Math.max(
      0,
      lanes.findIndex((lane) => lane.key === key),
    ) *
      laneWidth +
    laneWidth / 2;
  const [from, to] = [at(line.from), at(line.to)];
  const middle = rowHeight / 2;
  const way = Math.sign(to - from);
  return (
    <svg class="rails" width={lanes.length * laneWidth} height={rowHeight} aria-hidden="true">
      {lanes.map((lane, index) => (
        <line
          key={lane.key}
          class={`rail ${lane.kind}`}
          x1={index * laneWidth + laneWidth / 2}
          x2={index * laneWidth + laneWidth / 2}
          y1={0}
          y2={rowHeight}
        />
      ))}
      {way === 0 ? (
        <circle class="mark" cx={from} cy={middle} r={4} />
      ) : (
        <>
          <line class="mark" x1={from} x2={to - 4 * way} y1={middle} y2={middle} />
          <path class="mark" d={`M${to} ${middle}l${-6 * way} -4v8z`} />
        </>
      )}
    </svg>
  );
}

function Rung({
  row,
  lanes,
  began,
  isChosen,
  onChoose,
  onMoment,
}: {
  row: Row;
  lanes: readonly Lane[];
  began: number;
  isChosen: boolean;
  onChoose(): void;
  onMoment(): void;
}) {
  const { entry, line, again, folded } = row;
  return (
    <button
      type="button"
      class={`rung ${line.tone} ${isChosen ? 'chosen' : ''}`}
      aria-expanded={isChosen}
      onClick={onChoose}
      onDblClick={onMoment}
      title={[line.text, line.detail, ...folded].join('\n')}
    >
      <span class="ladder-time">{offset(entry.at - began)}</span>
      <Rails lanes={lanes} line={line} />
      <span class="rung-words">
        <span class="rung-text">{line.text}</span>
        {again > 0 ? <span class="pill lit">sent {again + 1} times</span> : null}
        {folded.length > 0 ? <span class="pill">and {plural(folded.length, 'step')}</span> : null}
        <span class="rung-detail">{line.detail}</span>
      </span>
    </button>
  );
}

function Detail({
  entry,
  line,
  onMoment,
  onClose,
}: {
  entry: TimelineEntry;
  line: Line | undefined;
  onMoment(): void;
  onClose(): void;
}) {
  return (
    <section class="ladder-detail" aria-label="The chosen entry">
      <div class="row">
        <b>{line?.text}</b>
        <button type="button" class="small" onClick={onMoment}>
          Go to this moment
        </button>
        <button type="button" class="small" onClick={onClose}>
          Close
        </button>
      </div>
      {entry.kind === 'sip' ? (
        <>
          <pre class="json">{`${entry.first_line}\n${entry.headers}${entry.body ? `\n\n${entry.body}` : ''}`}</pre>
          {entry.body === undefined && entry.body_length > 0 ? (
            <p class="quiet">
              The body ({entry.body_length} octets) is not recorded. To record SDP without its keys, set{' '}
              <code>recorder.sip_bodies</code>.
            </p>
          ) : null}
        </>
      ) : (
        <Json value={entry} />
      )}
    </section>
  );
}

/** The filters, all of them in the address. */
function useFilters() {
  const [kindText, setKinds] = useQuery('kinds', atFirst);
  const [lanes, toggleLane] = useLanes();
  const [words, setWords] = useQuery('find');
  const [all, setAll] = useQuery('all');
  const shown = useMemo(() => members(kindText) as ReadonlySet<Kind>, [kindText]);
  return { shown, lanes, words, unfolded: all !== '', setKinds, toggleLane, setWords, setAll };
}

type LadderProps = {
  timeline: readonly TimelineEntry[];
  reading: Reading;
  /** How many entries there were at the moment that is shown. */
  count: number;
  /** When the call began, in ms since the epoch. */
  began: number;
  /** Goes to the moment of an entry. */
  onMoment(count: number): void;
};

function Filters({ lanes, filters }: { lanes: readonly Lane[]; filters: ReturnType<typeof useFilters> }) {
  const { shown, words, unfolded, setKinds, toggleLane, setWords, setAll } = filters;
  return (
    <>
      <div class="filters">
        {kinds.map((kind) => (
          <button
            type="button"
            class="chip"
            aria-pressed={shown.has(kind)}
            onClick={() => setKinds(toggled(shown, kind) || 'none')}
            key={kind}
          >
            {kindNames[kind]}
          </button>
        ))}
        <button type="button" class="chip" aria-pressed={unfolded} onClick={() => setAll(unfolded ? '' : '1')}>
          Unfolded
        </button>
        <input
          type="search"
          placeholder="Filter the ladder"
          aria-label="Filter the ladder"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </div>
      <div class="filters lane-chips">
        {lanes.map(({ key, kind, name }) => (
          <button
            type="button"
            class={`chip lane ${kind}`}
            key={key}
            aria-pressed={filters.lanes.has(key)}
            aria-label={`Only ${kind} ${name}`}
            onClick={() => toggleLane(key)}
          >
            {name}
          </button>
        ))}
      </div>
    </>
  );
}

export function Ladder({ timeline, reading, count, began, onMoment }: LadderProps) {
  const filters = useFilters();
  const { shown, lanes: only, words, unfolded } = filters;
  const [chosen, setChosen] = useState<number>();
  const rows = useMemo(
    () => rowsOf(timeline, reading, count, { kinds: shown, lanes: only, words, unfolded }),
    [timeline, reading, count, shown, only, words, unfolded],
  );
  const lanes = useMemo(
    () =>
      only.size === 0
        ? reading.lanes
        : reading.lanes.filter(({ key }) => rows.some(({ line }) => line.from === key || line.to === key)),
    [reading, only, rows],
  );
  /** The chosen entry gets the focus back. */
  const list = useRef<HTMLDivElement>(null);
  const close = () => {
    const row = list.current?.querySelector<HTMLElement>('.rung.chosen');
    setChosen(undefined);
    (row ?? list.current?.querySelector<HTMLElement>('.rung[tabindex="0"]'))?.focus();
  };
  const closing = useRef(close);
  closing.current = close;
  const isOpen = chosen !== undefined;
  useEffect(() => {
    if (!isOpen) return undefined;
    const heard = ({ key }: KeyboardEvent) => key === 'Escape' && closing.current();
    addEventListener('keydown', heard);
    return () => removeEventListener('keydown', heard);
  }, [isOpen]);
  const detail = chosen === undefined ? undefined : timeline[chosen];
  return (
    <div class="ladder" ref={list}>
      <Filters lanes={reading.lanes} filters={filters} />
      {rows.length === 0 ? <p class="empty">No entry matches the filters.</p> : null}
      <Windowed
        label="All entries of the call"
        class="ladder-rows"
        rows={rows}
        rowHeight={rowHeight}
        follow={rows.length - 1}
        row={(row) => (
          <Rung
            key={row.entry.seq}
            row={row}
            lanes={lanes}
            began={began}
            isChosen={row.index === chosen}
            onChoose={() => setChosen(row.index === chosen ? undefined : row.index)}
            onMoment={() => onMoment(row.index + 1)}
          />
        )}
      />
      {detail && chosen !== undefined ? (
        <Detail entry={detail} line={reading.lines[chosen]} onMoment={() => onMoment(chosen + 1)} onClose={close} />
      ) : null}
    </div>
  );
}
