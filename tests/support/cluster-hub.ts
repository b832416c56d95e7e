import { type Answerer, type ClusterLink, LinkError, type LinkState } from '../../src/cluster/link.ts';

/** What connects nodes inside the process of a test, in place of NATS. Messages arrive in the order of sending. */
export class ClusterHub {
  readonly table = new Map<string, string>();
  readonly reserved = new Map<string, string>();
  /** What is kept, by subject. */
  readonly logs = new Map<string, { at: number; data: Uint8Array }[]>();
  #appended = 0;
  readonly #listeners: { subject: string; take(data: Uint8Array): void }[] = [];
  readonly #answerers = new Map<string, { answerer: Answerer; isUp(): boolean }>();
  /** Subjects whose requests are never answered. */
  readonly silent = new Set<string>();
  readonly largest = 1_000_000;

  /** The link of one node. */
  link(): ClusterLink & { become(state: LinkState): void } {
    let state: LinkState = 'up';
    const hearing: ((state: LinkState) => void)[] = [];
    const require = (): void => {
      if (state !== 'up') throw new LinkError('down');
    };
    return {
      become(next) {
        state = next;
        for (const listener of hearing) listener(next);
      },
      get state() {
        return state;
      },
      largest: this.largest,
      reason: undefined,
      onState: (listener) => void hearing.push(listener),
      publish: (subject, data) => {
        if (state !== 'up' || data.length > this.largest) return false;
        for (const each of [...this.#listeners]) if (each.subject === subject) each.take(data);
        return true;
      },
      hear: (subject, take) => {
        const listener = { subject, take };
        this.#listeners.push(listener);
        return () => void this.#listeners.splice(this.#listeners.indexOf(listener), 1);
      },
      request: async (subject, data) => {
        require();
        if (this.silent.has(subject)) throw new LinkError('timeout');
        const served = this.#answerers.get(subject);
        if (!served?.isUp()) throw new LinkError('nobody');
        return served.answerer(data);
      },
      serve: (subject, answerer) => {
        this.#answerers.set(subject, { answerer, isUp: () => state === 'up' });
        return () => void this.#answerers.delete(subject);
      },
      reserve: async (key, value) => {
        require();
        const before = this.reserved.get(key);
        if (before === undefined) this.reserved.set(key, value);
        return before;
      },
      claim: async (key, value) => {
        require();
        const before = this.table.get(key);
        if (before === undefined) this.table.set(key, value);
        return before;
      },
      replace: async (key, before, value) => {
        require();
        if (this.table.get(key) !== before) return false;
        this.table.set(key, value);
        return true;
      },
      find: async (key) => {
        require();
        return this.table.get(key);
      },
      release: async (key, row) => {
        require();
        if (row === undefined || this.table.get(key) === row) this.table.delete(key);
      },
      keys: async (prefix) => {
        require();
        return [...this.table.keys()].filter((key) => key.startsWith(`${prefix}.`));
      },
      append: async (subject, data, after) => {
        require();
        if (after !== undefined && this.logs.get(subject)?.at(-1)?.at !== after) throw new LinkError('down');
        const at = ++this.#appended;
        this.logs.set(subject, [...(this.logs.get(subject) ?? []), { at, data }]);
        return at;
      },
      trim: async (subject, before = Number.POSITIVE_INFINITY) => {
        require();
        this.logs.set(
          subject,
          (this.logs.get(subject) ?? []).filter(({ at }) => at >= before),
        );
      },
      kept: async (subject) => {
        require();
        return (this.logs.get(subject) ?? []).map(({ data }) => data);
      },
      close: async () => {
        state = 'closed';
      },
    };
  }
}
