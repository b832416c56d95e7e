import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { Msg, NatsConnection, NodeConnectionOptions, Subscription } from '@nats-io/transport-node';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type Answerer, type ClusterLink, LinkError, type LinkState } from './link.ts';

type NatsSettings = {
  servers: readonly string[];
  /** Begins the name of the bucket. */
  cluster: string;
  /** This node, as NATS shows it. */
  name: string;
  user: string;
  password: string;
  ca: string;
  certificate: string;
  key: string;
  /** Pause before NATS is tried again, in ms. */
  retryMs: number;
  /** How long NATS may take to answer, in ms. */
  timeoutMs: number;
  /** Octets of published messages that NATS has not confirmed. */
  mostUnsent: number;
  /** How long reserved keys are kept, in ms. */
  reservedMs: number;
  /** Octets of the states of all nodes that NATS keeps in memory; 0: it keeps none. And how many servers have them. */
  states: { octets: number; replicas: number };
};

type Loaded = {
  nats: typeof import('@nats-io/transport-node');
  kv: typeof import('@nats-io/kv');
  jetstream: typeof import('@nats-io/jetstream');
};

/** The packages take memory and time, so only a node of a cluster loads them. */
const load = async (): Promise<Loaded> => ({
  nats: await import('@nats-io/transport-node'),
  kv: await import('@nats-io/kv'),
  jetstream: await import('@nats-io/jetstream'),
});

/**
 * Checks the name in the certificate of a NATS server. Where it was reached by an address, its package asks for `localhost`:
 * the certificate must have one of the addresses of the settings then (RFC 9110 4.3.5).
 */
function checkName(servers: readonly string[], host: string, certificate: PeerCertificate): Error | undefined {
  const wrong = checkServerIdentity(host, certificate);
  const hosts = servers.map((server) => new URL(server.includes('://') ? server : `nats://${server}`).hostname);
  const addresses = hosts.map((each) => each.replace(/^\[|\]$/g, '')).filter((each) => isIP(each) !== 0);
  if (host !== 'localhost' || addresses.length === 0 || hosts.includes('localhost')) return wrong;
  const errors = addresses.map((address) => checkServerIdentity(address, certificate));
  return errors.every((error) => error !== undefined) ? errors[0] : undefined;
}

const optionsOf = (settings: NatsSettings): NodeConnectionOptions => {
  const { servers, name, user, password, ca, certificate, key, retryMs, timeoutMs } = settings;
  return {
    servers: [...servers],
    name: `hookswitch ${name}`,
    ...(user !== '' && { user, pass: password }),
    ...((ca !== '' || certificate !== '') && {
      tls: {
        ...(ca !== '' && { caFile: ca }),
        ...(certificate !== '' && { certFile: certificate, keyFile: key }),
        // Handed on to node:tls.
        ...{ checkServerIdentity: (host: string, theirs: PeerCertificate) => checkName(servers, host, theirs) },
      },
    }),
    timeout: timeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: retryMs,
    // A NATS server that stands still is noticed before other nodes are taken for lost (`cluster.away_after`).
    pingInterval: Math.ceil(timeoutMs / 2),
    maxPingOut: 2,
    ignoreAuthErrorAbort: true,
    // Each request would make a stack trace before it fails: 6 % of the CPU of a node that claims ids, by a profile.
    noAsyncTraces: true,
  };
};

type SharedTable = Pick<ClusterLink, 'claim' | 'replace' | 'find' | 'release' | 'keys' | 'reserve'>;
type SharedLog = Pick<ClusterLink, 'append' | 'trim' | 'kept'>;

/** The connection that is open now. */
type Open = { connection: NatsConnection; table: Table | undefined };
/** The bucket, and what removes rows without leaving a marker of each. */
type Table = { bucket: KV; reserved: KV; manager: JetStreamManager; client: JetStreamClient };

const codeOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Codes of JetStream: it has no room left, or a stream of it has not. */
const storeFull: readonly (number | undefined)[] = [10023, 10077];

/** The error of NATS as ours. */
function failureOf(error: unknown): LinkError {
  if (error instanceof LinkError) return error;
  const name = error instanceof Error ? error.name : '';
  const message = codeOf(error);
  if (name === 'TimeoutError' || /timeout/i.test(message)) return new LinkError('timeout', error);
  if (/no responders/i.test(message)) return new LinkError('nobody', error);
  if (/max_?payload/i.test(message)) return new LinkError('tooLarge', error);
  if (storeFull.includes((error as { code?: number }).code)) return new LinkError('full', error);
  return new LinkError('down', error);
}

/** The messages under a subject that one side takes, on every connection that is made. */
type Taken = { subject: string; take(message: Msg): void; subscription?: Subscription; on?: NatsConnection };

/** Counts the octets that NATS has not confirmed yet: behind so many of them it is asked for a sign. */
class Unsent {
  octets = 0;
  readonly #most: number;
  #flushing = false;
  #sinceFlush = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether so many octets more may be sent. */
  takes(octets: number): boolean {
    return this.octets + octets <= this.#most;
  }

  sent(octets: number, connection: NatsConnection): void {
    this.octets += octets;
    this.#sinceFlush += octets;
    if (!this.#flushing) this.#flush(connection);
  }

  forget(): void {
    this.octets = 0;
    this.#sinceFlush = 0;
  }

  #flush(connection: NatsConnection): void {
    const confirmed = this.#sinceFlush;
    this.#sinceFlush = 0;
    this.#flushing = true;
    const done = (): void => {
      this.#flushing = false;
      this.octets = Math.max(0, this.octets - confirmed);
      if (this.#sinceFlush > 0 && !connection.isClosed()) this.#flush(connection);
    };
    connection.flush().then(done, done);
  }
}

/** Connects with NATS, now or as soon as it is there. It goes on trying until it is closed. */
export const createNatsLink = (settings: NatsSettings, services: { clock: Clock; log: Logger }): ClusterLink => {
  const link = new NatsLink(settings, services);
  link.start();
  return Object.assign(
    link,
    createTable(() => link.table(), settings.cluster),
    createLog(() => link.table(), settings),
  );
};

class NatsLink implements Omit<ClusterLink, keyof SharedTable | keyof SharedLog> {
  state: LinkState = 'connecting';
  reason: string | undefined = 'not connected yet';
  readonly #settings: NatsSettings;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #listeners: ((state: LinkState) => void)[] = [];
  readonly #taken = new Set<Taken>();
  readonly #unsent: Unsent;
  #open: Open | undefined;
  #timer: unknown;
  /** The last reason that was logged. */
  #told = '';

  constructor(settings: NatsSettings, { clock, log }: { clock: Clock; log: Logger }) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#unsent = new Unsent(settings.mostUnsent);
  }

  get largest(): number {
    return this.#open?.connection.info?.max_payload ?? 0;
  }

  onState(listener: (state: LinkState) => void): void {
    this.#listeners.push(listener);
  }

  publish(subject: string, data: Uint8Array): boolean {
    if (this.state !== 'up' || !this.#open || data.length > this.largest || !this.#unsent.takes(data.length))
      return false;
    this.#open.connection.publish(subject, data);
    this.#unsent.sent(data.length, this.#open.connection);
    return true;
  }

  hear(subject: string, listener: (data: Uint8Array) => void): () => void {
    return this.#add(subject, ({ data }) => listener(data));
  }

  async request(subject: string, data: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    if (data.length > this.largest && this.state === 'up') throw new LinkError('tooLarge');
    try {
      const { data: answered } = await this.#connected().request(subject, data, { timeout: timeoutMs });
      return answered;
    } catch (error) {
      throw failureOf(error);
    }
  }

  serve(subject: string, answerer: Answerer): () => void {
    const answer = async (message: Msg): Promise<void> => {
      const data = await answerer(message.data);
      if (this.state === 'up') message.respond(data);
    };
    return this.#add(subject, (message) => {
      answer(message).catch((error: unknown) => this.#log.error({ error, subject }, 'an answer was not sent'));
    });
  }

  /** The shared table. @throws LinkError */
  table(): Table {
    const connection = this.#connected();
    if (!this.#open?.table) throw new LinkError('down', `no JetStream at ${connection.getServer()}`);
    return this.#open.table;
  }

  async close(): Promise<void> {
    this.#become('closed', 'closed');
    this.#clock.clearTimeout(this.#timer);
    const { connection } = this.#open ?? {};
    this.#open = undefined;
    await connection
      ?.close()
      .catch((error: unknown) => this.#log.warn({ error }, 'the connection to NATS did not close'));
  }

  start(): void {
    this.#begin().catch((error: unknown) => {
      const why = codeOf(error);
      // Once for each reason: it goes on for as long as NATS is away.
      if (why !== this.#told)
        this.#log.error({ servers: this.#settings.servers, reason: why }, 'NATS cannot be reached; trying again');
      this.#told = why;
      this.#become(this.state === 'up' ? 'lost' : this.state, why);
      this.#again();
    });
  }

  async #begin(): Promise<void> {
    const loaded = await load();
    const connection = await loaded.nats.connect(optionsOf(this.#settings));
    if (this.state === 'closed') return void connection.close().catch(() => {});
    const now: Open = { connection, table: undefined };
    this.#open = now;
    await this.#openTable(now, loaded);
    for (const each of this.#taken) this.#subscribe(each, connection);
    this.#log.info({ server: connection.getServer() }, 'connected to NATS');
    this.#become('up');
    void connection.closed().then((error) => {
      if (this.#open === now) this.#open = undefined;
      this.#lose(error ?? undefined);
      this.#again();
    });
    for await (const status of connection.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') this.#lose(undefined);
      else if (status.type === 'reconnect') {
        await this.#openTable(now, loaded);
        this.#log.info({ server: connection.getServer() }, 'reconnected to NATS');
        this.#become('up');
      }
    }
  }

  /** Opens the bucket. A NATS server that was started again may have lost it. */
  async #openTable(now: Open, { kv, jetstream }: Loaded): Promise<void> {
    now.table = undefined;
    try {
      const { cluster, reservedMs } = this.#settings;
      const buckets = new kv.Kvm(now.connection);
      const bucket = await buckets.create(cluster, { history: 1 });
      const reserved = await buckets.create(`${cluster}_requests`, { history: 1, ttl: reservedMs });
      const manager = await jetstream.jetstreamManager(now.connection);
      if (this.#settings.states.octets > 0) await openStates(manager, this.#settings);
      now.table = { bucket, reserved, manager, client: jetstream.jetstream(now.connection) };
    } catch (error) {
      this.#log.error({ error }, 'NATS has no JetStream: objects with ids that clients choose are refused');
    }
  }

  #become(next: LinkState, why?: string): void {
    if (this.state === 'closed' || (this.state === next && this.reason === why)) return;
    const changed = this.state !== next;
    this.state = next;
    this.reason = why;
    if (!changed) return;
    for (const listener of this.#listeners) listener(next);
  }

  #lose(error: Error | undefined): void {
    this.#unsent.forget();
    if (this.state === 'up') this.#log.warn({ error }, 'the connection to NATS is lost');
    this.#become('lost', error?.message ?? 'the connection is lost');
  }

  #again(): void {
    if (this.state === 'closed') return;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = this.#clock.setTimeout(() => this.start(), this.#settings.retryMs);
  }

  #connected(): NatsConnection {
    if (this.state !== 'up' || !this.#open) throw new LinkError('down');
    return this.#open.connection;
  }

  /** Once for each connection: one that begins while the connection opens would hear each message twice. */
  #subscribe(each: Taken, connection: NatsConnection): void {
    if (each.on === connection) return;
    each.on = connection;
    each.subscription = connection.subscribe(each.subject, {
      callback: (error, message) => {
        if (error) this.#log.warn({ subject: each.subject, error }, 'a subscription of NATS failed');
        else each.take(message);
      },
    });
  }

  #add(subject: string, take: (message: Msg) => void): () => void {
    const each: Taken = { subject, take };
    this.#taken.add(each);
    if (this.#open && !this.#open.connection.isClosed()) this.#subscribe(each, this.#open.connection);
    return () => {
      this.#taken.delete(each);
      if (!this.#open?.connection.isClosed()) each.subscription?.unsubscribe();
    };
  }
}

/** Runs what asks JetStream. @throws (rejects) LinkError */
const asking =
  (table: () => Table) =>
  async <T>(run: (open: Table) => Promise<T>): Promise<T> => {
    try {
      return await run(table());
    } catch (error) {
      throw failureOf(error);
    }
  };

/** The stream with the states of all nodes. */
const statesOf = (cluster: string): string => `${cluster}_state`;

/**
 * Opens it. It is in memory: each node writes its state again when it has connected. Creating it again empties it where
 * two nodes do so at the same time (nats-server 2.9), so it is created only if there is none.
 */
async function openStates({ streams }: JetStreamManager, { cluster, states }: NatsSettings): Promise<void> {
  const bounds = {
    ...{ subjects: [`${cluster}.state.*`], max_bytes: states.octets, num_replicas: states.replicas },
    // Without room a node is told. By default another one would lose the beginning of its state, and not know.
    discard: 'new' as const,
  };
  try {
    await streams.update(statesOf(cluster), bounds);
  } catch (error) {
    if ((error as { code?: number }).code !== streamMissing) throw error;
    await streams.add({ name: statesOf(cluster), storage: 'memory', ...bounds });
  }
}

/** Code of JetStream: there is no stream of that name. */
const streamMissing = 10059;

/** What is kept, in a stream. */
function createLog(table: () => Table, { cluster, timeoutMs }: NatsSettings): SharedLog {
  const ours = asking(table);
  return {
    append: (subject, data, after) =>
      ours(async ({ client }) => {
        const expect = after === undefined ? {} : { expect: { lastSubjectSequence: after } };
        return (await client.publish(subject, data, expect)).seq;
      }),
    trim: (subject, before) =>
      ours(async ({ manager }) => {
        await manager.streams.purge(statesOf(cluster), {
          filter: subject,
          ...(before !== undefined && { seq: before }),
        });
      }),
    kept: (subject) =>
      ours(async ({ client }) => {
        const consumer = await client.consumers.get(statesOf(cluster), { filter_subjects: subject });
        let { num_pending: left } = await consumer.info();
        const found: Uint8Array[] = [];
        while (left > 0) {
          const before = found.length;
          const messages = await consumer.fetch({ max_messages: Math.min(left, mostFetched), expires: timeoutMs });
          for await (const { data, info } of messages) {
            found.push(data);
            left = info.pending;
          }
          if (found.length === before) throw new LinkError('timeout');
        }
        return found;
      }),
  };
}

/** Messages that NATS is asked for at the same time. */
const mostFetched = 500;

/** Codes of JetStream: there is no such message. */
const messageMissing: readonly (number | undefined)[] = [10043, 10057];

/** The shared table, in a key-value bucket. */
function createTable(table: () => Table, name: string): SharedTable {
  const ours = asking(table);
  /** Code of JetStream: there is another row. */
  const isThere = (error: unknown): boolean => (error as { code?: number }).code === 10071;
  /** Rows that were written on this connection: they need not be read before they are removed. */
  const written = new WeakMap<KV, SlotMap<string, { value: string; revision: number }>>();
  const writtenTo = (bucket: KV) => {
    const rows = written.get(bucket) ?? new SlotMap();
    written.set(bucket, rows);
    return rows;
  };
  const create = async (
    bucket: KV,
    key: string,
    value: string,
    wrote?: (revision: number) => void,
  ): Promise<string | undefined> => {
    try {
      const revision = await bucket.create(key, value);
      wrote?.(revision);
      return undefined;
    } catch (error) {
      if (!isThere(error)) throw error;
      // Removed in between: the next try gets it.
      return (await bucket.get(key))?.string() ?? '';
    }
  };
  return {
    claim: (key, value) =>
      ours(({ bucket }) => create(bucket, key, value, (revision) => writtenTo(bucket).set(key, { value, revision }))),
    reserve: (key, value) => ours(({ reserved }) => create(reserved, key, value)),
    replace: (key, before, value) =>
      ours(async ({ bucket }) => {
        const row = await bucket.get(key);
        if (row?.string() !== before) return false;
        try {
          await bucket.update(key, value, row.revision);
          return true;
        } catch (error) {
          if (!isThere(error)) throw error;
          return false;
        }
      }),
    find: (key) => ours(async ({ bucket }) => (await bucket.get(key))?.string()),
    release: (key, wanted) =>
      ours(async ({ bucket, manager }) => {
        /** The row as it was written then; false if there is another one meanwhile, which stays. */
        const erase = (revision: number): Promise<boolean> =>
          manager.streams.deleteMessage(`KV_${name}`, revision, false).catch((error: unknown) => {
            if (!messageMissing.includes((error as { code?: number }).code)) throw error;
            return false;
          });
        const known = writtenTo(bucket).get(key);
        writtenTo(bucket).delete(key);
        if (known && known.value === wanted && (await erase(known.revision))) return;
        const row = await bucket.get(key);
        if (row && (wanted === undefined || wanted === row.string())) await erase(row.revision);
      }),
    keys: (prefix) =>
      ours(async ({ bucket }) => {
        const found: string[] = [];
        for await (const key of await bucket.keys(`${prefix}.>`)) found.push(key);
        return found;
      }),
  };
}
