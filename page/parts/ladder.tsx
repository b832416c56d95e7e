import { useMemo, useRef, useState } from 'preact/hooks';
import { eventName } from '../../src/models/event-name.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { mediaText } from '../core/measures.ts';
import { offset, stateNames } from '../core/words.ts';
import { Json } from './bits.tsx';
import { Windowed } from './windowed.tsx';

/** Everything recorded of a call, between phone, SIP, channel and application. */

const lanes = ['Phone', 'SIP', 'Channel', 'Application'] as const;
export const kinds = ['sip', 'step', 'request', 'event', 'media'] as const;
type Kind = (typeof kinds)[number];
/** Measurements come every few seconds and are drawn as curves: they would hide other entries. */
const atFirst: ReadonlySet<Kind> = new Set(kinds.filter((kind) => kind !== 'media'));
const kindNames: Readonly<Record<Kind, string>> = {
  sip: 'SIP',
  step: 'Charts',
  request: 'Requests',
  event: 'Events',
  media: 'Media',
};

/** Position of an entry: between two lanes, or on one. */
type Shape = { from: number; to: number; text: string; detail: string; tone: string };

const stateText = (value: unknown): string =>
  stateNames(value)
    .map((name) => name.split('.').at(-1))
    .join(' · ');

/** `/channels/…/answer` is `answer`; a path without more than an object is that of its kind. */
function shortPath(path: string): string {
  const [, , kind = '', ...rest] = path.split('/');
  return rest.length > 1 ? (rest.at(-1) ?? kind) : kind;
}

/** An entry as a line of the ladder. */
export function shapeOf(entry: TimelineEntry): Shape {
  switch (entry.kind) {
    case 'sip': {
      const inwards = entry.direction === 'in';
      const line = entry.first_line;
      const text = line.startsWith('SIP/2.0 ') ? line.slice('SIP/2.0 '.length) : (line.split(' ')[0] ?? line);
      return { from: inwards ? 0 : 1, to: inwards ? 1 : 0, text, detail: entry.remote, tone: 'sip' };
    }
    case 'step': {
      const after = stateText(entry.to);
      const before = entry.from === undefined ? '' : stateText(entry.from);
      const moved = before !== after ? (before === '' ? after : `${before} → ${after}`) : after;
      const digit =
        entry.event.type === 'leg.digit' ? ` ${String((entry.event as { digit?: unknown }).digit ?? '')}` : '';
      return {
        from: 2,
        to: 2,
        text: `${eventName(String(entry.event.type))}${digit}`,
        detail: `${entry.chart}: ${moved}`,
        tone: before !== after ? 'step moved' : 'step',
      };
    }
    case 'request':
      return {
        from: 3,
        to: 2,
        text: `${entry.method} ${shortPath(entry.path)}`,
        detail: entry.status === 0 ? '…' : String(entry.status),
        tone: entry.status >= 400 ? 'request bad' : 'request',
      };
    case 'event': {
      const digit = (entry.event as { digit?: unknown }).digit;
      return {
        from: 2,
        to: 3,
        text: `${entry.type}${typeof digit === 'string' ? ` ${digit}` : ''}`,
        detail: entry.missed ? 'missed' : entry.application,
        tone: entry.missed ? 'event bad' : 'event',
      };
    }
    case 'media': {
      const { codec = '', video } = entry.report;
      return {
        from: 1,
        to: 1,
        text: `${video === undefined ? 'audio' : `video ${String(video)}`} ${String(codec)}`.trim(),
        detail: mediaText(entry.report),
        tone: 'media',
      };
    }
  }
}

/** The lines that a filter lets through, with their place in the whole. */
const filtered = (timeline: readonly TimelineEntry[], count: number, shown: ReadonlySet<Kind>, words: string) => {
  const wanted = words.trim().toLowerCase();
  const found: { entry: TimelineEntry; shape: Shape; index: number }[] = [];
  for (let index = 0; index < count; index++) {
    const entry = timeline[index];
    if (!entry || !shown.has(entry.kind)) continue;
    const shape = shapeOf(entry);
    if (wanted !== '' && !`${shape.text} ${shape.detail}`.toLowerCase().includes(wanted)) continue;
    found.push({ entry, shape, index });
  }
  return found;
};

type LadderProps = {
  timeline: readonly TimelineEntry[];
  /** How many entries there were at the moment that is shown. */
  count: number;
  /** When the call began, in ms since the epoch. */
  began: number;
  /** Goes to the moment of an entry. */
  onMoment(count: number): void;
};

export function Ladder({ timeline, count, began, onMoment }: LadderProps) {
  const [shown, setShown] = useState<ReadonlySet<Kind>>(atFirst);
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState<number>();
  const rows = useMemo(() => filtered(timeline, count, shown, words), [timeline, count, shown, words]);
  const toggle = (kind: Kind) => {
    const next = new Set(shown);
    if (!next.delete(kind)) next.add(kind);
    setShown(next);
  };
  const choose = (index: number) => {
    setChosen(index === chosen ? undefined : index);
  };
  /** The chosen entry gets the focus back. */
  const list = useRef<HTMLDivElement>(null);
  const close = () => {
    const row = list.current?.querySelector<HTMLElement>('.rung.chosen');
    setChosen(undefined);
    if (row) row.focus();
    else list.current?.querySelector<HTMLElement>('.rung[tabindex="0"]')?.focus();
  };
  const detail = chosen === undefined ? undefined : timeline[chosen];
  return (
    <div class="ladder" ref={list}>
      <div class="filters">
        {kinds.map((kind) => (
          <button type="button" class="chip" aria-pressed={shown.has(kind)} onClick={() => toggle(kind)} key={kind}>
            {kindNames[kind]}
          </button>
        ))}
        <input
          type="search"
          placeholder="Filter the ladder"
          aria-label="Filter the ladder"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </div>
      <div class="ladder-head" aria-hidden="true">
        <span class="ladder-time">s</span>
        {lanes.map((lane) => (
          <span key={lane}>{lane}</span>
        ))}
      </div>
      <Windowed
        label="All entries of the call"
        class="ladder-rows"
        rows={rows}
        rowHeight={40}
        follow={rows.length - 1}
        row={({ entry, shape, index }) => {
          const { from, to, text, detail: more, tone } = shape;
          const left = Math.min(from, to);
          const direction = from === to ? 'on' : from < to ? 'right' : 'left';
          return (
            <button
              type="button"
              class={`rung ${tone} ${index === chosen ? 'chosen' : ''}`}
              aria-expanded={index === chosen}
              key={entry.seq}
              onClick={() => choose(index)}
              onDblClick={() => onMoment(index + 1)}
              title={`${text}\n${more}`}
            >
              <span class="ladder-time">{offset(entry.at - began)}</span>
              <span class={`reach ${direction} lane-${left} span-${Math.abs(from - to)}`}>
                <span class="rung-text">{text}</span>
                <span class="rung-detail">{more}</span>
              </span>
            </button>
          );
        }}
      />
      {detail ? (
        <section class="ladder-detail" aria-label="The chosen entry">
          <div class="row">
            <b>{shapeOf(detail).text}</b>
            <button type="button" class="small" onClick={() => onMoment((chosen ?? 0) + 1)}>
              Go to this moment
            </button>
            <button type="button" class="small" onClick={close}>
              Close
            </button>
          </div>
          {detail.kind === 'sip' ? (
            <pre class="json">{`${detail.first_line}\n${detail.headers}${detail.body ? `\n\n${detail.body}` : ''}`}</pre>
          ) : (
            <Json value={detail} />
          )}
        </section>
      ) : null}
    </div>
  );
}
