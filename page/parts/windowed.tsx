import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** How many rows are drawn beyond what is seen, on each side. */
const margin = 8;

type WindowedProps<T> = {
  rows: readonly T[];
  /** Height of each row, in px. */
  rowHeight: number;
  row(item: T, index: number): ComponentChildren;
  class?: string;
  /** The row to keep in view. */
  follow?: number | undefined;
  label: string;
};

/** A list of any length, of which only what is seen is drawn. */
export function Windowed<T>({ rows, rowHeight, row, class: name, follow, label }: WindowedProps<T>) {
  const box = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    measure();
    element.addEventListener('scroll', measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', measure);
      observer.disconnect();
    };
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element || follow === undefined || follow < 0) return;
    const top = follow * rowHeight;
    if (top < element.scrollTop || top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = Math.max(0, top - element.clientHeight + 2 * rowHeight);
  }, [follow, rowHeight, rows.length]);
  const first = Math.max(0, Math.floor(seen.top / rowHeight) - margin);
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / rowHeight) + margin);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section class={`windowed ${name ?? ''}`} ref={box} aria-label={label} tabIndex={0}>
      <div class="windowed-all" style={{ height: `${rows.length * rowHeight}px` }}>
        <ul style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {rows.slice(first, last).map((item, at) => (
            <li key={first + at}>{row(item, first + at)}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}
