import { type LimitHit, uncounted } from '../lib/limit-counts.ts';

/** Limits of unread bytes, in octets. */
export type UnreadLimits = {
  /** For one of them. */
  socket: number;
  /** For all together. */
  total: number;
  /** For those of one address together. */
  address: number;
};

/** The exceeded limit: of the client, of its address, or of all clients. */
export type UnreadExcess = 'socket' | 'address' | 'total';

/** Something that is written to a client as events come. */
type Output = {
  /** The client's address. */
  readonly address: string;
  /** The client's name, for people. */
  readonly client?: string;
  /** The applications whose events it carries, and whether it asked to resume. */
  readonly carries?: { readonly applications: readonly string[]; readonly resumed: boolean };
  /** Octets written that the client's system has not taken yet. */
  unread(): number;
  /** Ends it. For an excess of `socket` it may send a close frame; otherwise it must drop its queue. */
  cut(excess: UnreadExcess, octets: number): void;
};

/** An output that is watched. */
export interface WatchedOutput {
  /** To be called whenever something was written to it; may cut it, or another that holds more. */
  wrote(): void;
  /** Removes it and its queue. */
  remove(): void;
}

/** Bounds what waits for slow clients, all together. */
export interface Unread {
  watch(output: Output): WatchedOutput;
  /** Clients with at least this many unread octets. */
  lagging(octets: number): { client: string; octets: number }[];
  /** Clients that carry an application's events. */
  carrying(application: string): { client: string; octets: number; resumed: boolean }[];
}

type Source = { total: number; entries: Set<Entry> };
type Entry = { output: Output; source: Source; counted: number; cut: boolean };

/**
 * Counts what outputs hold when they are written to, so that writing costs the same however many there are. The count
 * of a client that reads meanwhile is too high until then. All are counted again before a client is disconnected
 * because of others.
 */
export function createUnread(limits: UnreadLimits, hit: LimitHit = uncounted): Unread {
  const sources = new Map<string, Source>();
  let total = 0;

  const count = (entry: Entry, octets: number): void => {
    const grown = octets - entry.counted;
    entry.counted = octets;
    entry.source.total += grown;
    total += grown;
  };
  const remove = (entry: Entry): void => {
    const { source, output } = entry;
    if (!source.entries.delete(entry)) return;
    count(entry, 0);
    if (source.entries.size === 0) sources.delete(output.address);
  };
  const most = <T>(items: Iterable<T>, octetsOf: (item: T) => number): T | undefined => {
    let found: T | undefined;
    for (const item of items) if (found === undefined || octetsOf(item) > octetsOf(found)) found = item;
    return found;
  };
  const relieve = (): void => {
    for (const { entries } of sources.values()) for (const entry of entries) count(entry, entry.output.unread());
    for (;;) {
      const worst = most(sources.values(), (source) => source.total);
      if (!worst || (worst.total <= limits.address && total <= limits.total)) return;
      const victim = most(worst.entries, ({ counted }) => counted);
      if (!victim) return;
      const { counted, output } = victim;
      const excess = total > limits.total ? 'total' : 'address';
      remove(victim);
      hit(excess === 'total' ? 'http.limits.unread_total' : 'http.limits.address_share');
      output.cut(excess, counted);
    }
  };

  return {
    lagging: (least) =>
      [...sources.values()].flatMap(({ entries }) =>
        [...entries].flatMap(({ output }) => {
          const octets = output.unread();
          return octets >= least ? [{ client: output.client ?? output.address, octets }] : [];
        }),
      ),
    carrying: (application) =>
      [...sources.values()].flatMap(({ entries }) =>
        [...entries].flatMap(({ output: { carries, client, address, unread } }) =>
          carries?.applications.includes(application)
            ? [{ client: client ?? address, octets: unread(), resumed: carries.resumed }]
            : [],
        ),
      ),
    watch(output) {
      const source = sources.get(output.address) ?? { total: 0, entries: new Set() };
      sources.set(output.address, source);
      const entry: Entry = { output, source, counted: 0, cut: false };
      source.entries.add(entry);
      return {
        wrote: () => {
          if (!source.entries.has(entry)) return;
          const octets = output.unread();
          count(entry, octets);
          if (octets > limits.socket && !entry.cut) {
            entry.cut = true;
            hit('http.limits.websocket_queue');
            output.cut('socket', octets);
          }
          if (total > limits.total || source.total > limits.address) relieve();
        },
        remove: () => remove(entry),
      };
    },
  };
}
