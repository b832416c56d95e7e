import { useMemo } from 'preact/hooks';
import { useQuery } from './route.ts';

/** Members of a value of the query. */
export const members = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .split(',')
      .filter((each) => each !== '')
      .map((each) => each.replaceAll(/%(?:25|2C)/g, decodeURIComponent)),
  );

/** A value of the query with these members; ids may have commas. */
export const joined = (parts: Iterable<string>): string =>
  [...parts].map((each) => each.replaceAll(/[%,]/g, encodeURIComponent)).join(',');

const without = (before: ReadonlySet<string>, each: string): string[] => [...before].filter((other) => other !== each);

/** The same value with a member more or less. */
export const toggled = (before: ReadonlySet<string>, each: string): string =>
  joined(before.has(each) ? without(before, each) : [...before, each]);

/** Lanes that the ladder is limited to, by their keys (none: all), and what adds one or takes it away. */
export function useLanes(): [lanes: ReadonlySet<string>, toggle: (lane: string) => void] {
  const [text, setText] = useQuery('lanes');
  const lanes = useMemo(() => members(text), [text]);
  return [lanes, (lane) => setText(toggled(lanes, lane))];
}

/** Whether an object was opened or folded by hand (undefined: neither), and what does it. */
export function useFold(object: string): [isOpen: boolean | undefined, set: (isOpen: boolean) => void] {
  const [openText, setOpen] = useQuery('open');
  const [shutText, setShut] = useQuery('shut');
  const [open, shut] = [members(openText), members(shutText)];
  const withIt = (before: ReadonlySet<string>, isIn: boolean): string =>
    joined([...without(before, object), ...(isIn ? [object] : [])]);
  return [
    open.has(object) ? true : shut.has(object) ? false : undefined,
    (isOpen) => {
      setOpen(withIt(open, isOpen));
      setShut(withIt(shut, !isOpen));
    },
  ];
}
