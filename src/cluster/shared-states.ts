import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../lib/log.ts';

/**
 * State that belongs to the whole cluster. A *part* is what one node knows of something that all nodes have, such as how busy
 * its calls make a phone. A *value* is one for all nodes, such as a mailbox: the latest wins.
 */

type Entry = { key: string; value: unknown; revision: number /** Of a value: when it was set, in ms. */; at?: number };

/** A change of a node. */
export type SharedChange = {
  node: string;
  epoch: string;
  revision: number;
  key: string;
  /** Null: it has none any more. */
  value: unknown;
  at?: number | undefined;
  /** Of a part: what all parts are together, as the node has told its clients. */
  together?: string | undefined;
};

/** Some of the entries of a node, in the order of their keys. */
export type SharedList = { epoch: string; revision: number; entries: Entry[]; more: boolean };

/** Who uses it in this node. */
type SharedUser = {
  /**
   * The part of another node has changed.
   * @param tells whether this node tells clients, if they were told something else
   */
  part(key: string, tells: boolean): void;
  /** A value was set at another node, or removed. */
  value(key: string, value: unknown): void;
  /** What all parts of a key are together, as this node knows them. */
  together(key: string): string | undefined;
};

export interface SharedStates {
  /** Counts the changes of this node. */
  readonly revision: number;
  /**
   * Tells this node's part of something; null: it has none.
   * @param together what clients were told that all parts are together; left out: clients are not told
   */
  tell(key: string, part: string | null, together?: string): void;
  /** The parts of the other nodes. */
  parts(key: string): string[];
  /** Whether the entries of a node are known. */
  isRead(node: string): boolean;
  /** Tells a value that was set here; null: it was removed. */
  set(key: string, value: unknown): void;
  /** A value that is known from before, and older than any that is set. */
  know(key: string, value: unknown): void;
  /** Lets a value go that every node finds out to be over by itself; nobody is told. */
  forget(key: string): void;
  /** Resolves when the nodes that answer have heard what was told before. It never rejects. */
  told(): Promise<void>;
  use(user: SharedUser): void;
  /** Takes a change of another node. */
  change(change: SharedChange): void;
  /** A node has entries as of this revision: asks for what was missed. */
  heard(node: string, epoch: string, revision: number): void;
  /** The parts of a node are gone with it. */
  drop(node: string): void;
  /** The entries behind a key. */
  list(after: string): SharedList;
}

type SharedStatesOptions = {
  node: string;
  epoch: string;
  log: Logger;
  now(): number;
  /** Entries of each node. */
  most: number;
  hit(): void;
  /** Entries of one answer. */
  page: number;
  /** Characters of one message. A longer value stays here. */
  characters: number;
  send(change: SharedChange): void;
  /** Asks a node for its entries behind a key. It may reject. */
  ask(node: string, after: string): Promise<SharedList | undefined>;
  /** The other nodes that answer. */
  others(): string[];
  /** Whether this node is the first, by name, of those that answer. */
  isFirst(): boolean;
};

type Other = { epoch: string; revision: number; parts: Map<string, Entry>; asking: boolean };

/** Who hears nothing yet. */
const nobody: SharedUser = { part() {}, value() {}, together: () => undefined };

export const createSharedStates = (options: SharedStatesOptions): SharedStates => new ClusterStates(options);

class ClusterStates implements SharedStates {
  readonly #options: SharedStatesOptions;
  /** Parts of this node, and the values that it knows. */
  readonly #own = new Map<string, Entry>();
  readonly #others = new Map<string, Other>();
  #user = nobody;
  #revision = 0;

  constructor(options: SharedStatesOptions) {
    this.#options = options;
  }

  get revision(): number {
    return this.#revision;
  }

  use(user: SharedUser): void {
    this.#user = user;
  }

  tell(key: string, part: string | null, together?: string): void {
    if ((this.#own.get(key)?.value ?? null) === part) return;
    if (this.#keep(key, part)) this.#send(key, { value: part, together });
  }

  parts(key: string): string[] {
    const found: string[] = [];
    for (const { parts } of this.#others.values()) {
      const part = parts.get(key)?.value;
      if (typeof part === 'string') found.push(part);
    }
    return found;
  }

  isRead(node: string): boolean {
    const known = this.#others.get(node);
    return known !== undefined && known.revision >= 0 && !known.asking;
  }

  set(key: string, value: unknown): void {
    const { characters, log, hit } = this.#options;
    if (lengthOf(value) > characters) {
      hit();
      log.warn({ key, characters }, 'a value is too long for the other nodes (cluster.piece)');
      return;
    }
    const before = this.#own.get(key);
    if (before ? isDeepStrictEqual(before.value, value) : value === null) return;
    // Clocks need not agree: what replaces another value is later.
    const at = Math.max(this.#options.now(), (before?.at ?? 0) + 1);
    if (this.#keep(key, value, at)) this.#send(key, { value, at });
  }

  know(key: string, value: unknown): void {
    if (!this.#own.has(key)) this.#keep(key, value, 0);
  }

  forget(key: string): void {
    this.#own.delete(key);
  }

  async told(): Promise<void> {
    const { others, ask } = this.#options;
    // A node handles what one other sends in its order.
    await Promise.all(others().map((node) => ask(node, behindAll).catch(() => undefined)));
  }

  change({ node, epoch, revision, key, value, at, together }: SharedChange): void {
    const known = this.#others.get(node);
    if (!known || known.epoch !== epoch || (!known.asking && known.revision + 1 !== revision)) this.#fetch(node);
    const other = this.#others.get(node)!;
    if (other.epoch === epoch) other.revision = Math.max(other.revision, revision);
    this.#take(other, { key, value, revision, ...(at !== undefined && { at }) }, { node, together });
  }

  heard(node: string, epoch: string, revision: number): void {
    const known = this.#others.get(node);
    if (known?.epoch !== epoch || known.revision < revision) this.#fetch(node);
  }

  drop(node: string): void {
    const known = this.#others.get(node);
    if (!known) return;
    this.#others.delete(node);
    for (const key of known.parts.keys()) this.#user.part(key, this.#options.isFirst());
  }

  list(after: string): SharedList {
    const { epoch, page, characters } = this.#options;
    const keys = [...this.#own.keys()].filter((key) => key > after).sort();
    const entries: Entry[] = [];
    let room = characters;
    for (const key of keys.slice(0, page)) {
      const entry = this.#own.get(key)!;
      room -= lengthOf(entry.value) + key.length + entryCharacters;
      if (room < 0 && entries.length > 0) break;
      entries.push(entry);
    }
    return { epoch, revision: this.#revision, entries, more: keys.length > entries.length };
  }

  /** @returns false if there is no room. */
  #keep(key: string, value: unknown, at?: number, revision = this.#revision + 1): boolean {
    if (value === null && at === undefined) {
      this.#revision = revision;
      return this.#own.delete(key);
    }
    if (!this.#own.has(key) && this.#own.size >= this.#options.most) {
      this.#options.hit();
      return false;
    }
    this.#revision = revision;
    this.#own.set(key, { key, value, revision, ...(at !== undefined && { at }) });
    return true;
  }

  #send(key: string, told: Pick<SharedChange, 'value' | 'at' | 'together'>): void {
    const { node, epoch, send } = this.#options;
    send({ node, epoch, revision: this.#revision, key, ...told });
  }

  #take(other: Other, entry: Entry, { node, together }: { node: string; together?: string | undefined }): void {
    const { key, value, at } = entry;
    if (at !== undefined) {
      this.#adopt(key, value, at);
      return;
    }
    const before = other.parts.get(key);
    if (before && before.revision >= entry.revision) return;
    if (value === null) other.parts.delete(key);
    else if (before || other.parts.size < this.#options.most) other.parts.set(key, entry);
    else this.#options.hit();
    // Both have changed at the same time: one of them tells what they are together.
    const differs = together !== undefined && this.#user.together(key) !== together;
    this.#user.part(key, differs && this.#options.node < node);
  }

  /** Takes a value that was set elsewhere, if it is later than ours. Of two at once the same one wins everywhere. */
  #adopt(key: string, value: unknown, at: number): void {
    const before = this.#own.get(key);
    const isOlder = before && (before.at! > at || (before.at === at && sameOrFirst(before.value, value)));
    if (isOlder || (!before && value === null)) return;
    // The others hear it from the node where it was set.
    if (this.#keep(key, value, at, this.#revision)) this.#user.value(key, value);
  }

  /** Reads all entries of a node again. */
  #fetch(node: string): void {
    const known = this.#others.get(node) ?? { epoch: '', revision: -1, parts: new Map<string, Entry>(), asking: false };
    this.#others.set(node, known);
    if (known.asking) return;
    known.asking = true;
    this.#read(node, known)
      .catch((error: unknown) => this.#options.log.warn({ node, error }, 'cannot read the states of a node'))
      .finally(() => {
        known.asking = false;
      });
  }

  async #read(node: string, known: Other): Promise<void> {
    const seen = new Set<string>();
    let first: SharedList | undefined;
    for (let after = ''; ; ) {
      const list = await this.#options.ask(node, after);
      if (!list || this.#others.get(node) !== known) return;
      if (list.epoch !== known.epoch) this.#forget(known, list.epoch);
      first ??= list;
      for (const entry of list.entries) {
        seen.add(entry.key);
        this.#take(known, entry, { node });
      }
      after = list.entries.at(-1)?.key ?? after;
      if (!list.more) break;
    }
    const { revision } = first;
    for (const [key, part] of known.parts)
      if (!seen.has(key) && part.revision <= revision) {
        known.parts.delete(key);
        this.#user.part(key, false);
      }
    known.revision = Math.max(known.revision, revision);
  }

  /** Another process has the name of the node. */
  #forget(known: Other, epoch: string): void {
    known.epoch = epoch;
    known.revision = -1;
    const keys = [...known.parts.keys()];
    known.parts.clear();
    for (const key of keys) this.#user.part(key, false);
  }
}

/** Behind all keys: a list without entries. */
const behindAll = '\u{10ffff}';

/** Of an entry beside its key and value. */
const entryCharacters = 64;

/** Characters that a value takes in a message, about. */
const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : JSON.stringify(value).length);

/** Whether the first of two values that were set at the same time stays. */
const sameOrFirst = (one: unknown, other: unknown): boolean => JSON.stringify(one) >= JSON.stringify(other);
