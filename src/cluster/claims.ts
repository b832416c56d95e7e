import { createHash } from 'node:crypto';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { AriError } from '../models/errors.ts';
import { reasons } from './forwards.ts';
import { type ClusterLink, LinkError, type LinkFailure } from './link.ts';

/** Kinds of objects whose ids clients can choose. */
export type Kind = 'channel' | 'bridge' | 'playback' | 'recording';

/** The owners of ids without a node's mark. No two nodes have the same one. */
export interface Claims {
  /**
   * Takes an id for a new object of this node.
   * @returns whether it is new; false if this node has it already.
   * @throws (rejects) AriError idOnOtherNode, tooManyIds, clusterUnavailable
   */
  claim(kind: Kind, id: string): Promise<boolean>;
  /** The request that claimed an id is answered: without an object the id is free again. */
  settle(kind: Kind, id: string, isThere: boolean): void;
  /** Gives back the ids of objects that are gone. */
  sweep(isHere: (kind: Kind, id: string) => boolean): void;
  /** The node that has an id; undefined if no node has. @throws (rejects) AriError clusterUnavailable */
  nodeOf(kind: Kind, id: string): Promise<string | undefined>;
  /**
   * The node that has a request with an idempotency key: `chosen` if none was asked before.
   * @throws (rejects) AriError clusterUnavailable
   */
  nodeOfRequest(user: string, key: string, chosen: string): Promise<string>;
  /** Takes the ids of this node again, and gives back those that an earlier process had. */
  renew(isHere: (kind: Kind, id: string) => boolean): Promise<void>;
  readonly size: number;
}

type ClaimsOptions = {
  link: Pick<ClusterLink, 'claim' | 'replace' | 'find' | 'release' | 'keys' | 'reserve'>;
  node: string;
  /** That of the process, which grows when it gets its name back: a late request of another process finds another row. */
  term(): number;
  /** Whether a node is one of the cluster, though it may be away. @throws (rejects) LinkError */
  isNode(name: string): Promise<boolean>;
  most: number;
  hit(): void;
  log: Logger;
};

/** How often a row is taken that changes meanwhile. */
const mostTries = 3;

/** Ids are of any length and letters, keys are not. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
const keyOf = (kind: Kind, id: string): string => `id.${kind}.${hashOf(id)}`;

/** An id of this node, whether its object is still being created, and what other requests for it wait for. */
type Held = { kind: Kind; id: string; creating: boolean; claimed: Promise<unknown>; row: string };
type Row = { node: string; kind: Kind; id: string; term?: number };
const readRow = (row: string): Row | undefined => {
  try {
    return JSON.parse(row) as Row;
  } catch {
    return undefined;
  }
};

/** Why the table cannot be asked, for people. */
const reasonsOfTable: Readonly<Partial<Record<LinkFailure, string>>> = {
  timeout: 'NATS does not answer in time',
  full: reasons.full,
  excluded: 'another server has the name of this node (cluster.name)',
};

/** The refusal where the table cannot be asked. */
export function unavailable(error: unknown): AriError {
  const failure = error instanceof LinkError ? error.failure : 'down';
  const why = reasonsOfTable[failure] ?? 'NATS with JetStream is not connected';
  return new AriError('clusterUnavailable', { why }, { cause: error });
}

/** The rows of a node in the table. */
function createRows({ link, node, term, isNode }: Pick<ClaimsOptions, 'link' | 'node' | 'term' | 'isNode'>) {
  const rowOf = (kind: Kind, id: string): string => JSON.stringify({ node, kind, id, term: term() } satisfies Row);
  /** @returns the holder, if that is another node. */
  const take = async (key: string, row: string): Promise<Pick<Row, 'node'> | undefined> => {
    try {
      for (let left = mostTries; left > 0; left--) {
        const found = await link.claim(key, row);
        if (found === undefined || found === row) return undefined;
        const holder = readRow(found) ?? { node: '' };
        if (holder.node !== node && (holder.node === '' || (await isNode(holder.node)))) return holder;
        // What a node that was forgotten had is nobody's, and what an earlier process of this one had is its own.
        if (await link.replace(key, found, row)) return undefined;
      }
      throw new LinkError('timeout');
    } catch (error) {
      throw unavailable(error);
    }
  };
  return { rowOf, take };
}

export function createClaims({ link, node, term, isNode, most, hit, log }: ClaimsOptions): Claims {
  const held = new SlotMap<string, Held>();
  const { rowOf, take } = createRows({ link, node, term, isNode });
  /** Rows that may be there without an object: NATS did not answer. They are looked at again with the next sweep. */
  const doubtful = new SlotMap<string, true>();
  const doubt = (key: string): void => void (doubtful.size < most ? doubtful.set(key, true) : hit());
  const letGo = (key: string): void => {
    const row = held.get(key)?.row;
    held.delete(key);
    link.release(key, row).catch((error: unknown) => {
      doubt(key);
      log.warn({ error }, 'cannot release an id of the cluster; it is tried again');
    });
  };
  const giveBack = async (key: string): Promise<void> => {
    const row = (await link.find(key)) ?? '';
    if (readRow(row)?.node === node && !held.has(key)) await link.release(key, row);
  };

  return {
    async claim(kind, id) {
      const key = keyOf(kind, id);
      const before = held.get(key);
      if (before) {
        await before.claimed;
        return false;
      }
      if (held.size >= most) {
        hit();
        throw new AriError('tooManyIds', { most: String(most) });
      }
      const row = rowOf(kind, id);
      const claimed = take(key, row).then((holder) => {
        if (holder) throw new AriError('idOnOtherNode', { id, node: holder.node });
      });
      held.set(key, { kind, id, creating: true, claimed, row });
      try {
        await claimed;
        return true;
      } catch (error) {
        held.delete(key);
        if (!(error instanceof AriError && error.code === 'idOnOtherNode')) doubt(key);
        throw error;
      }
    },
    settle(kind, id, isThere) {
      const key = keyOf(kind, id);
      const claimed = held.get(key);
      if (!claimed) return;
      claimed.creating = false;
      if (!isThere) letGo(key);
    },
    sweep(isHere) {
      for (const [key, { kind, id, creating }] of [...held]) if (!creating && !isHere(kind, id)) letGo(key);
      const again = [...doubtful.keys()].filter((key) => !held.has(key));
      doubtful.clear();
      for (const key of again) giveBack(key).catch(() => doubt(key));
    },
    async nodeOf(kind, id) {
      try {
        const holder = readRow((await link.find(keyOf(kind, id))) ?? '')?.node;
        return holder === undefined || (await isNode(holder)) ? holder : undefined;
      } catch (error) {
        throw unavailable(error);
      }
    },
    async nodeOfRequest(user, key, chosen) {
      try {
        const first = await link.reserve(hashOf(JSON.stringify([user, key])), chosen);
        return first === undefined || !(await isNode(first)) ? chosen : first;
      } catch (error) {
        throw unavailable(error);
      }
    },
    async renew(isHere) {
      for (const [key, own] of [...held]) {
        const { kind, id } = own;
        own.row = rowOf(kind, id);
        const holder = await take(key, own.row);
        if (holder) log.error({ kind, id, node: holder.node }, 'an id is in use on two nodes');
      }
      for (const key of await link.keys('id')) {
        if (held.has(key)) continue;
        const found = (await link.find(key)) ?? '';
        const row = readRow(found);
        // It may have been claimed meanwhile.
        if (row?.node !== node || held.has(key)) continue;
        const { kind, id } = row;
        if (isHere(kind, id)) held.set(key, { kind, id, creating: false, claimed: Promise.resolve(), row: found });
        else await link.release(key, found);
      }
    },
    get size() {
      return held.size;
    },
  };
}
