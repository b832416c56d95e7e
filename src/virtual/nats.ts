import { type Answerer, type ClusterLink, LinkError, type LinkState } from '../cluster/link.ts';
import type { ManualClock } from './manual-clock.ts';
import { createRandom, type Random } from './random.ts';

/** Times of a simulated NATS, in ms. */
type VirtualNatsTimes = {
  /** A message from a client to NATS, or back, takes 1 ms and at most so much more. */
  jitterMs: number;
  /** A connection that is cut for longer is lost, with all that waited on it. */
  breaksAfterMs: number;
  /** A client connects again within this time. */
  reconnectMs: number;
};

/** A connection of a client. */
export type VirtualLink = ClusterLink & {
  /** The process was killed: NATS knows at once. */
  crash(): void;
  /** Cuts the network between the client and NATS, or mends it. */
  cut(is: boolean): void;
};

type Listener = { subject: string; client: Client; take(data: Uint8Array): void };
type Kept = { at: number; data: Uint8Array };

/** What waits on a cut connection. */
type Waiting = (() => void)[];

/** A client and its connection. */
type Client = {
  state: LinkState;
  isCut: boolean;
  /** NATS has a connection of it. */
  isKnown: boolean;
  waiting: Waiting;
  /** When the last message in each direction arrives: messages keep their order. */
  arrives: { up: number; down: number };
  /** Messages of an earlier connection are dropped. */
  connection: number;
  timer: unknown;
  readonly hearing: ((state: LinkState) => void)[];
};

/**
 * NATS in simulated time: messages that keep their order for each client and are delayed at random, connections that are cut
 * and break, a key-value bucket, and streams in memory. What NATS was asked is done though the answer may be lost.
 */
export class VirtualNats {
  readonly table = new Map<string, string>();
  readonly #reserved = new Map<string, string>();
  readonly #streams = new Map<string, Kept[]>();
  readonly #listeners = new Set<Listener>();
  readonly #answerers = new Map<string, { client: Client; answerer: Answerer }>();
  readonly #clients = new Set<Client>();
  readonly #clock: ManualClock;
  readonly #random: Random;
  readonly #times: VirtualNatsTimes;
  #position = 0;
  #isDown = false;

  constructor({ clock, seed, ...times }: { clock: ManualClock; seed: number } & VirtualNatsTimes) {
    this.#clock = clock;
    this.#random = createRandom(seed);
    this.#times = times;
  }

  /** Stops NATS, or starts it again. The bucket stays; streams are in memory. */
  stop(is: boolean): void {
    this.#isDown = is;
    if (is) this.#streams.clear();
    for (const client of this.#clients) is ? this.#break(client) : this.#reconnect(client);
  }

  /** Connects a client, which is up a moment later. */
  link(): VirtualLink {
    const client: Client = {
      ...{ state: 'connecting', isCut: false, isKnown: false, waiting: [], connection: 0, timer: undefined },
      ...{ arrives: { up: 0, down: 0 }, hearing: [] },
    };
    this.#clients.add(client);
    this.#reconnect(client);
    return {
      get state() {
        return client.state;
      },
      largest: 1_000_000,
      get reason() {
        return client.state === 'up' ? undefined : 'the connection is cut';
      },
      onState: (listener) => void client.hearing.push(listener),
      publish: (subject, data) => client.state === 'up' && this.#publish(client, subject, data),
      hear: (subject, take) => {
        const listener = { subject, client, take };
        this.#listeners.add(listener);
        return () => void this.#listeners.delete(listener);
      },
      request: (subject, data, timeoutMs) => this.#request(client, { subject, data, timeoutMs }),
      serve: (subject, answerer) => {
        const answering = { client, answerer };
        this.#answerers.set(subject, answering);
        return () => void (this.#answerers.get(subject) === answering && this.#answerers.delete(subject));
      },
      ...this.#stored(client),
      cut: (is) => this.#cut(client, is),
      crash: () => this.#end(client),
      close: async () => this.#end(client),
    };
  }

  #stored(
    client: Client,
  ): Pick<ClusterLink, 'claim' | 'replace' | 'find' | 'release' | 'keys' | 'reserve' | 'append' | 'trim' | 'kept'> {
    const { table } = this;
    const create = (rows: Map<string, string>, key: string, value: string): string | undefined => {
      const before = rows.get(key);
      if (before === undefined) rows.set(key, value);
      return before;
    };
    const ask = <T>(run: () => T): Promise<T> => this.#ask(client, run);
    const stream = (subject: string): Kept[] => this.#streams.get(subject) ?? [];
    return {
      claim: (key, value) => ask(() => create(table, key, value)),
      reserve: (key, value) => ask(() => create(this.#reserved, key, value)),
      replace: (key, before, value) => ask(() => table.get(key) === before && !!table.set(key, value)),
      find: (key) => ask(() => table.get(key)),
      release: (key, row) => ask(() => void ((row === undefined || table.get(key) === row) && table.delete(key))),
      keys: (prefix) => ask(() => [...table.keys()].filter((key) => key.startsWith(`${prefix}.`))),
      append: (subject, data, after) =>
        ask(() => {
          const all = stream(subject);
          if (after !== undefined && all.at(-1)?.at !== after) throw new LinkError('down');
          this.#streams.set(subject, [...all, { at: ++this.#position, data }]);
          return this.#position;
        }),
      trim: (subject, before = Number.POSITIVE_INFINITY) =>
        ask(
          () =>
            void this.#streams.set(
              subject,
              stream(subject).filter(({ at }) => at >= before),
            ),
        ),
      kept: (subject) => ask(() => stream(subject).map(({ data }) => data)),
    };
  }

  #publish(from: Client, subject: string, data: Uint8Array): boolean {
    this.#carry(from, 'up', () => {
      for (const listener of this.#listeners)
        if (listener.subject === subject)
          this.#carry(listener.client, 'down', () => this.#listeners.has(listener) && listener.take(data));
    });
    return true;
  }

  #request(from: Client, { subject, data, timeoutMs }: { subject: string; data: Uint8Array; timeoutMs: number }) {
    return this.#within<Uint8Array>(from, timeoutMs, (resolve, reject) => {
      const served = this.#answerers.get(subject);
      if (!served?.client.isKnown) return this.#carry(from, 'down', () => reject(new LinkError('nobody')));
      this.#carry(served.client, 'down', () => {
        const answered = (answer: Uint8Array): void => {
          if (served.client.state === 'up')
            this.#carry(served.client, 'up', () => this.#carry(from, 'down', () => resolve(answer)));
        };
        served.answerer(data).then(answered, () => {});
      });
    });
  }

  /** Has NATS itself do something. */
  #ask<T>(from: Client, run: () => T): Promise<T> {
    return this.#within<T>(from, natsTimeoutMs, (resolve, reject) => {
      try {
        const done = run();
        this.#carry(from, 'down', () => resolve(done));
      } catch (error) {
        this.#carry(from, 'down', () => reject(error));
      }
    });
  }

  /** Asks for something; the answer may not come. */
  #within<T>(
    from: Client,
    timeoutMs: number,
    arrive: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (from.state !== 'up') return reject(new LinkError('down'));
      const timer = this.#clock.setTimeout(() => reject(new LinkError('timeout')), timeoutMs);
      const clear =
        <V>(then: (value: V) => void) =>
        (value: V): void => {
          this.#clock.clearTimeout(timer);
          then(value);
        };
      this.#carry(from, 'up', () => arrive(clear(resolve), clear(reject)));
    });
  }

  /** Carries a message between a client and NATS. */
  #carry(client: Client, way: 'up' | 'down', arrive: () => void): void {
    if (!client.isKnown) return;
    const { connection } = client;
    const now = this.#clock.now();
    const at = Math.max(client.arrives[way], now + 1 + Math.floor(this.#random() * this.#times.jitterMs));
    client.arrives[way] = at;
    const deliver = (): void => {
      if (client.connection !== connection || !client.isKnown) return;
      if (client.isCut) client.waiting.push(deliver);
      else arrive();
    };
    this.#clock.setTimeout(deliver, at - now);
  }

  #cut(client: Client, is: boolean): void {
    if (client.isCut === is || client.state === 'closed') return;
    client.isCut = is;
    if (is && client.state === 'up') {
      client.timer = this.#clock.setTimeout(() => this.#break(client), this.#times.breaksAfterMs);
    } else if (!is && client.isKnown) {
      // TCP sends again what was not acknowledged.
      this.#clock.clearTimeout(client.timer);
      for (const deliver of client.waiting.splice(0)) deliver();
    } else if (!is) this.#reconnect(client);
  }

  #break(client: Client): void {
    if (client.state !== 'up') return;
    this.#forget(client);
    this.#tell(client, 'lost');
    if (!client.isCut) this.#reconnect(client);
  }

  #forget(client: Client): void {
    this.#clock.clearTimeout(client.timer);
    client.connection++;
    client.isKnown = false;
    client.waiting.length = 0;
    client.arrives = { up: 0, down: 0 };
  }

  #reconnect(client: Client): void {
    this.#clock.clearTimeout(client.timer);
    const connect = (): void => {
      if (client.isCut || this.#isDown || client.state === 'closed' || client.state === 'up') return;
      client.isKnown = true;
      this.#tell(client, 'up');
    };
    client.timer = this.#clock.setTimeout(connect, 1 + Math.floor(this.#random() * this.#times.reconnectMs));
  }

  #end(client: Client): void {
    this.#forget(client);
    client.state = 'closed';
    this.#clients.delete(client);
    for (const listener of [...this.#listeners]) if (listener.client === client) this.#listeners.delete(listener);
    for (const [subject, each] of [...this.#answerers]) if (each.client === client) this.#answerers.delete(subject);
  }

  #tell(client: Client, state: LinkState): void {
    client.state = state;
    for (const listener of client.hearing) listener(state);
  }
}

/** How long an answer of NATS itself is waited for, in ms. */
const natsTimeoutMs = 2_000;
