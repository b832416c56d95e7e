import { AriError } from '../models/errors.ts';

/** An event type as a client named it; other members are kept and given back as they came. */
type FilteredType = { type: string } & Record<string, unknown>;

/** The lists of a filter as clients see them. */
export type FilterLists = { readonly allowed: readonly FilteredType[]; readonly disallowed: readonly FilteredType[] };

/** Never muted: without them a client cannot know what became of it or of its requests. */
const alwaysSent: ReadonlySet<string> = new Set([
  'RESTResponse',
  'ApplicationReplaced',
  'ApplicationRegistered',
  'ApplicationUnregistered',
]);

/** Drops disallowed event types, and types that are not allowed once there is an allow list. Types match exactly. */
export class EventFilter {
  #lists: FilterLists = { allowed: [], disallowed: [] };
  #allowed: ReadonlySet<string> | undefined;
  #disallowed: ReadonlySet<string> | undefined;

  get lists(): FilterLists {
    return this.#lists;
  }

  /** Whether an event of this type is sent. */
  lets(type: string): boolean {
    if (!this.#allowed && !this.#disallowed) return true;
    if (alwaysSent.has(type)) return true;
    if (this.#disallowed?.has(type)) return false;
    return this.#allowed?.has(type) ?? true;
  }

  /**
   * Applies a request body: an object with `allowed`, `disallowed` or both; a missing list stays. An empty object or no
   * body clears both; a bare list sets both. All or nothing is applied.
   * @throws AriError eventFilterInvalid
   */
  replace(body: unknown): void {
    this.#lists = read(body, this.#lists);
    this.#allowed = typesOf(this.#lists.allowed);
    this.#disallowed = typesOf(this.#lists.disallowed);
  }
}

const typesOf = (list: readonly FilteredType[]): ReadonlySet<string> | undefined =>
  list.length > 0 ? new Set(list.map((entry) => entry.type)) : undefined;

function read(body: unknown, current: FilterLists): FilterLists {
  if (body === undefined || body === null) return { allowed: [], disallowed: [] };
  if (Array.isArray(body)) {
    const list = readList(body);
    return { allowed: list, disallowed: list };
  }
  if (typeof body !== 'object') throw new AriError('eventFilterInvalid');
  if (Object.keys(body).length === 0) return { allowed: [], disallowed: [] };
  const { allowed, disallowed } = body as { allowed?: unknown; disallowed?: unknown };
  return {
    disallowed: disallowed === undefined ? current.disallowed : readList(disallowed),
    allowed: allowed === undefined ? current.allowed : readList(allowed),
  };
}

function readList(list: unknown): readonly FilteredType[] {
  if (!Array.isArray(list) || !list.every(isFilteredType)) throw new AriError('eventFilterInvalid');
  return list;
}

const isFilteredType = (entry: unknown): entry is FilteredType =>
  typeof entry === 'object' &&
  entry !== null &&
  !Array.isArray(entry) &&
  typeof (entry as { type?: unknown }).type === 'string' &&
  (entry as { type: string }).type !== '';
