import { useEffect, useState } from 'preact/hooks';
import { cell } from './cell.ts';

/** Where the page is: the place and its query, all in the address, so that Back, F5 and a copied link keep them. */

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const [path, query] = [0, 1].map((part) => () => location.hash.replace(/^#\/?/, '').split('?')[part] ?? '') as [
  () => string,
  () => string,
];

/** The decoded segments behind `#/`. */
const read = (): string[] =>
  path()
    .split('/')
    .filter((part) => part !== '')
    .map(decode);

export const route = cell<string[]>(read());
const queryText = cell(query());

/** The query that each list had last. */
const lastQueries = new Map<string, string>();
const keepQuery = (): void => {
  // Objects have none that is worth keeping, and there are too many of them.
  if (!path().includes('/')) lastQueries.set(path(), query());
};
keepQuery();

// A link to a place within what is shown (`#main`) leads nowhere else.
addEventListener('hashchange', () => {
  if (location.hash !== '' && !location.hash.startsWith('#/')) return;
  const next = read();
  if (next.join('\n') !== route.get().join('\n')) route.set(next);
  queryText.set(query());
  keepQuery();
});

/** A link within the page. */
export const to = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join('/')}`;

/** A link back to a list, with the search that it had. */
export const backTo = (list: string): string => {
  const last = lastQueries.get(list) ?? '';
  return last === '' ? to(list) : `${to(list)}?${last}`;
};

/** Sets a value of the query; an empty one is left out. It replaces the address: filters are no places to go back to. */
function setQuery(name: string, value: string): void {
  const next = new URLSearchParams(queryText.get());
  if (value === '') next.delete(name);
  else next.set(name, value);
  const text = next.toString();
  history.replaceState(null, '', `#/${path()}${text === '' ? '' : `?${text}`}`);
  queryText.set(text);
  keepQuery();
}

/** A value of the query, and what sets it; `usual` is not written into the address. */
export function useQuery(name: string, usual = ''): [value: string, set: (value: string) => void] {
  const now = (): string => new URLSearchParams(queryText.get()).get(name) ?? usual;
  const [value, setValue] = useState(now());
  useEffect(() => {
    setValue(now());
    return queryText.follow(() => setValue(now()));
  }, [name]);
  return [value, (next) => setQuery(name, next === usual ? '' : next)];
}
