import { useMemo, useState } from 'preact/hooks';
import type { History } from '../../src/models/alarm.ts';
import { beganBetween, ofLast, timesOf } from '../core/history.ts';
import { useQuery } from '../core/route.ts';
import { clockTime, dayTime, plural, short } from '../core/words.ts';
import { Empty, Panel } from './bits.tsx';
import { Curve } from './curve.tsx';

const ranges = ['1', '6', '24', '168'] as const;

/** Figures of the server since its start, and the calls of any of their minutes. */
export function HistoryPanel({ history, now }: { history: History | undefined; now: number }) {
  const [range, setRange] = useQuery('hours', '1');
  const [back, setBack] = useState(0);
  const shown = useMemo(() => history && ofLast(history, Number(range)), [history, range]);
  const times = useMemo(() => (shown ? timesOf(shown) : []), [shown]);
  const lines = useMemo(
    () => ({
      live: [{ label: 'live', values: shown?.live_calls ?? [], tone: 'first' as const }],
      calls: [
        { label: 'new', values: shown?.new_calls ?? [], tone: 'second' as const },
        { label: 'answered', values: shown?.answered_calls ?? [], tone: 'fourth' as const },
        { label: 'failed', values: shown?.failed_calls ?? [], tone: 'bad' as const },
      ],
    }),
    [shown],
  );
  const most = history?.live_calls.length ?? 0;
  const last = times.length - 1;
  const place = Math.max(0, last - Math.min(back, last));
  const at = times[place];
  const pick = (moment: number): void => {
    const found = times.findIndex((time) => time >= moment);
    setBack(last - (found < 0 ? last : found));
  };
  const value = (name: 'live_calls' | 'new_calls' | 'failed_calls'): number => shown?.[name][place] ?? 0;
  return (
    <Panel
      title="Calls over time"
      class="history"
      extra={
        <span class="chips">
          {ranges
            .filter((_, index) => index === 0 || most > Number(ranges[index - 1]) * 60)
            .map((hours) => (
              <button
                type="button"
                class="chip"
                key={hours}
                aria-pressed={hours === range}
                onClick={() => setRange(hours)}
              >
                {hours} h
              </button>
            ))}
        </span>
      }
    >
      {history && most === 0 ? <Empty>The first figures appear after a minute.</Empty> : null}
      {at === undefined ? null : (
        <>
          <Curve title="Live calls" times={times} lines={lines.live} at={at} onPick={pick} />
          <Curve title="Calls a minute" times={times} lines={lines.calls} at={at} onPick={pick} />
          <label class="minute">
            <span class="unseen">Minute of the history</span>
            <input
              type="range"
              min={0}
              max={last}
              value={place}
              aria-valuetext={clockTime(at)}
              onInput={(event) => setBack(last - Number(event.currentTarget.value))}
            />
          </label>
          <p class="row wrap">
            <b class="number">{dayTime(at, now)}</b>
            <span class="quiet">{short(value('live_calls'))} live</span>
            <a href={beganBetween(at - 60_000, at)}>{plural(value('new_calls'), 'new call')}</a>
            <a href={beganBetween(at - 60_000, at, 'failed')}>{value('failed_calls')} failed</a>
          </p>
        </>
      )}
    </Panel>
  );
}
