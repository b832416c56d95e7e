import { createHash } from 'node:crypto';
import { markOf } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { AriError } from '../models/errors.ts';
import { unavailable } from './forwards.ts';
import type { IdDirectory } from './id-directory.ts';
import { type ClusterLink, LinkError } from './link.ts';

/** Kinds of objects whose ids clients can choose. */
export type Kind = 'channel' | 'bridge' | 'playback' | 'recording';

/** An object by its kind and id. */
export type ChosenId = { kind: Kind; id: string };

/** The owners of ids without the mark of their node. No two nodes have the same one. */
export interface Claims {
  /**
   * Takes an id for a new object of this node.
   * @returns whether it is new; false if this node has it already, or its mark says so.
   * @throws (rejects) AriError idOnOtherNode, tooManyIds, clusterUnavailable, clusterBusy
   */
  claim(kind: Kind, id: string): Promise<boolean>;
  /** As {@link claim}, if it is decided without waiting; undefined: it is not. */
  claimAtOnce(kind: Kind, id: string): boolean | undefined;
  /** The request that claimed an id is answered: without an object the id is free again. */
  settle(kind: Kind, id: string, isThere: boolean): void;
  /** Gives back the ids of objects that are gone, and writes those that were decided in memory. */
  sweep(isHere: (kind: Kind, id: string) => boolean): void;
  /** Writes all ids that were decided in memory. @throws (rejects) AriError clusterUnavailable */
  write(): Promise<void>;
  /** The node that has an id; undefined if no node has. @throws (rejects) AriError clusterUnavailable, clusterBusy */
  nodeOf(kind: Kind, id: string): Promise<string | undefined>;
  /**
   * The node that has a request with an idempotency key: `chosen` if none was asked before.
   * @throws (rejects) AriError clusterUnavailable
   */
  nodeOfRequest(user: string, key: string, chosen: string): Promise<string>;
  /** Whether this node has an id, or creates its object. */
  holds(kind: Kind, id: string): boolean;
  /** Takes the ids of objects that an earlier process has left to this one. */
  know(objects: Iterable<ChosenId>): void;
  /** Takes the ids of this node again, and gives back those that an earlier process had. */
  renew(isHere: (kind: Kind, id: string) => boolean): Promise<void>;
  readonly size: number;
}

type ClaimsOptions = {
  link: Pick<ClusterLink, 'claim' | 'replace' | 'find' | 'release' | 'keys' | 'reserve'>;
  directory: Pick<IdDirectory, 'decides' | 'changed'>;
  node: string;
  /** That of the process, which grows when it gets its name back: a late request of another process finds another row. */
  term(): number;
  /** Whether a node is one of the cluster, though it may be away. @throws (rejects) LinkError */
  isNode(name: string): Promise<boolean>;
  /** Whether a node says that it does not have an id. It never rejects. */
  isFreeAt(name: string, id: ChosenId): Promise<boolean>;
  most: number;
  hit(): void;
  log: Logger;
};

/** How often a row is taken that changes meanwhile. */
const mostTries = 3;

/** Rows that are written at the same time. */
const mostAtOnce = 64;

/** Ids are of any length and letters, keys are not. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
const nameOf = (kind: Kind, id: string): string => `${kind}.${id}`;
const keyOf = (kind: Kind, id: string): string => `id.${kind}.${hashOf(id)}`;

/** An id of this node, whether its object is still being created, and what other requests for it wait for. */
type Held = ChosenId & { creating: boolean; claimed: Promise<unknown>; row: string | undefined; term: number };
/** Each claim has a row of its own: what removes an earlier one leaves it. */
type Row = ChosenId & { node: string; term?: number; count?: number };
const readRow = (row: string): Row | undefined => {
  try {
    return JSON.parse(row) as Row;
  } catch {
    return undefined;
  }
};

const done = Promise.resolve();

/** The rows of a node in the table. */
function createRows({
  link,
  node,
  term,
  isNode,
  isFreeAt,
}: Pick<ClaimsOptions, 'link' | 'node' | 'term' | 'isNode' | 'isFreeAt'>) {
  let count = 0;
  const rowOf = ({ kind, id }: ChosenId): string =>
    JSON.stringify({ node, kind, id, term: term(), count: ++count } satisfies Row);
  /** Whether another node has the id of a row. An earlier process of that node may have left it. */
  const isHeld = async ({ node: holder, ...id }: Row): Promise<boolean> =>
    holder === '' || ((await isNode(holder)) && !(await isFreeAt(holder, id)));
  /** @returns the holder, if that is another node. */
  const take = async (key: string, row: string): Promise<Pick<Row, 'node'> | undefined> => {
    try {
      for (let left = mostTries; left > 0; left--) {
        const found = await link.claim(key, row);
        if (found === undefined || found === row) return undefined;
        const holder = readRow(found) ?? { node: '', kind: 'channel', id: '' };
        if (holder.node !== node && (await isHeld(holder))) return holder;
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

export const createClaims = (options: ClaimsOptions): Claims => new NodeClaims(options);

class NodeClaims implements Claims {
  readonly #options: ClaimsOptions;
  readonly #rows;
  readonly #held = new SlotMap<string, Held>();
  /** Those whose rows are not there yet, or may be gone. */
  readonly #unwritten = new SlotMap<string, Held>();
  /** Rows that may be there without an object: NATS did not answer. They are looked at again with the next sweep. */
  readonly #doubtful = new SlotMap<string, true>();
  #writing: Promise<void> | undefined;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#rows = createRows(options);
  }

  get size(): number {
    return this.#held.size;
  }

  claimAtOnce(kind: Kind, id: string): boolean | undefined {
    const { most, node, directory } = this.#options;
    // Other nodes send requests for it here.
    if (markOf(id) === node) return false;
    const name = nameOf(kind, id);
    const before = this.#held.get(name);
    if (before) return before.claimed === done ? false : undefined;
    if (this.#held.size >= most || directory.decides() !== 'memory') return undefined;
    const own: Held = { kind, id, creating: true, claimed: done, row: undefined, term: 0 };
    this.#held.set(name, own);
    this.#unwritten.set(name, own);
    return true;
  }

  async claim(kind: Kind, id: string): Promise<boolean> {
    const { most, hit } = this.#options;
    const atOnce = this.claimAtOnce(kind, id);
    if (atOnce !== undefined) return atOnce;
    const name = nameOf(kind, id);
    const before = this.#held.get(name);
    if (before) {
      await before.claimed;
      return false;
    }
    if (this.#held.size >= most) {
      hit();
      throw new AriError('tooManyIds', { most: String(most) });
    }
    const own: Held = { kind, id, creating: true, claimed: done, row: undefined, term: 0 };
    this.#held.set(name, own);
    const claimed = this.#take(name, own);
    own.claimed = claimed;
    try {
      await claimed;
      own.claimed = done;
      return true;
    } catch (error) {
      this.#held.delete(name);
      if (!(error instanceof AriError && error.code === 'idOnOtherNode')) this.#doubt(keyOf(kind, id));
      throw error;
    }
  }

  holds(kind: Kind, id: string): boolean {
    return this.#held.has(nameOf(kind, id));
  }

  settle(kind: Kind, id: string, isThere: boolean): void {
    const name = nameOf(kind, id);
    const claimed = this.#held.get(name);
    if (!claimed) return;
    claimed.creating = false;
    if (!isThere) this.#letGo(name, claimed);
  }

  sweep(isHere: (kind: Kind, id: string) => boolean): void {
    for (const [name, own] of [...this.#held]) if (!own.creating && !isHere(own.kind, own.id)) this.#letGo(name, own);
    if (this.#options.directory.decides() === undefined) return;
    const again = [...this.#doubtful.keys()];
    this.#doubtful.clear();
    for (const key of again) this.#giveBack(key).catch(() => this.#doubt(key));
    this.write().catch((error: unknown) =>
      this.#options.log.warn({ error }, 'ids cannot be written; it is tried again'),
    );
  }

  write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async nodeOf(kind: Kind, id: string): Promise<string | undefined> {
    const { link, isNode, node } = this.#options;
    if ((await this.#decided()) === 'memory') return this.#held.has(nameOf(kind, id)) ? node : undefined;
    try {
      const holder = readRow((await link.find(keyOf(kind, id))) ?? '')?.node;
      return holder === undefined || (await isNode(holder)) ? holder : undefined;
    } catch (error) {
      throw unavailable(error);
    }
  }

  async nodeOfRequest(user: string, key: string, chosen: string): Promise<string> {
    const { link, isNode } = this.#options;
    try {
      const first = await link.reserve(hashOf(JSON.stringify([user, key])), chosen);
      return first === undefined || !(await isNode(first)) ? chosen : first;
    } catch (error) {
      throw unavailable(error);
    }
  }

  know(objects: Iterable<ChosenId>): void {
    for (const { kind, id } of objects) {
      const own: Held = { kind, id, creating: false, claimed: done, row: undefined, term: 0 };
      if (this.#held.has(nameOf(kind, id)) || this.#held.size >= this.#options.most) continue;
      this.#held.set(nameOf(kind, id), own);
      this.#unwritten.set(nameOf(kind, id), own);
    }
  }

  async renew(isHere: (kind: Kind, id: string) => boolean): Promise<void> {
    const { link } = this.#options;
    await this.#decided();
    for (const [name, own] of this.#held) if (own.row !== undefined) this.#unwritten.set(name, own);
    await this.write();
    const names = new Set([...this.#held.values()].map(({ kind, id }) => keyOf(kind, id)));
    for (const key of await link.keys('id')) {
      if (names.has(key)) continue;
      const found = (await link.find(key)) ?? '';
      const row = readRow(found);
      // It may have been claimed meanwhile.
      if (!row || !this.#isOwn(row) || this.#held.has(nameOf(row.kind, row.id))) continue;
      const { kind, id } = row;
      const own: Held = { kind, id, creating: false, claimed: done, row: found, term: row.term ?? 0 };
      if (isHere(kind, id)) this.#held.set(nameOf(kind, id), own);
      else await link.release(key, found);
    }
  }

  /** How it is decided about an id that is unknown here, as soon as that is known. @throws (rejects) AriError */
  async #decided(): Promise<'memory' | 'row'> {
    const { directory } = this.#options;
    for (;;) {
      const how = directory.decides();
      if (how !== undefined) return how;
      await directory.changed();
    }
  }

  async #take(name: string, own: Held): Promise<void> {
    const { directory } = this.#options;
    for (;;) {
      // Nothing may happen between the decision and its entry.
      const how = directory.decides();
      if (how === 'memory') return void this.#unwritten.set(name, own);
      if (how === 'row') break;
      await directory.changed();
    }
    const row = this.#rowOf(own);
    const holder = await this.#rows.take(keyOf(own.kind, own.id), row);
    if (holder) throw new AriError('idOnOtherNode', { id: own.id, node: holder.node });
  }

  /** The row of an id, which is another one for each claim and term. */
  #rowOf(own: Held): string {
    const term = this.#options.term();
    if (own.row !== undefined && own.term === term) return own.row;
    own.term = term;
    own.row = this.#rows.rowOf(own);
    return own.row;
  }

  async #writeAll(): Promise<void> {
    while (this.#unwritten.size > 0) {
      const some: Promise<void>[] = [];
      for (const [name, own] of this.#unwritten) {
        if (some.length === mostAtOnce) break;
        some.push(this.#writeRow(name, own, this.#rowOf(own)));
      }
      const failed = (await Promise.allSettled(some)).find(({ status }) => status === 'rejected');
      if (failed) throw (failed as PromiseRejectedResult).reason;
    }
  }

  async #writeRow(name: string, own: Held, row: string): Promise<void> {
    const { link, log } = this.#options;
    const { kind, id } = own;
    const holder = await this.#rows.take(keyOf(kind, id), row);
    if (this.#unwritten.get(name) === own) this.#unwritten.delete(name);
    if (holder) log.error({ kind, id, node: holder.node }, 'an id is in use on two nodes');
    // Its object has gone meanwhile.
    else if (this.#held.get(name) !== own) await link.release(keyOf(kind, id), row);
  }

  #letGo(name: string, { kind, id, row }: Held): void {
    const { link, log } = this.#options;
    this.#held.delete(name);
    const isUnsure = this.#unwritten.delete(name);
    if (row === undefined) return;
    const key = keyOf(kind, id);
    if (isUnsure) this.#doubt(key);
    link.release(key, row).catch((error: unknown) => {
      this.#doubt(key);
      log.warn({ error }, 'cannot release an id of the cluster; it is tried again');
    });
  }

  #doubt(key: string): void {
    const { most, hit } = this.#options;
    if (this.#doubtful.size < most) this.#doubtful.set(key, true);
    else hit();
  }

  /** Whether a row is of this process, or of an earlier one: another one may have the name of this node by now. */
  #isOwn({ node, term = 0 }: Row): boolean {
    return node === this.#options.node && term <= this.#options.term();
  }

  /** Removes a row of this node whose object is gone. */
  async #giveBack(key: string): Promise<void> {
    const { link } = this.#options;
    const row = (await link.find(key)) ?? '';
    const found = readRow(row);
    if (found && this.#isOwn(found) && !this.#held.has(nameOf(found.kind, found.id))) await link.release(key, row);
  }
}
