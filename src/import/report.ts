import type { Place } from './source.ts';

type Kind = 'unread' | 'approximated' | 'missing';

/** What became of what was read: for the person who brings a configuration along. */
export class Report {
  readonly #taken = new Map<string, number>();
  readonly #said: Record<Kind, Map<string, Place[]>> = {
    unread: new Map(),
    approximated: new Map(),
    missing: new Map(),
  };

  /** Counts something that means the same here. */
  took(what: string, count = 1): void {
    if (count > 0) this.#taken.set(what, (this.#taken.get(what) ?? 0) + count);
  }

  /** Something that means nearly the same here; the sentence says how it differs. */
  approximated(place: Place, what: string): void {
    this.#say('approximated', place, what);
  }

  /** Something that is not there; the sentence says what to do instead. */
  missing(place: Place, what: string): void {
    this.#say('missing', place, what);
  }

  /** A file, or the rest of one, that is not read: without it what comes out is not what was configured. */
  unread(place: Place, what: string): void {
    this.#say('unread', place, what);
  }

  /** Whether all files were read. */
  get isComplete(): boolean {
    return this.#said.unread.size === 0;
  }

  #say(kind: Kind, place: Place, what: string): void {
    const places = this.#said[kind].get(what);
    if (places) places.push(place);
    else this.#said[kind].set(what, [place]);
  }

  /** The report as text. */
  toString(): string {
    const taken = [...this.#taken].map(([what, count]) => `  ${count} ${what}`);
    const lines = (kind: Kind): string[] =>
      [...this.#said[kind]].map(([what, places]) => `  ${shown(places)}: ${what}`);
    return [
      ...section('Not read', lines('unread')),
      ...section('Taken', taken),
      ...section('Approximated', lines('approximated')),
      ...section('Not there', lines('missing')),
    ].join('\n');
  }
}

/** Places that are named; further ones are counted. */
const mostPlaces = 3;

function shown(places: readonly Place[]): string {
  const named = [...new Set(places)];
  const rest = named.length - mostPlaces;
  return `${named.slice(0, mostPlaces).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines, ''];
