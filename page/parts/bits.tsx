import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useFocusAtFirst } from '../core/focus.ts';
import type { LiveState } from '../core/live.ts';
import { ask, mayLookAt, Refused } from '../core/session.ts';

/** Small things that every view is made of. */

const tones: Readonly<Record<string, string>> = {
  Up: 'good',
  up: 'good',
  live: 'good',
  online: 'good',
  Reachable: 'good',
  playing: 'good',
  connected: 'good',
  application: 'good',
  Ring: 'lit',
  Ringing: 'lit',
  ring: 'lit',
  ringing: 'lit',
  dialing: 'lit',
  queued: 'lit',
  entering: 'lit',
  paused: 'lit',
  unknown: 'lit',
  Unknown: 'lit',
  connecting: 'lit',
  Busy: 'bad',
  busy: 'bad',
  failed: 'bad',
  offline: 'plain',
  Unreachable: 'bad',
  stuck: 'bad',
  lost: 'bad',
  lingering: 'bad',
  missed: 'bad',
};

/** A state as a word with its colour. */
export function Pill({ state, tone }: { state: string; tone?: string | undefined }) {
  return <span class={`pill ${tone ?? tones[state] ?? 'plain'}`}>{state}</span>;
}

/**
 * A count on a link or button, outside its name, because the name would change with the count. The link or button has a
 * name of its own (`aria-label`) and refers to the badge by `aria-describedby`.
 */
export function Badge({ id, count, what, tone = '' }: { id: string; count: number; what: string; tone?: string }) {
  if (count <= 0) return null;
  return (
    <em class={`badge ${tone}`} id={id}>
      {count}
      <span class="unseen"> {what}</span>
    </em>
  );
}

/** A number with what it counts. */
export function Tile({
  label,
  value,
  hint,
  tone,
  href,
}: {
  label: string;
  value: ComponentChildren;
  hint?: string;
  tone?: string;
  /** Where what it counts is listed. */
  href?: string | undefined;
}) {
  const inside = (
    <>
      <span class="tile-label">{label}</span>
      <span class="tile-value">{value}</span>
      {hint ? (
        <span class="tile-hint" title={hint}>
          {hint}
        </span>
      ) : null}
    </>
  );
  const name = `tile ${tone ?? ''}`;
  return href === undefined ? (
    <div class={name}>{inside}</div>
  ) : (
    <a class={name} href={href}>
      {inside}
    </a>
  );
}

/** A part of a view, with its title. */
export function Panel({
  title,
  extra,
  children,
  class: name,
}: {
  title: string;
  extra?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  return (
    <section class={`panel ${name ?? ''}`}>
      <header>
        <h2>{title}</h2>
        {extra}
      </header>
      {children}
    </section>
  );
}

const liveWords: Readonly<Record<LiveState, string>> = {
  live: 'live',
  connecting: 'connecting …',
  lost: 'connection lost, trying again',
  gone: 'not found',
};

/** Says that what is shown is not what is. */
export function LiveMark({ state }: { state: LiveState }) {
  return (
    <span class={`live-mark ${state}`} role="status">
      {liveWords[state]}
    </span>
  );
}

/** An answer, requested again at an interval; `again` requests it now. */
export function useAsked<T>(
  path: string | undefined,
  everyMs?: number,
): { value: T | undefined; error: string | undefined; again(): void } {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState<string>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (path === undefined || !mayLookAt(path)) return undefined;
    let wanted = true;
    const fetchOnce = () =>
      ask<T>('GET', path).then(
        (found) => {
          if (!wanted) return;
          setValue(found);
          setError(undefined);
        },
        (problem: unknown) => wanted && setError(problem instanceof Error ? problem.message : String(problem)),
      );
    void fetchOnce();
    const timer = everyMs === undefined ? undefined : setInterval(() => !document.hidden && void fetchOnce(), everyMs);
    return () => {
      wanted = false;
      clearInterval(timer);
    };
  }, [path, everyMs, turn]);
  return { value, error, again: () => setTurn((before) => before + 1) };
}

/** The previous answer; undefined for the first one. */
export function useBefore<T>(value: T | undefined): T | undefined {
  const known = useRef<{ now: T | undefined; before: T | undefined }>({ now: undefined, before: undefined });
  if (known.current.now !== value) known.current = { now: value, before: known.current.now };
  return known.current.before;
}

/** Why something was refused, in words. */
export const reasonOf = (problem: unknown): string =>
  problem instanceof Refused
    ? `${problem.message} (${problem.status})`
    : problem instanceof Error
      ? problem.message
      : String(problem);

/** Asks before something that nothing brings back. Escape and Cancel leave it undone; the first button has the focus. */
export function Asks({ label, children, verb, onYes, onNo }: AsksProps) {
  const confirm = useFocusAtFirst<HTMLButtonElement>();
  return (
    <fieldset class="fields asks" aria-label={label} onKeyDown={(event) => event.key === 'Escape' && onNo()}>
      <p class="grow">{children}</p>
      <button type="button" class="grave small" ref={confirm} onClick={onYes}>
        {verb} now
      </button>
      <button type="button" class="small" onClick={onNo}>
        Cancel
      </button>
    </fieldset>
  );
}

type AsksProps = {
  label: string;
  /** What is lost. */
  children: ComponentChildren;
  verb: string;
  onYes(): void;
  onNo(): void;
};

/** JSON for people. */
export function Json({ value }: { value: unknown }) {
  return <pre class="json">{JSON.stringify(value, null, 2)}</pre>;
}

/** Said where there is nothing to show. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
