import { useMemo } from 'preact/hooks';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import type { Reading } from '../core/entries.ts';
import { useLanes } from '../core/lanes.ts';
import { useQuery } from '../core/route.ts';
import { rangeOf, rangeText, spansOf } from '../core/spans.ts';
import { offset } from '../core/words.ts';

/** A true time axis: for each object the states that it was in, as long as they lasted. */

/** How each state is coloured. */
const tones: Readonly<Record<string, string>> = {
  ...{
    up: 'good',
    talking: 'good',
    playing: 'good',
    recording: 'good',
    ring: 'lit',
    ringing: 'lit',
    dialing: 'lit',
    aboutToDial: 'lit',
  },
  ...{ failed: 'bad', busy: 'bad', lingering: 'bad', hangingUp: 'plain', 'on hold': 'past', paused: 'past' },
};

type SpansProps = {
  timeline: readonly TimelineEntry[];
  reading: Reading;
  began: number;
  /** The moment that is shown, in ms since the epoch. */
  at: number;
  onMoment(count: number): void;
};

/** Where the axis says its time, as shares of what is shown. */
const ticks = [0, 0.25, 0.5, 0.75, 1];

export function Spans({ timeline, reading, began, at, onMoment }: SpansProps) {
  const rows = useMemo(() => spansOf(timeline, reading), [timeline, reading]);
  const [only, choose] = useLanes();
  const [zoomText, setZoom] = useQuery('zoom');
  const total = Math.max(1, (timeline.at(-1)?.at ?? began) - began);
  const range = rangeOf(zoomText, total);
  const [start, length] = [began + range.from, range.to - range.from];
  const percent = (time: number): number => Math.min(100, Math.max(0, ((time - start) / length) * 100));
  const zoom = (factor: number) => {
    const middle = Math.min(total, Math.max(0, at - began));
    const size = Math.min(total, length * factor);
    const from = Math.min(total - size, Math.max(0, middle - size / 2));
    setZoom(size === total ? '' : rangeText({ from, to: from + size }));
  };
  const goTo = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const time = start + ((event.clientX - left) / Math.max(1, width)) * length;
    const index = timeline.findLastIndex((entry) => entry.at <= time);
    onMoment(Math.max(1, index + 1));
  };
  if (rows.length === 0) return null;
  return (
    <section class="spans" aria-label="States over time">
      <div class="spans-head">
        <span class="grow" />
        <button type="button" class="small" onClick={() => zoom(0.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" class="small" onClick={() => zoom(2)} aria-label="Zoom out">
          −
        </button>
      </div>
      <div class="span-row" aria-hidden="true">
        <span />
        <div class="span-ticks">
          {ticks.map((share) => (
            <span key={share} class="quiet number" style={{ left: `${100 * share}%` }}>
              {offset(start + share * length - began)} s
            </span>
          ))}
        </div>
      </div>
      {rows.map(({ key, chart, name, lane, spans }) => (
        <div class="span-row" key={key}>
          <button
            type="button"
            class="span-name"
            title={`${chart} ${name}: show only its entries in the ladder`}
            aria-label={`Limit the ladder to ${chart} ${name}`}
            aria-pressed={lane !== undefined && only.has(lane)}
            onClick={() => lane !== undefined && choose(lane)}
          >
            {name}
          </button>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the slider above is the way by keyboard */}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider above is the way by keyboard */}
          <div class="span-bar" onClick={goTo}>
            {spans
              .filter(({ from, to }) => to >= start && from <= start + length)
              .map(({ state, from, to }) => (
                <span
                  key={`${state} ${from}`}
                  class={`span ${tones[state] ?? 'plain'}`}
                  style={{ left: `${percent(from)}%`, width: `max(2px, ${percent(to) - percent(from)}%)` }}
                  title={`${state}: ${offset(from - began)} to ${offset(to - began)} s`}
                >
                  {state}
                </span>
              ))}
            <span class="span-now" style={{ left: `${percent(at)}%` }} />
          </div>
        </div>
      ))}
    </section>
  );
}
