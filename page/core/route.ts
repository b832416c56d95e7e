import { cell } from './cell.ts';

/** The route: the decoded segments behind `#/`. */
const read = (): string[] =>
  location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map((part) => decodeURIComponent(part));

export const route = cell<string[]>(read());
// A link to a place within what is shown (`#main`) leads nowhere else.
addEventListener('hashchange', () => (location.hash === '' || location.hash.startsWith('#/')) && route.set(read()));

/** A link within the page. */
export const to = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join('/')}`;
