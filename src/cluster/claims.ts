import { createHash } from 'node:crypto';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { AriError } from '../models/errors.ts';
import { type ClusterLink, LinkError } from './link.ts';

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
  /** Whether a node is one of the cluster, though it may be away. @throws (rejects) LinkError */
  isNode(name: string): Promise<boolean>;
  most: number;
  hit(): void;
  log: Logger;
};

/** Ids are of any length and letters, keys are not. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
const keyOf = (kind: Kind, id: string): string => `id.${kind}.${hashOf(id)}`;

/** An id of this node, whether its object is still being created, and what other requests for it wait for. */
type Held = { kind: Kind; id: string; creating: boolean; claimed: Promise<unknown> };
type Row = { node: string; kind: Kind; id: string };
const readRow = (row: string): Row | undefined => {
  try {
    return JSON.parse(row) as Row;
  } catch {
    return undefined;
  }
};

/** The refusal where the table cannot be asked. */
export function unavailable(error: unknown): AriError {
  const failure = error instanceof LinkError ? error.failure : 'down';
  const why =
    failure === 'timeout'
      ? 'NATS does not answer in time'
      : failure === 'excluded'
        ? 'another server has the name of this node (cluster.name)'
        : 'NATS with JetStream is not connected';
  return new AriError('clusterUnavailable', { why }, { cause: error });
}

export function createClaims({ link, node, isNode, most, hit, log }: ClaimsOptions): Claims {
  const held = new SlotMap<string, Held>();
  const take = async (key: string, row: Row): Promise<Row | undefined> => {
    try {
      const found = await link.claim(key, JSON.stringify(row));
      if (found === undefined) return undefined;
      const holder = readRow(found) ?? { ...row, node: '' };
      // What a node that was forgotten had is nobody's.
      if (holder.node === '' || holder.node === node || (await isNode(holder.node))) return holder;
      return (await link.replace(key, found, JSON.stringify(row))) ? undefined : holder;
    } catch (error) {
      throw unavailable(error);
    }
  };
  const letGo = (key: string): void => {
    held.delete(key);
    // A row that stays is given back behind the next connection with NATS.
    link.release(key).catch((error: unknown) => log.warn({ error }, 'cannot release an id of the cluster'));
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
      const claimed = take(key, { node, kind, id }).then((holder) => {
        if (holder && holder.node !== node) throw new AriError('idOnOtherNode', { id, node: holder.node });
      });
      held.set(key, { kind, id, creating: true, claimed });
      try {
        await claimed;
        return true;
      } catch (error) {
        held.delete(key);
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
      for (const [key, { kind, id }] of [...held]) {
        const holder = await take(key, { node, kind, id });
        if (holder && holder.node !== node) log.error({ kind, id, node: holder.node }, 'an id is in use on two nodes');
      }
      for (const key of await link.keys('id')) {
        if (held.has(key)) continue;
        const row = readRow((await link.find(key)) ?? '');
        if (row?.node !== node) continue;
        if (isHere(row.kind, row.id))
          held.set(key, { kind: row.kind, id: row.id, creating: false, claimed: Promise.resolve() });
        else await link.release(key);
      }
    },
    get size() {
      return held.size;
    },
  };
}
