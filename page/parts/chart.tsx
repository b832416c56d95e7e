import { useLayoutEffect, useRef } from 'preact/hooks';
import { useChart } from '../core/charts.ts';

/** Lit parts of a chart. */
export type Lit = {
  /** States that it is in. */
  states: readonly string[];
  /** States that it came through, in order. */
  way: readonly string[];
};

/** From this width on a chart needs all the room there is, in px. */
const wide = 420;

/** A chart, drawn; the states it is in are lit and the way it came is marked. */
export function ChartDrawing({ name, lit, label }: { name: string; lit?: Lit; label?: string }) {
  const drawn = useChart(name);
  const box = useRef<HTMLDivElement>(null);
  const way = lit?.way.join(' ') ?? '';
  const states = lit?.states.join(' ') ?? '';

  useLayoutEffect(() => {
    const root = box.current;
    if (!root || !drawn) return;
    root.innerHTML = drawn.svg;
    const svg = root.querySelector('svg');
    svg?.setAttribute('role', 'img');
    svg?.setAttribute('preserveAspectRatio', 'xMidYMin meet');
    const width = Number.parseFloat(svg?.getAttribute('width') ?? '0');
    if (svg) {
      svg.style.maxWidth = `${Math.round(width * 1.1)}px`;
      // Its labels are 12 units: below this width they would be smaller than 11 px, so it scrolls.
      svg.style.minWidth = `${Math.round(width * 0.95)}px`;
      // Its neighbour moves below it.
      if (width > wide) svg.dataset['wide'] = '';
    }
    svg?.removeAttribute('width');
    svg?.removeAttribute('height');
  }, [drawn]);

  useLayoutEffect(() => {
    const root = box.current;
    if (!root || !drawn) return;
    for (const each of root.querySelectorAll('.lit, .passed, .leads')) each.classList.remove('lit', 'passed', 'leads');
    const mark = (id: string, what: string) => root.querySelector(`#${CSS.escape(id)}`)?.classList.add(what);
    const passed = lit?.way ?? [];
    passed.forEach((state, at) => {
      mark(`state:${state}`, 'passed');
      const before = passed[at - 1];
      if (before !== undefined) mark(`edge:${before}:${state}`, 'passed');
    });
    for (const state of lit?.states ?? []) {
      mark(`state:${state}`, 'lit');
      for (const edge of root.querySelectorAll(`[id^="edge:${state}:"]`)) edge.classList.add('leads');
    }
    root.querySelector('svg')?.setAttribute('aria-label', `${label ?? name}: ${(lit?.states ?? []).join(', ')}`);
  }, [drawn, way, states]);

  return <div class={lit ? 'drawing has-lit' : 'drawing'} ref={box} />;
}

/** Transitions out of the present states: event, condition, target. */
export function NextTransitions({ name, states }: { name: string; states: readonly string[] }) {
  const drawn = useChart(name);
  if (!drawn) return null;
  const isIn = (from: string) => states.some((state) => state === from || from === '' || state.startsWith(`${from}.`));
  const next = drawn.chart.transitions.filter(
    ({ from, to, event }) => to !== undefined && isIn(from) && event !== 'always',
  );
  if (next.length === 0) return <p class="quiet">This is a final state.</p>;
  return (
    <ul class="next">
      {next.map(({ event, guard, to }) => (
        <li key={`${event} ${guard} ${to}`}>
          <code>{event}</code>
          {guard ? <span class="guard"> if {guard}</span> : null}
          <span class="arrow"> → </span>
          <b>{to?.split('.').at(-1)}</b>
        </li>
      ))}
    </ul>
  );
}
