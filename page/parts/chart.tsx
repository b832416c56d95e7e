import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SnapshotImage } from '../../src/actors/step.ts';
import type { ChartTransition } from '../../src/models/chart.ts';
import { useChart } from '../core/charts.ts';
import { dueAt, type GuardNow, guardNow } from '../core/guards.ts';
import { overview } from '../core/overview.ts';
import { duration } from '../core/words.ts';

/** Lit parts of a chart. */
export type Lit = {
  /** States that it is in. */
  states: readonly string[];
  /** States that it came through, in order. */
  way: readonly string[];
};

/** From this width on a chart needs all the room there is, in px. */
const wide = 420;

/** How far a chart is zoomed, and by how much at once. */
const [smallest, largest, step] = [0.4, 3, 1.25];

/** Scrolls to the state that is lit. */
function showLit(root: HTMLElement): void {
  const state = root.querySelector('.state.lit');
  if (!state) return;
  const [inside, around] = [state.getBoundingClientRect(), root.getBoundingClientRect()];
  root.scrollLeft += inside.left + inside.width / 2 - (around.left + around.width / 2);
  root.scrollTop += inside.top + inside.height / 2 - (around.top + around.height / 2);
}

/** A chart, drawn; the states it is in are lit and the way it came is marked. */
export function ChartDrawing({ name, lit, label }: { name: string; lit?: Lit; label?: string }) {
  const drawn = useChart(name);
  const box = useRef<HTMLDivElement>(null);
  const [told, setTold] = useState<string>();
  /** One that was clicked stays until another one is. */
  const pinned = useRef<string | undefined>(undefined);
  /** How large it is drawn; 1: its labels are as large as the text around it. */
  const [zoom, setZoom] = useState(1);
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
      svg.dataset['width'] = String(width);
      // Its neighbour moves below it.
      if (width > wide) svg.dataset['wide'] = '';
    }
    svg?.removeAttribute('width');
    svg?.removeAttribute('height');
    for (const line of root.querySelectorAll('[id^="edge:"] > path')) {
      // A thin line is hard to hit.
      const wider = line.cloneNode() as Element;
      wider.setAttribute('class', 'hit');
      line.after(wider);
    }
  }, [drawn]);

  useLayoutEffect(() => {
    const svg = box.current?.querySelector('svg');
    if (!svg) return;
    const width = Number(svg.dataset['width']) * zoom;
    svg.style.maxWidth = `${Math.round(width * 1.1)}px`;
    // Its labels are 12 units: below this width they would be smaller than 11 px, so it scrolls.
    svg.style.minWidth = `${Math.round(width)}px`;
    svg.style.width = zoom === 1 ? '' : `${Math.round(width)}px`;
  }, [drawn, zoom]);

  useEffect(() => {
    const root = box.current;
    if (!root) return undefined;
    const edgeOf = ({ target }: Event): string | undefined =>
      (target as Element | null)?.closest?.('[id^="edge:"]')?.id ?? undefined;
    const over = (event: Event) => setTold(edgeOf(event) ?? pinned.current);
    const click = (event: Event) => {
      pinned.current = edgeOf(event);
      setTold(pinned.current);
    };
    root.addEventListener('pointerover', over);
    root.addEventListener('click', click);
    return () => {
      root.removeEventListener('pointerover', over);
      root.removeEventListener('click', click);
    };
  }, []);

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
      for (const edge of root.querySelectorAll(`[id^="edge:${state}:"], [id^="edge::"]`)) edge.classList.add('leads');
    }
    root.querySelector('svg')?.setAttribute('aria-label', `${label ?? name}: ${(lit?.states ?? []).join(', ')}`);
  }, [drawn, way, states]);

  // What is lit is in view, however large the chart is, and the room that it has.
  useLayoutEffect(() => {
    const root = box.current;
    if (!root || !drawn) return undefined;
    const resized = new ResizeObserver(() => showLit(root));
    resized.observe(root);
    showLit(root);
    return () => resized.disconnect();
  }, [drawn, states, zoom]);

  /** Where a drag began, with what was in view. */
  const drag = useRef<{ x: number; y: number; left: number; top: number } | undefined>(undefined);
  const pan = (event: PointerEvent) => {
    const root = box.current;
    if (!root || !drag.current || event.buttons === 0) return;
    root.scrollLeft = drag.current.left - (event.clientX - drag.current.x);
    root.scrollTop = drag.current.top - (event.clientY - drag.current.y);
  };
  const grab = ({ clientX: x, clientY: y, pointerType }: PointerEvent) => {
    const root = box.current;
    // A finger scrolls by itself.
    drag.current = root && pointerType === 'mouse' ? { x, y, left: root.scrollLeft, top: root.scrollTop } : undefined;
  };
  const transitions = drawn?.chart.transitions.filter(({ edge }) => edge !== undefined && edge === told) ?? [];
  return (
    <figure class="chart-figure">
      <div class={lit ? 'drawing has-lit' : 'drawing'} ref={box} onPointerDown={grab} onPointerMove={pan} />
      <fieldset class="zoom" aria-label="Size of the chart">
        <button
          type="button"
          class="small"
          aria-label="Smaller"
          onClick={() => setZoom(Math.max(smallest, zoom / step))}
        >
          −
        </button>
        <button type="button" class="small" aria-label="Usual size" onClick={() => setZoom(1)}>
          {Math.round(zoom * 100)} %
        </button>
        <button type="button" class="small" aria-label="Larger" onClick={() => setZoom(Math.min(largest, zoom * step))}>
          +
        </button>
      </fieldset>
      <figcaption class="quiet" aria-live="polite">
        {transitions.length === 0 ? 'Point at a line, or click it, to see what its transition does.' : null}
        {transitions.map((each) => (
          <span key={`${each.event} ${each.guard}`}>{transitionText(each)}</span>
        ))}
      </figcaption>
    </figure>
  );
}

/** What a transition does, in a line: its states, event, guard, effects, facts. */
function transitionText({ from, to, event, guard, effects, facts }: ChartTransition): string {
  const does = [...effects, ...facts.map((fact) => `fact ${fact}`)];
  const condition = guard ? ` if ${guard}` : '';
  return `${from || 'any state'} → ${to ?? 'same state'} by ${event}${condition}: ${does.join(', ') || 'no effect'}`;
}

/** The time on the server, every second; in the past that of the shown moment. */
function useServerTime(at: number | undefined): number {
  const ahead = useRef(overview.get().at === 0 ? 0 : overview.get().at - Date.now());
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (at !== undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [at]);
  return at ?? now + ahead.current;
}

/** What is said of a guard that is neither true nor false now. */
const undecided = {
  event: 'depends on the event',
  unknown: 'not known: what it reads is hidden or gone',
} as const;

/** A guard, and what it says now; `says` is undefined where the object's context is not known. */
function Guard({ name, says }: { name: string; says: GuardNow | undefined }) {
  const tone = says === true ? 'holds' : says === false ? 'fails' : '';
  const words = typeof says === 'string' ? undecided[says] : says === undefined ? '' : `${says} now`;
  return (
    <span class={`guard ${tone}`}>
      {' '}
      if {name} {words === '' ? null : <em>({words})</em>}
    </span>
  );
}

/**
 * Transitions out of the present states: event, condition, target. @param image the object as it is: whether conditions
 * hold, and when deadlines end. @param at the moment that is shown, in ms since the epoch; undefined for now
 */
export function NextTransitions({
  name,
  states,
  image,
  at,
}: {
  name: string;
  states: readonly string[];
  image?: SnapshotImage | undefined;
  at?: number | undefined;
}) {
  const drawn = useChart(name);
  const now = useServerTime(at);
  if (!drawn) return null;
  const isIn = (from: string) => states.some((state) => state === from || from === '' || state.startsWith(`${from}.`));
  const next = drawn.chart.transitions.filter(
    ({ from, to, event }) => to !== undefined && isIn(from) && event !== 'always',
  );
  if (next.length === 0) return <p class="quiet">This is a final state.</p>;
  return (
    <ul class="next">
      {next.map(({ event, guard, to }) => {
        const due = image && dueAt(event, image);
        return (
          <li key={`${event} ${guard} ${to}`}>
            <code>{event}</code>
            {guard ? <Guard name={guard} says={image && guardNow(name, guard, event, image)} /> : null}
            <span class="arrow"> → </span>
            <b>{to?.split('.').at(-1)}</b>
            {due === undefined ? null : <span class="due"> in {duration(Math.max(0, due - now))}</span>}
          </li>
        );
      })}
    </ul>
  );
}

/** A chart with the states that an object is in now, and what follows. */
export function LiveChart({ name, label, states, image }: LiveChartProps) {
  return (
    <div class="chart-and-next">
      <ChartDrawing name={name} lit={{ states, way: states }} label={label} />
      <div class="beside">
        <h3>{states.join(' · ')}</h3>
        <h4>Next transitions</h4>
        <NextTransitions name={name} states={states} image={image} />
      </div>
    </div>
  );
}

type LiveChartProps = { name: string; label: string; states: readonly string[]; image: SnapshotImage };
