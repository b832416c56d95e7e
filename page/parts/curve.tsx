import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { type Range, valueAt } from '../core/measures.ts';
import { clockTime } from '../core/words.ts';
import 'uplot/dist/uPlot.min.css';

/** A line of a curve. */
export type Line = {
  label: string;
  values: readonly (number | null)[];
  tone: 'first' | 'second' | 'third' | 'fourth' | 'bad';
};

const colour = (element: Element, name: string): string => getComputedStyle(element).getPropertyValue(name).trim();

/** Whether the page is dark: canvases are redrawn when that changes. */
function useDark(): boolean {
  const [dark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const follow = () => setDark(query.matches);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  return dark;
}

/** Curves over time. `times` are in ms since the epoch; `at` marks a moment. */
export function Curve({
  times,
  lines,
  height = 120,
  title,
  at,
  span = 60,
  range = { low: 0, high: 1 },
  onPick,
}: {
  times: readonly number[];
  lines: readonly Line[];
  height?: number;
  title: string;
  at?: number | undefined;
  /** The least time to show, in s. */
  span?: number;
  /** The smallest shown range. */
  range?: Range;
  /** Hears of a moment that was clicked. */
  onPick?: (at: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const moment = useRef(at);
  moment.current = at;
  const picked = useRef(onPick);
  picked.current = onPick;
  const dark = useDark();
  const labels = lines.map(({ label }) => label).join(' ');

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const quiet = colour(element, '--quiet');
    const rule = colour(element, '--line');
    const axis = { stroke: quiet, grid: { stroke: rule, width: 1 }, ticks: { show: false }, font: '11px system-ui' };
    const mark = (drawn: uPlot) => {
      if (moment.current === undefined) return;
      const x = drawn.valToPos(moment.current / 1000, 'x', true);
      const { ctx, bbox } = drawn;
      ctx.save();
      ctx.strokeStyle = colour(element, '--lit');
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.restore();
    };
    const made = new uPlot(
      {
        width: Math.max(200, element.clientWidth),
        height,
        legend: { show: false },
        cursor: { show: false },
        // Half a label of time stands beyond the last moment.
        padding: [8, 28, 0, 0],
        series: [
          {},
          ...lines.map(({ label, tone }, index) => {
            const stroke = colour(element, `--curve-${tone}`);
            return {
              label,
              stroke,
              width: 1.75,
              spanGaps: true,
              // A value alone makes no line.
              points: {
                show: (self: uPlot, series: number) =>
                  (self.data[series] ?? []).filter((value) => typeof value === 'number').length < 3,
              },
              ...(index === 0 ? { fill: `${stroke}22`, fillTo: range.low } : {}),
            };
          }),
        ],
        axes: [
          {
            ...axis,
            size: 24,
            space: 90,
            values: (_self: uPlot, ticks: number[]) => ticks.map((tick) => clockTime(tick * 1000)),
          },
          { ...axis, size: 40, space: 28 },
        ],
        scales: {
          y: { range: (_self, _low, high) => [range.low, Math.max(range.high, high * 1.15)] },
        },
        hooks: { draw: [mark] },
      },
      [[], ...lines.map(() => [])] as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    // What can be picked here can be chosen by a slider of the same panel, too.
    made.over.addEventListener('click', ({ offsetX }) => picked.current?.(made.posToVal(offsetX, 'x') * 1000));
    const observer = new ResizeObserver(() => made.setSize({ width: Math.max(200, element.clientWidth), height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [labels, height, range.low, range.high, dark]);

  useEffect(() => {
    const last = times.at(-1) ?? Date.now();
    // A short time is shown at the end of a longer one, in which nothing is known.
    const before = last - (times[0] ?? last) < span * 1000 ? [last - span * 1000] : [];
    const nothing = before.map(() => null);
    plot.current?.setData([
      [...before, ...times].map((time) => time / 1000),
      ...lines.map(({ values }) => [...nothing, ...values]),
    ] as uPlot.AlignedData);
  }, [times, lines, at, span, dark]);

  return (
    <figure class="curve">
      <figcaption>
        {title}
        {lines.map(({ label, tone, values }) => (
          <span class={`key ${tone}`} key={label}>
            {label} <b>{valueAt(times, values, at) ?? '–'}</b>
          </span>
        ))}
      </figcaption>
      <div ref={box} class={onPick ? 'pickable' : undefined} />
    </figure>
  );
}
