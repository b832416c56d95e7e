import { type LimitHit, uncounted } from '../lib/limit-counts.ts';

/** What may wait for clients that do not read, in octets. */
export type UnreadLimits = {
  /** For one of them. */
  socket: number;
  /** For all together. */
  total: number;
  /** For those of one address together. */
  address: number;
};

/** Why nothing more is sent to a client: it has fallen too far behind, or all of them or its address have. */
export type UnreadExcess = 'socket' | 'address' | 'total';

/** Something that is written to a client as events come. */
type Output = {
  /** Where the client is. */
  readonly address: string;
  /** Who reads it, for people. */
  readonly client?: string;
  /** The applications whose events it carries, and whether it asked for those that were missed. */
  readonly carries?: { readonly applications: readonly string[]; readonly resumed: boolean };
  /** Octets written that the client's system has not taken yet. */
  unread(): number;
  /** Ends it. For an excess of `socket` it may say goodbye; otherwise it must let go of what waits at once. */
  cut(excess: UnreadExcess, octets: number): void;
};

/** An output that is watched. */
export interface WatchedOutput {
  /** To be called whenever something was written to it; may cut it, or another that holds more. */
  wrote(): void;
  /** It is gone, and what waited with it. */
  remove(): void;
}

/** Bounds what waits for slow clients, all together. */
export interface Unread {
  watch(output: Output): WatchedOutput;
  /** Those for whom at least so many octets wait. */
  lagging(octets: number): { client: string; octets: number }[];
  /** Those that carry the events of an application. */
  carrying(application: string): { client: string; octets: number; resumed: boolean }[];
}

type Source = { total: number; entries: Set<Entry> };
type Entry = { output: Output; source: Source; counted: number; cut: boolean };

/**
 * Counts what outputs hold when they are written to, so that writing costs the same however many there are. A client
 * that reads in between is counted too high until then; all are counted anew before one is cut because of others.
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
