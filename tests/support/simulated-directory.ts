import * as assert from 'uvu/assert';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import { directoryKey } from '../../src/cluster/id-directory.ts';
import type { ClusterLink } from '../../src/cluster/link.ts';
import { holderOf, nodeKey } from '../../src/cluster/named-link.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { AriError } from '../../src/models/errors.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { type VirtualLink, VirtualNats } from '../../src/virtual/nats.ts';
import { createRandom, type Random } from '../../src/virtual/random.ts';
import { silentLog as log } from './log.ts';

/** Times in ms. */
const settings = {
  ...{ cluster: 'c', requestTimeoutMs: 2_000, heartbeatMs: 1_000, suspectAfterMs: 3_000, awayAfterMs: 5_000 },
  ...{ isolatedAfterMs: 0, retryMs: 500, registerAfterMs: 8_000, awaitMs: 0, movedOctets: 1, requests: 100, octets: 1 },
  ...{ piece: 100_000, streams: 1, ids: 100, nodes: 10, states: 10 },
};

const names = ['a', 'b', 'c'];
/** Few ids, so that nodes compete for them. */
const chosen = ['lobby', 'hall', 'attic', 'cellar'];

/** A process may stand still: what happens to it meanwhile happens when it goes on. */
class Freezer {
  #waiting: (() => void)[] | undefined;

  get isFrozen(): boolean {
    return this.#waiting !== undefined;
  }

  readonly pass = (run: () => void): void => {
    if (this.#waiting) this.#waiting.push(run);
    else run();
  };

  freeze(): void {
    this.#waiting ??= [];
  }

  thaw(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const run of waiting) run();
  }

  promise<T>(asked: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      asked.then(
        (value) => this.pass(() => resolve(value)),
        (error) => this.pass(() => reject(error)),
      );
    });
  }
}

/** A link whose process may stand still. It hears of a broken connection when it goes on. */
function frozenLink(link: VirtualLink, freezer: Freezer): ClusterLink {
  const { pass } = freezer;
  let { state } = link;
  const listeners: ((state: ClusterLink['state']) => void)[] = [];
  link.onState((next) =>
    pass(() => {
      state = next;
      for (const listener of listeners) listener(next);
    }),
  );
  const held =
    <A extends unknown[], R>(run: (...asked: A) => Promise<R>) =>
    (...asked: A): Promise<R> =>
      freezer.promise(run(...asked));
  return {
    get state() {
      return state;
    },
    largest: link.largest,
    get reason() {
      return link.reason;
    },
    onState: (listener) => void listeners.push(listener),
    publish: (subject, data) => link.publish(subject, data),
    hear: (subject, take) => link.hear(subject, (data) => pass(() => take(data))),
    serve: (subject, answerer) =>
      link.serve(
        subject,
        (data) => new Promise((resolve, reject) => pass(() => void answerer(data).then(resolve, reject))),
      ),
    request: held(link.request),
    claim: held(link.claim),
    replace: held(link.replace),
    find: held(link.find),
    release: held(link.release),
    keys: held(link.keys),
    reserve: held(link.reserve),
    append: held(link.append),
    trim: held(link.trim),
    kept: held(link.kept),
    close: () => link.close(),
  };
}

/** An object with a chosen id, and the term of the process when its id was asked for. */
type Made = { term: number; isSettled: boolean; isExposed: boolean };

/** A process that is a node. */
class DirectoryNode {
  readonly name: string;
  readonly process: string;
  readonly link: VirtualLink;
  readonly cluster: Cluster;
  readonly objects = new Map<string, Made>();
  readonly freezer = new Freezer();
  isAlive = true;
  isCut = false;

  constructor({ clock: time, nats }: { clock: ManualClock; nats: VirtualNats }, name: string, process: string) {
    this.name = name;
    this.process = process;
    this.link = nats.link();
    const clock: Clock = {
      now: () => time.now(),
      monotonic: () => time.monotonic(),
      setTimeout: (run, ms) => time.setTimeout(() => this.freezer.pass(() => this.isAlive && run()), ms),
      clearTimeout: (id) => time.clearTimeout(id),
      soon: (run) => time.soon(() => this.freezer.pass(() => this.isAlive && run())),
    };
    let ids = 0;
    this.cluster = createCluster({
      ...{ settings: { ...settings, name }, link: frozenLink(this.link, this.freezer), clock, log, tables: undefined },
      ...{ hit() {}, callOf: () => undefined, recorded: async () => {}, newId: () => `${process}-${++ids}` },
      applications: {} as never,
    });
    this.cluster.serve({
      isHere: (_kind: string, id: string) => this.objects.has(id),
      ...{ chosenIds: () => [], figures: () => ({}), isolated() {}, phones: {}, readiness: () => 'ready' },
    } as never);
  }

  get isMember(): boolean {
    return this.isAlive && this.cluster.nodes().some(({ self, state }) => self && state === 'member');
  }
}

/** Nodes that compete for ids, one of them alone at times. A seed decides what happens. */
export class SimulatedDirectory {
  readonly clock = new ManualClock();
  readonly nats: VirtualNats;
  readonly story: string[] = [];
  /** Ids that were taken, and those that were taken in memory. */
  readonly counts = { taken: 0, inMemory: 0, found: 0, exposed: 0 };
  /** Objects that were not found. */
  readonly #missed: string[] = [];
  readonly #random: Random;
  readonly #nodes: DirectoryNode[] = [];

  constructor(seed: number) {
    this.#random = createRandom(seed);
    this.nats = new VirtualNats({
      ...{ clock: this.clock, seed: seed + 1, jitterMs: 40, breaksAfterMs: 4_000, reconnectMs: 500 },
    });
    this.#watchDirectory();
  }

  async begin(): Promise<void> {
    this.#start('a');
    await this.clock.run(2_000);
  }

  async step(): Promise<void> {
    const node = this.#pick(this.#alive);
    const roll = this.#random();
    if (roll < 0.2) await this.#happen();
    else if (node && !node.freezer.isFrozen && roll < 0.7) void this.#make(node);
    else if (node && roll < 0.85) this.#unmake(node);
    else void this.#look();
    await this.clock.run(Math.floor(this.#random() * 300));
    this.#requireOneOwner();
    assert.equal(this.#missed, []);
  }

  /** Everything is mended: each id has its row, and then all ids can be taken by every node. */
  async check(): Promise<void> {
    for (const node of this.#alive) this.#mend(node);
    for (const name of names) if (!this.#alive.some((node) => node.name === name)) this.#start(name);
    await this.clock.run(30_000);
    this.#requireOneOwner();
    assert.equal(this.#members.map(({ name }) => name).sort(), names, 'one process has each name');
    assert.not(this.nats.table.has(directoryKey), 'no node is alone');
    this.#checkRows();
    for (const node of this.#alive) node.objects.clear();
    await this.clock.run(5_000);
    const stuck = this.#stuck;
    const orphans = this.#rows.filter(({ id }) => !stuck.includes(id));
    assert.equal(orphans, [], 'rows without an object');
    for (const [at, id] of chosen.entries()) {
      if (stuck.includes(id)) continue;
      const node = this.#members[at % names.length]!;
      await this.#until(this.#make(node, id));
      assert.ok(node.objects.has(id), `${id} cannot be taken by ${node.process}`);
    }
    this.#requireOneOwner();
  }

  end(): void {
    for (const node of this.#alive) this.#kill(node);
  }

  get #alive(): DirectoryNode[] {
    return this.#nodes.filter(({ isAlive }) => isAlive);
  }

  get #members(): DirectoryNode[] {
    return this.#alive.filter((node) => node.isMember);
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }

  async #until(done: Promise<void>): Promise<void> {
    let isDone = false;
    const ended = done.finally(() => {
      isDone = true;
    });
    while (!isDone) await this.clock.run(10);
    await ended;
  }

  /** A process that had the directory, and from which another one takes it, may have ids that nobody else knows. */
  #watchDirectory(): void {
    const { table } = this.nats;
    const processOf = (row: string | undefined): DirectoryNode | undefined => {
      const { epoch = '' } = JSON.parse(row ?? '{}') as { epoch?: string };
      return this.#nodes.find(({ process }) => epoch.startsWith(`${process}-`));
    };
    const change = (key: string, row?: string): void => {
      const holder = processOf(table.get(key));
      if (!holder || holder === processOf(row)) return;
      for (const [id, made] of holder.objects) {
        if (this.#rows.some(({ node, id: written }) => node === holder.name && written === id)) continue;
        made.isExposed = true;
        this.counts.exposed++;
      }
    };
    const { set, delete: remove } = table;
    table.set = (key, row) => {
      if (key === directoryKey) change(key, row);
      // Others may have the ids of a process whose name another one had, also when it gets the name back.
      const named = this.#nodes.filter(
        ({ name, process }) => key === nodeKey(name) && process !== processOf(row)?.process,
      );
      for (const { objects } of named) for (const made of objects.values()) made.isExposed = true;
      return set.call(table, key, row);
    };
    table.delete = (key) => {
      if (key === directoryKey) change(key);
      return remove.call(table, key);
    };
  }

  get #rows(): { node: string; id: string; term: number }[] {
    return [...this.nats.table]
      .filter(([key]) => key.startsWith('id.'))
      .map(([, row]) => JSON.parse(row) as { node: string; id: string; term: number });
  }

  /** Ids that a process has taken while another one took its name. They stay until the node starts again. */
  get #stuck(): string[] {
    return this.#rows.filter(({ node, term }) => term !== this.#termOf(node)).map(({ id }) => id);
  }

  #start(name: string): void {
    const process = `${name}${this.#nodes.length + 1}`;
    this.story.push(`${process} starts`);
    this.#nodes.push(new DirectoryNode(this, name, process));
  }

  #kill(node: DirectoryNode): void {
    node.isAlive = false;
    node.link.crash();
  }

  #mend(node: DirectoryNode): void {
    node.link.cut(false);
    node.isCut = false;
    node.freezer.thaw();
  }

  async #happen(): Promise<void> {
    const node = this.#pick(this.#alive);
    const roll = this.#random();
    if (!node || roll < 0.25) {
      // Maybe beside a process of that name which is cut off or stands still.
      const there = this.#alive.filter((one) => !one.isCut && !one.freezer.isFrozen);
      const name = this.#pick(names.filter((each) => !there.some((one) => one.name === each)));
      if (name !== undefined) this.#start(name);
    } else if (roll < 0.4) {
      this.story.push(`${node.process} is killed`);
      this.#kill(node);
    } else if (roll < 0.55) await this.#leave(node);
    else if (roll < 0.7) {
      this.story.push(`${node.process} is ${node.isCut ? 'there again' : 'cut off'}`);
      node.isCut = !node.isCut;
      node.link.cut(node.isCut);
    } else if (roll < 0.88) await this.#stop(node);
    else if (roll < 0.93) {
      this.story.push('NATS restarts');
      this.nats.stop(true);
      await this.clock.run(Math.floor(this.#random() * 8_000));
      this.nats.stop(false);
    } else await this.clock.run(Math.floor(this.#random() * 12_000));
  }

  /** It ends in order, without its objects. */
  async #leave(node: DirectoryNode): Promise<void> {
    if (node.freezer.isFrozen) return;
    this.story.push(`${node.process} leaves`);
    node.objects.clear();
    await this.#until(node.cluster.close());
    this.#kill(node);
  }

  async #stop(node: DirectoryNode): Promise<void> {
    if (!node.freezer.isFrozen) {
      this.story.push(`${node.process} stands still`);
      return node.freezer.freeze();
    }
    this.story.push(`${node.process} goes on`);
    // A request may be read before anything that has come from NATS, and before any timer.
    const making = this.#make(node);
    this.#requireOneOwner();
    node.freezer.thaw();
    void making;
    this.#requireOneOwner();
  }

  #termOf(name: string): number {
    return holderOf(this.nats.table.get(nodeKey(name)))?.term ?? 0;
  }

  async #make(node: DirectoryNode, id = this.#pick(chosen)!): Promise<void> {
    const made: Made = { term: this.#termOf(node.name), isSettled: false, isExposed: false };
    const rows = this.#rows.length;
    try {
      if (!(await node.cluster.claims.claim('bridge', id))) return;
    } catch (error) {
      if (error instanceof AriError) return;
      throw error;
    }
    if (!node.isAlive) return;
    this.counts.taken++;
    if (this.#rows.length === rows) this.counts.inMemory++;
    node.objects.set(id, made);
    node.cluster.claims.settle('bridge', id, true);
    made.isSettled = true;
  }

  #unmake(node: DirectoryNode): void {
    const id = this.#pick([...node.objects.keys()]);
    if (id !== undefined) node.objects.delete(id);
  }

  /** A node looks for an object that is somewhere. It finds it, if it is there for as long as it is looked for. */
  async #look(): Promise<void> {
    const owner = this.#pick(this.#alive.filter(({ objects }) => objects.size > 0));
    const node = this.#pick(this.#members.filter((one) => one.name !== owner?.name && !one.freezer.isFrozen));
    const id = owner && this.#pick([...owner.objects.keys()]);
    const made = id === undefined ? undefined : owner?.objects.get(id);
    if (!owner || !node || id === undefined || !made?.isSettled) return;
    const isThere = (): boolean => owner.isAlive && owner.objects.get(id) === made && this.#counts(owner, made);
    if (!isThere()) return;
    let found: string | undefined;
    try {
      found = await node.cluster.claims.nodeOf('bridge', id);
    } catch (error) {
      if (error instanceof AriError) return;
      throw error;
    }
    if (!node.isAlive || !isThere()) return;
    if (found === owner.name) this.counts.found++;
    else this.#missed.push(`${node.process} looks for '${id}' of ${owner.process}, and finds ${found}`);
  }

  /** Whether the process has had its name since it made an object, and nobody took the directory from it meanwhile. */
  #counts({ name }: DirectoryNode, { term, isExposed }: Made): boolean {
    return !isExposed && term === this.#termOf(name);
  }

  /** Also among processes that are cut off or stand still. */
  #requireOneOwner(): void {
    for (const id of chosen) {
      const owners = this.#alive.filter((node) => {
        const made = node.objects.get(id);
        return made && this.#counts(node, made);
      });
      assert.equal(owners.map(({ process }) => process).slice(1), [], `'${id}' has one owner`);
    }
  }

  #checkRows(): void {
    const there = this.#members.flatMap(({ name, objects }) => [...objects.keys()].map((id) => `${name} ${id}`));
    const own = this.#members.flatMap((node) =>
      [...node.objects].filter(([, made]) => this.#counts(node, made)).map(([id]) => `${node.name} ${id}`),
    );
    const written = this.#rows.map(({ node, id }) => `${node} ${id}`);
    const stuck = this.#stuck;
    const orphans = this.#rows.filter(({ node, id }) => !stuck.includes(id) && !there.includes(`${node} ${id}`));
    assert.equal(orphans, [], 'rows without an object');
    assert.equal(own.filter((each) => !written.includes(each)).sort(), [], 'objects without a row');
  }
}
