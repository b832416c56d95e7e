import type { History, HistoryFigure } from '../../src/models/alarm.ts';
import { to } from './route.ts';

/** The figures of each minute that the server keeps. */

/** Times of the values, in ms since the epoch. */
export const timesOf = ({ from, interval_s: interval, live_calls: values }: History): number[] =>
  values.map((_, place) => from + place * interval * 1000);

/** The last hours of it. */
export function ofLast(history: History, hours: number): History {
  const left = Math.max(0, history.live_calls.length - hours * 60);
  const series = Object.entries(history).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.slice(left) : value,
  ]);
  return {
    ...(Object.fromEntries(series) as Record<HistoryFigure, number[]>),
    interval_s: history.interval_s,
    from: history.from + left * history.interval_s * 1000,
  };
}

const two = (value: number): string => String(value).padStart(2, '0');

/** A moment as a field of a form holds it: local time. */
function localText(at: number): string {
  const date = new Date(at);
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day}T${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}

/** A link to the calls that began in a time. The search is to the second: one that began within its last is included. */
export const beganBetween = (from: number, until: number, state?: 'failed'): string => {
  const query = new URLSearchParams({
    stored: '1',
    from: localText(from),
    to: localText(until + 999),
    ...(state && { state }),
  });
  return `${to('calls')}?${query}`;
};
