import { useMemo } from 'preact/hooks';
import { useQuery } from './route.ts';

/** Members of a value of the query. */
export const members = (text: string): ReadonlySet<string> => new Set(text.split(',').filter((each) => each !== ''));

/** The same value with a member more or less. */
export const toggled = (before: ReadonlySet<string>, each: string): string =>
  (before.has(each) ? [...before].filter((other) => other !== each) : [...before, each]).join(',');

/** Lanes that the ladder is limited to, by their keys (none: all), and what adds one or takes it away. */
export function useLanes(): [lanes: ReadonlySet<string>, toggle: (lane: string) => void] {
  const [text, setText] = useQuery('lanes');
  const lanes = useMemo(() => members(text), [text]);
  return [lanes, (lane) => setText(toggled(lanes, lane))];
}
