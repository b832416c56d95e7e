import type { Place } from './source.ts';

type Kind = 'unread' | 'approximated' | 'missing';

/** The report of an import. */
export class Report {
  readonly #taken = new Map<string, number>();
  readonly #said: Record<Kind, Map<string, Place[]>> = {
    unread: new Map(),
    approximated: new Map(),
    missing: new Map(),
  };

  /** Counts something that was imported without a change. */
  took(what: string, count = 1): void {
    if (count > 0) this.#taken.set(what, (this.#taken.get(what) ?? 0) + count);
  }

  /** Something that works nearly the same here. The sentence says how it differs. */
  approximated(place: Place, what: string): void {
    this.#say('approximated', place, what);
  }

  /** Counts something unsupported. The sentence says what to do instead. */
  missing(place: Place, what: string): void {
    this.#say('missing', place, what);
  }

  /** A file, or the rest of one, that was not read: the import is incomplete. */
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
      ...section('Imported', taken),
      ...section('Approximated', lines('approximated')),
      ...section('Not supported', lines('missing')),
    ].join('\n');
  }
}

/** Number of places that are listed; the rest is counted. */
const mostPlaces = 3;

function shown(places: readonly Place[]): string {
  const named = [...new Set(places)];
  const rest = named.length - mostPlaces;
  return `${named.slice(0, mostPlaces).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines, ''];
