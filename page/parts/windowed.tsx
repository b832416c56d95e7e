import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** How many rows are drawn beyond what is seen, on each side. */
const margin = 8;

type WindowedProps<T> = {
  rows: readonly T[];
  /** Height of each row, in px. */
  rowHeight: number;
  /** One element that can have the focus, with a key of its own. */
  row(item: T, index: number): VNode;
  class?: string;
  /** The row to keep in view, unless the user moves by keyboard. */
  follow?: number | undefined;
  label: string;
};

/** How far a key goes, in rows; `page` is as many as are seen. */
const moves: Readonly<Record<string, (page: number) => number>> = {
  ArrowDown: () => 1,
  ArrowUp: () => -1,
  PageDown: (page) => page,
  PageUp: (page) => -page,
  Home: () => Number.NEGATIVE_INFINITY,
  End: () => Number.POSITIVE_INFINITY,
};

/** The place of the row that has the focus; undefined when none has. */
const focused = (box: HTMLElement | null): number | undefined => {
  const row = box?.contains(document.activeElement) ? document.activeElement?.closest<HTMLElement>('li') : undefined;
  return row ? Number(row.dataset['row']) : undefined;
};

/**
 * A list of any length, of which only what is seen is drawn. To the Tab key it is one place, however long it is; arrows,
 * PageUp, PageDown, Home and End go through it.
 */
export function Windowed<T>({ rows, rowHeight, row, class: name, follow, label }: WindowedProps<T>) {
  const box = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 600 });
  /** The row that the Tab key reaches. */
  const [reached, setReached] = useState(0);
  /** The row that gets the focus as soon as it is drawn. */
  const wanted = useRef<number | undefined>(undefined);
  const measure = (): void => {
    const { scrollTop: top = 0, clientHeight: height = 0 } = box.current ?? {};
    setSeen((before) => (before.top === top && before.height === height ? before : { top, height }));
  };
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    measure();
    element.addEventListener('scroll', measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', measure);
      observer.disconnect();
    };
  }, []);
  const show = (index: number): void => {
    const element = box.current;
    if (!element) return;
    const top = index * rowHeight;
    if (top < element.scrollTop) element.scrollTop = Math.max(0, top - rowHeight);
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = Math.max(0, top - element.clientHeight + 2 * rowHeight);
  };
  // Before anything is painted: else each new row is painted twice, where it comes and where it is shown.
  useLayoutEffect(() => {
    if (follow === undefined || follow < 0 || focused(box.current) !== undefined) return;
    show(follow);
    measure();
  }, [follow, rowHeight, rows.length]);
  const first = Math.max(0, Math.floor(seen.top / rowHeight) - margin);
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / rowHeight) + margin);
  const top = Math.ceil(seen.top / rowHeight);
  const stop = reached >= first && reached < last ? reached : Math.min(top, last - 1);
  useLayoutEffect(() => {
    for (const each of box.current?.querySelectorAll<HTMLElement>('li') ?? []) {
      const element = each.firstElementChild as HTMLElement | null;
      const index = Number(each.dataset['row']);
      if (element) element.tabIndex = index === stop ? 0 : -1;
      if (index !== wanted.current) continue;
      wanted.current = undefined;
      element?.focus({ preventScroll: true });
    }
  });
  const go = (event: KeyboardEvent): void => {
    const move = moves[event.key];
    if (!move || rows.length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const from = focused(box.current) ?? stop;
    const page = Math.max(1, Math.floor(seen.height / rowHeight) - 1);
    const next = Math.min(rows.length - 1, Math.max(0, from + move(page)));
    wanted.current = next;
    setReached(next);
    show(next);
  };
  return (
    <section
      class={`windowed ${name ?? ''}`}
      ref={box}
      aria-label={label}
      tabIndex={-1}
      onKeyDown={go}
      onFocusIn={() => setReached((before) => focused(box.current) ?? before)}
    >
      <div class="windowed-all" style={{ height: `${rows.length * rowHeight}px` }}>
        <ul style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {rows.slice(first, last).map((item, at) => {
            const drawn = row(item, first + at);
            return (
              <li key={drawn.key ?? first + at} data-row={first + at}>
                {drawn}
              </li>
            );
          })}
        </ul>
      </div>
    </section>
  );
}
