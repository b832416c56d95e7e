import { useEffect, useState } from 'preact/hooks';
import type { Call, CallDetail, CallPage } from '../../src/models/call.ts';
import { ask } from './session.ts';

/** Calls that are no longer live: the answers of searches on the server. */

/** A search; empty texts are no condition. Times as a field of a form holds them, in local time. */
export type StoredSearch = {
  words: string;
  from: string;
  to: string;
  isFailed: boolean;
  count: number;
  /** Further conditions, as the server names them. */
  more: Readonly<Record<string, string>>;
};

/** Conditions that only the server looks at: their names there, and in words. */
export const serverConditions: Readonly<Record<string, { label: string; isNumber?: true }>> = {
  number: { label: 'Number' },
  app: { label: 'Application' },
  endpoint: { label: 'Endpoint' },
  cause: { label: 'Cause (Q.850)', isNumber: true },
  longer_than: { label: 'At least, s', isNumber: true },
  shorter_than: { label: 'At most, s', isNumber: true },
};

/** What a search found. */
export type StoredResult = Pick<CallPage, 'calls' | 'total' | 'unsearched_before'>;

/** Nothing is asked before somebody has stopped typing for so long, in ms. */
const restMs = 300;

const instant = (local: string): string => {
  const at = new Date(local).getTime();
  return Number.isNaN(at) ? '' : String(at);
};

function pathOf({ words, from, to, isFailed, count, more }: StoredSearch): string {
  const query = new URLSearchParams({ stored: 'true', state: 'ended', limit: String(count) });
  const conditions = {
    text: words.trim(),
    from: instant(from),
    to: instant(to),
    outcome: isFailed ? 'failed,refused' : '',
    ...more,
  };
  for (const [name, value] of Object.entries(conditions)) if (value !== '') query.set(name, value);
  return `/hookswitch/calls?${query}`;
}

/** Searches ended calls in memory and on the disk. Undefined while the first answer is awaited, or nothing is asked. */
export function useStoredCalls(search: StoredSearch | undefined): {
  found: StoredResult | undefined;
  problem: string | undefined;
} {
  const path = search && pathOf(search);
  const [found, setFound] = useState<StoredResult>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    setProblem(undefined);
    if (path === undefined) {
      setFound(undefined);
      return undefined;
    }
    let isOver = false;
    const timer = setTimeout(() => {
      ask<CallPage>('GET', path).then(
        (page) => isOver || setFound(page),
        (error: unknown) => isOver || setProblem(String((error as Error).message)),
      );
    }, restMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [path]);
  return { found, problem };
}

/** How often a live call of another node is read, in ms. */
const otherNodeMs = 2_000;

/**
 * A call that cannot be watched live: from memory or the disk, or from another node of the cluster. Undefined until it is
 * there. A live call is read again.
 */
export function useStoredCall(id: string, isWanted: boolean): { call: CallDetail | undefined; isMissing: boolean } {
  const [call, setCall] = useState<CallDetail>();
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (!isWanted) return undefined;
    let isOver = false;
    let isLive = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      const path = `/hookswitch/calls/${encodeURIComponent(id)}`;
      const found = await ask<CallDetail>('GET', path).catch(() => undefined);
      if (isOver) return;
      setMissing(found === undefined);
      if (found) {
        setCall(found);
        isLive = found.state === 'live';
      }
      if (isLive) timer = setTimeout(() => void read(), otherNodeMs);
    };
    void read();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [id, isWanted]);
  return { call, isMissing };
}

const key = 'hookswitch.searches';

/** Names of saved searches with their addresses, as the browser keeps them. */
export function savedSearches(): Readonly<Record<string, string>> {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(key) ?? '{}');
    const pairs = Object.entries(read as object).filter(
      ([, hash]) => typeof hash === 'string' && hash.startsWith('#/'),
    );
    return Object.fromEntries(pairs);
  } catch {
    return {};
  }
}

/** Saves a search under a name, or forgets it. */
export function saveSearch(name: string, hash: string | undefined): void {
  const { [name]: _before, ...others } = savedSearches();
  try {
    localStorage.setItem(key, JSON.stringify(hash === undefined ? others : { ...others, [name]: hash }));
  } catch {
    // A browser that keeps nothing.
  }
}

/** The newer version of each call, newest first. */
export function merged(live: readonly Call[], stored: readonly Call[]): Call[] {
  const known = new Set(live.map(({ id }) => id));
  return [...live, ...stored.filter(({ id }) => !known.has(id))];
}
