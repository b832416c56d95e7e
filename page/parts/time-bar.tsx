import { useEffect, useRef, useState } from 'preact/hooks';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import type { Line } from '../core/entries.ts';
import { offset } from '../core/words.ts';

/** The moment of a call that is shown: step by step, or played at the pace of the call or faster. */

const speeds = [1, 5, 20] as const;
/** Between two pictures of a call that is played, in ms. */
const frameMs = 50;

type TimeBarProps = {
  timeline: readonly TimelineEntry[];
  lines: readonly Line[];
  moment: number | undefined;
  began: number;
  /** The last moment is not now. */
  isOld: boolean;
  onMoment(moment: number | undefined): void;
};

/** Plays a call from a moment on. @returns the speed, and what sets it: undefined stops. */
function usePlaying({ timeline, moment, onMoment }: TimeBarProps) {
  const [speed, setSpeed] = useState<number>();
  const latest = useRef({ timeline, moment, onMoment });
  latest.current = { timeline, moment, onMoment };
  useEffect(() => {
    if (speed === undefined) return undefined;
    const { timeline: all, moment: from } = latest.current;
    let time = (from === undefined ? all[0] : all[from - 1])?.at ?? 0;
    const timer = setInterval(() => {
      const { timeline: entries, onMoment: go } = latest.current;
      time += frameMs * speed;
      const count = entries.findLastIndex(({ at }) => at <= time) + 1;
      go(count >= entries.length ? undefined : Math.max(1, count));
      if (count >= entries.length) setSpeed(undefined);
    }, frameMs);
    return () => clearInterval(timer);
  }, [speed]);
  return [speed, setSpeed] as const;
}

export function TimeBar(props: TimeBarProps) {
  const { timeline, lines, moment, began, isOld, onMoment } = props;
  const [speed, setSpeed] = usePlaying(props);
  const count = Math.min(moment ?? timeline.length, timeline.length);
  const entry = timeline[count - 1];
  const text = lines[count - 1]?.text ?? '';
  const go = (wanted: number) => onMoment(wanted >= timeline.length ? undefined : Math.max(1, wanted));
  const latest = useRef(go);
  latest.current = go;
  const now = useRef(count);
  now.current = count;
  useEffect(() => {
    const heard = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLInputElement && event.target.type !== 'range') return;
      if (event.key === '[') latest.current(now.current - 1);
      if (event.key === ']') latest.current(now.current + 1);
    };
    addEventListener('keydown', heard);
    return () => removeEventListener('keydown', heard);
  }, []);
  return (
    <div class={`time-bar ${moment === undefined ? '' : 'past'}`}>
      <button type="button" class="small" aria-label="One step back" onClick={() => go(count - 1)}>
        ‹
      </button>
      <input
        type="range"
        aria-label="Moment of the call"
        min={1}
        max={Math.max(1, timeline.length)}
        value={count}
        aria-valuetext={entry ? `${offset(entry.at - began)} s, ${text}` : ''}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <button type="button" class="small" aria-label="One step forward" onClick={() => go(count + 1)}>
        ›
      </button>
      {speeds.map((each) => (
        <button
          type="button"
          class="small speed"
          key={each}
          aria-pressed={speed === each}
          aria-label={`Play ${each} ×`}
          onClick={() => setSpeed(speed === each ? undefined : each)}
        >
          {each} ×
        </button>
      ))}
      <button
        type="button"
        class={moment === undefined ? 'small now on' : 'small now'}
        aria-pressed={moment === undefined}
        onClick={() => onMoment(undefined)}
      >
        {isOld ? 'Last' : 'Now'}
      </button>
      <span class="moment">
        {entry ? (
          <>
            <b class="number">{offset(entry.at - began)} s</b> <span class="quiet">{text}</span>
          </>
        ) : null}
      </span>
    </div>
  );
}
