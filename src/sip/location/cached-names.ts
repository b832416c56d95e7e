import type { Clock } from '../../lib/clock.ts';
import type { AddressRecord, NameServer } from './names.ts';

export type CacheLimits = {
  /** Shortest and longest time that an answer is cached, in ms; failures have the shortest. */
  readonly minimumMs: number;
  readonly maximumMs: number;
  /** Cached answers; beyond it the oldest is dropped. */
  readonly most: number;
};

type Kept = { readonly answer: Promise<readonly object[]>; until: number };

/**
 * Remembers what a name server has said. Questions that are under way are asked once. Services say nothing of how long they
 * hold here, and are believed for the shortest time.
 */
export function cachedNames(
  server: NameServer,
  clock: Clock,
  limits: CacheLimits,
): NameServer & { readonly size: number } {
  const kept = new Map<string, Kept>();

  const ask = <T extends object>(
    kind: string,
    name: string,
    question: () => Promise<readonly T[]>,
    ttlMs: (answer: readonly T[]) => number,
  ): Promise<readonly T[]> => {
    const key = `${kind} ${name.toLowerCase()}`;
    const known = kept.get(key);
    if (known && clock.monotonic() < known.until) return known.answer as Promise<readonly T[]>;
    const answer = question();
    const entry: Kept = { answer, until: Number.POSITIVE_INFINITY };
    kept.delete(key);
    kept.set(key, entry);
    if (kept.size > limits.most) kept.delete(kept.keys().next().value!);
    const believe = (ms: number) => {
      entry.until = clock.monotonic() + Math.min(limits.maximumMs, Math.max(limits.minimumMs, ms));
    };
    answer.then(
      (records) => believe(ttlMs(records)),
      () => believe(0),
    );
    return answer;
  };

  const shortest = () => 0;
  const leastTtl = (records: readonly AddressRecord[]) => Math.min(...records.map(({ ttl }) => ttl), 86_400) * 1000;
  return {
    naptr: (name) => ask('naptr', name, () => server.naptr(name), shortest),
    srv: (name) => ask('srv', name, () => server.srv(name), shortest),
    addresses: (name) =>
      ask(
        'addresses',
        name,
        () => server.addresses(name),
        (all) => (all.length > 0 ? leastTtl(all) : 0),
      ),
    get size() {
      return kept.size;
    },
  };
}
